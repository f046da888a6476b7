//! The events of a chat, common to all agents: streamed replies, questions, state.

use std::collections::BTreeMap;

use claude_ide_session::{Block, Location, Millis, ToolResult, Usage};
use serde::{Deserialize, Serialize, Serializer};

use crate::ask::Ask;
use crate::settings::Setting;

/// The kind of a streamed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// The reply.
    Text,
    /// Thinking.
    Thinking,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlashCommand {
    /// Without the slash.
    pub name: String,
    /// Its effect.
    pub description: String,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The agent is done.
    Done,
    /// The user interrupted it.
    Aborted,
    /// It failed.
    Failed,
}

/// The agent's optional features.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub struct Abilities {
    /// It lists its sessions.
    pub list: bool,
    /// It can continue with a copy of a session.
    pub fork: bool,
    /// It can close a session.
    pub close: bool,
    /// Prompts can contain the text of a file.
    pub embeds: bool,
}

/// A sign-in method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignInMethod {
    /// Its id.
    pub id: String,
    /// The display name.
    pub name: String,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Set if it is the agent's own program in a terminal, with these arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// That program's environment variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether it needs a key, which the user types.
    pub takes_key: bool,
}

/// A session in an agent's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was last used, in the agent's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<String>,
}

/// The effect of a rewind on files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rewound {
    /// The files; `None` if the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// Added lines.
    pub insertions: u64,
    /// Removed lines.
    pub deletions: u64,
    /// Skipped links.
    pub skipped: u64,
}

/// The result of a numbered command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Matching files.
    Files(Vec<String>),
    /// Restored files, or those that would be.
    Rewound(Rewound),
    /// The agent's sessions.
    Sessions(Vec<ListedSession>),
}

/// An event of a chat.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The process was started.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// The agent has introduced itself.
    Greeted {
        /// Its name and version, for the user.
        text: String,
        /// Its features.
        can: Abilities,
    },
    /// The agent accepts prompts.
    Ready,
    /// The session is known.
    Session {
        /// Its id.
        id: String,
        /// Whether it can be resumed before anything was answered in it.
        is_kept: bool,
    },
    /// The settings and their values.
    Settings {
        /// All settings.
        settings: Vec<Setting>,
    },
    /// The available slash commands.
    Commands {
        /// All commands.
        commands: Vec<SlashCommand>,
    },
    /// The account in use.
    Account {
        /// A short name, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        brief: Option<String>,
        /// The end of a sentence: "draws on …".
        full: String,
    },
    /// The session's title.
    Title {
        /// The title.
        title: String,
    },
    /// A reply begins.
    Begins {
        /// The call whose subagent speaks; `None`: the agent itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A text grows. Its text stays in the library, in the [`crate::ChatTranscript`].
    Text {
        /// The call whose subagent speaks; `None`: the agent itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The reply's block.
        #[serde(skip)]
        block: u64,
        /// The kind of text.
        #[serde(skip)]
        kind: TextKind,
        /// The added text.
        #[serde(skip)]
        text: String,
    },
    /// A call is being streamed.
    Calling {
        /// The call whose subagent speaks; `None`: the agent itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
    },
    /// Voids the streamed part of a reply that has not been emitted in full: it will be streamed again.
    Void,
    /// Complete blocks of a reply or a prompt. They stay in the library, too.
    Said {
        /// The call whose subagent speaks; `None`: the agent itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// `reply`, `output` (of the agent's own), `command_output`, `interrupted`, `prompt` (of a session that is loaded), `meta`.
        kind: &'static str,
        /// The blocks; serialised as whether there is a call.
        #[serde(rename = "calls", serialize_with = "has_call")]
        blocks: Vec<Block>,
        /// The model.
        #[serde(skip)]
        model: Option<String>,
        /// Tokens of the reply's request.
        #[serde(skip)]
        usage: Option<Usage>,
    },
    /// Calls ended.
    Results {
        /// The call whose subagent speaks; `None`: the agent itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// By call.
        results: Vec<(String, ToolResult)>,
        /// Files that the call may have changed, if there is one call and it reports them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        places: Vec<String>,
    },
    /// A question to the user or the editor.
    Asks {
        /// Its id.
        request: String,
        /// The question.
        ask: Ask,
    },
    /// A tool is about to write files.
    BeforeEdit {
        /// The request's id, if the agent waits for [`crate::Command::GoOn`].
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<String>,
        /// The paths, as the agent names them.
        paths: Vec<String>,
        /// The call; its result ends the edit.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// A call is at a location in a file.
    Located {
        /// The call.
        call: String,
        /// The location.
        location: Location,
    },
    /// A question was withdrawn.
    Withdrawn {
        /// Its id.
        request: String,
    },
    /// The state of a prompt changed.
    Prompt {
        /// The prompt's id.
        id: String,
        /// "queued", "started", "completed", "cancelled".
        state: String,
        /// When the agent reported it.
        at: Millis,
    },
    /// A turn ended.
    Turn {
        /// How it ended.
        outcome: TurnEnd,
        /// Why it failed, if the agent says.
        #[serde(skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
    /// The session's usage.
    Usage {
        /// In dollars.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Size of the model's context in tokens; 0: no longer known.
        #[serde(skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
        /// Tokens in the context now, if no reply says so.
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<Usage>,
    },
    /// The account's limit.
    Limit {
        /// A warning for the user; `None`: the limit is not near.
        #[serde(skip_serializing_if = "Option::is_none")]
        words: Option<String>,
        /// When it resets, in seconds since the epoch.
        #[serde(skip_serializing_if = "Option::is_none")]
        resets: Option<u64>,
    },
    /// The model did not answer and will be asked again.
    Retry {
        /// The reason and the number of attempts.
        words: String,
        /// When, in milliseconds from now.
        delay: u64,
    },
    /// Another activity of the agent.
    Doing {
        /// "compacting"; `None`: it has ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        doing: Option<&'static str>,
    },
    /// Earlier messages were replaced by a summary.
    Compacted,
    /// A background task started.
    TaskStarted {
        /// Its id.
        id: String,
        /// A description for the user.
        words: String,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// A background task ended.
    TaskEnded {
        /// Its id.
        id: String,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Whether it succeeded.
        is_done: bool,
    },
    /// Earlier messages are no longer part of the session.
    Reset {
        /// The session's new id.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// A notice for the user, within the conversation.
    Notice {
        /// The text.
        text: String,
    },
    /// The agent failed for good.
    Failed {
        /// The message.
        text: String,
    },
    /// The user must sign in.
    SignIn {
        /// The reason.
        reason: String,
        /// The methods.
        methods: Vec<SignInMethod>,
    },
    /// The user must choose a session, which [`crate::Command::BeginSession`] starts.
    ChooseSession,
    /// The answer to a numbered command.
    Answer {
        /// The command's number.
        number: u64,
        /// The result.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
        /// The error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The chat ended; this is its last event.
    Ended {
        /// The exit code.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that ended it.
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// Why it could not be started, or the end of its stderr.
        words: String,
    },
}

fn has_call<S: Serializer>(blocks: &[Block], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(blocks.iter().any(|block| matches!(block, Block::ToolUse { .. })))
}

impl Event {
    /// Reads the arguments of calls, which the first draw would otherwise do on Neovim's main thread.
    pub fn read_arguments(&self) {
        if let Self::Said { blocks, .. } = self {
            for block in blocks {
                if let Block::ToolUse { input, .. } = block {
                    input.read();
                }
            }
        }
    }

    /// Complete blocks of the agent itself, without a model or usage.
    pub(crate) fn said(kind: &'static str, blocks: Vec<Block>) -> Self {
        Self::Said { by: None, kind, blocks, model: None, usage: None }
    }

    /// Its approximate size in bytes, beyond the line that caused it.
    #[must_use]
    pub fn weight(&self) -> usize {
        /// For events without much text.
        const SMALL: usize = 256;
        match self {
            Self::Text { text, .. } => SMALL.saturating_add(text.len()),
            _ => SMALL,
        }
    }

    /// Whether to emit it without waiting for more.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(
            self,
            Self::Started { .. }
                | Self::Ready
                | Self::Session { .. }
                | Self::Void
                | Self::Said { .. }
                | Self::Results { .. }
                | Self::Asks { .. }
                | Self::BeforeEdit { .. }
                | Self::Withdrawn { .. }
                | Self::Prompt { .. }
                | Self::Turn { .. }
                | Self::Answer { .. }
                | Self::Ended { .. }
        )
    }

    /// Splits a text into pieces of at most `most` bytes, between characters. Other events stay whole.
    #[must_use]
    pub fn in_pieces(self, most: usize) -> Vec<Self> {
        match self {
            Self::Text { by, block, kind, text } if text.len() > most => {
                let mut pieces = Vec::new();
                let mut rest = text.as_str();
                while !rest.is_empty() {
                    // A character has at most four bytes.
                    let end = (1..=most.max(4)).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
                    let (piece, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
                    pieces.push(Self::Text { by: by.clone(), block, kind, text: piece.to_owned() });
                    rest = behind;
                }
                pieces
            }
            other => vec![other],
        }
    }

    /// Appends `later` if both are pieces of one text, up to `most` bytes together.
    ///
    /// # Errors
    /// `later`, if it does not fit.
    #[expect(clippy::result_large_err, reason = "what does not fit is handed back as it came")]
    pub fn join_up_to(&mut self, later: Self, most: usize) -> Result<(), Self> {
        match (&*self, &later) {
            (Self::Text { text, .. }, Self::Text { text: more, .. })
                if text.len().saturating_add(more.len()) > most =>
            {
                Err(later)
            }
            _ => self.join(later),
        }
    }

    /// Appends `later` if both are pieces of one text.
    ///
    /// # Errors
    /// `later`, if it does not fit.
    #[expect(clippy::result_large_err, reason = "what does not fit is handed back as it came")]
    pub fn join(&mut self, later: Self) -> Result<(), Self> {
        match (self, later) {
            (
                Self::Text { by, block, kind, text },
                Self::Text { by: next_by, block: next_block, kind: next_kind, text: more },
            ) if *by == next_by && *block == next_block && *kind == next_kind => {
                text.push_str(&more);
                Ok(())
            }
            (_, later) => Err(later),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(block: u64, text: &str) -> Event {
        Event::Text { by: None, block, kind: TextKind::Text, text: text.to_owned() }
    }

    #[test]
    fn pieces_of_one_text_are_one_and_others_are_not() {
        let mut first = text(1, "one");
        first.join(text(1, " two")).unwrap();
        assert!(matches!(&first, Event::Text { text, .. } if text == "one two"));
        assert!(first.join(text(2, "other")).is_err());
        assert!(first.join(Event::Void).is_err());
        assert!(Event::Void.join(text(1, "x")).is_err());
    }

    #[test]
    fn a_text_is_cut_between_characters_without_loss() {
        let whole = "aä€🦀".repeat(1_000);
        for most in [1, 4, 5, 7, 64, 9_999, 10_000, 10_001] {
            let pieces = text(3, &whole).in_pieces(most);
            let texts: Vec<&str> = pieces
                .iter()
                .map(|piece| match piece {
                    Event::Text { block: 3, kind: TextKind::Text, text, .. } => text.as_str(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(
                texts.concat() == whole && texts.iter().all(|text| (1..=most.max(4)).contains(&text.len())),
                "{most}"
            );
            assert_eq!(texts.len() == 1, most >= 10_000);
        }
        assert_eq!(Event::Void.in_pieces(1).len(), 1);
        assert_eq!(text(1, "").in_pieces(1).len(), 1);
    }

    #[test]
    fn pieces_are_joined_up_to_a_size() {
        let mut first = text(1, "one");
        first.join_up_to(text(1, " two"), 7).unwrap();
        assert!(first.join_up_to(text(1, "!"), 7).is_err());
        assert!(first.join_up_to(Event::Void, 7).is_err());
        assert!(matches!(&first, Event::Text { text, .. } if text == "one two"));
    }
}
