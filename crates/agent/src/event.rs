//! What a chat reports, in words that all agents share: what an agent says as it says it, what it asks, how it stands.

use std::collections::BTreeMap;

use claude_ide_session::{Block, Millis, ToolResult, Usage};
use serde::Serialize;

use crate::ask::Ask;
use crate::settings::Setting;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// The answer.
    Text,
    /// What led to it.
    Thinking,
}

/// Who speaks: the agent itself, or a subagent of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Speaker {
    /// The call that started it; none: the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// A command that a prompt may begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlashCommand {
    /// Without its slash.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The agent is done.
    Done,
    /// The user broke it off.
    Aborted,
    /// It did not go well.
    Failed,
}

/// What an agent can do with its sessions, and what its prompts take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub struct Abilities {
    /// It lists its sessions.
    pub list: bool,
    /// It goes on with a copy of one.
    pub fork: bool,
    /// It closes one before it is ended.
    pub close: bool,
    /// A prompt takes the text of a file along.
    pub embeds: bool,
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignInMethod {
    /// Names it.
    pub id: String,
    /// For the user.
    pub name: String,
    /// More of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// It is a program that runs in a terminal: the agent's own, with these arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Variables of that program.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// It takes a key, which the user types.
    pub takes_key: bool,
}

/// A session of an agent, as it lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedSession {
    /// Names it.
    pub id: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When something was last said in it, as the agent writes times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<String>,
}

/// What going back to a prompt changes of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rewound {
    /// Which; none: the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// Lines.
    pub insertions: u64,
    /// Lines.
    pub deletions: u64,
    /// Links, which are not followed.
    pub skipped: u64,
}

/// What came of a request that has more to say than that it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Files that match.
    Files(Vec<String>),
    /// Files that were restored, or would be.
    Rewound(Rewound),
    /// Sessions of the agent.
    Sessions(Vec<ListedSession>),
}

/// One thing that a chat reports.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The process runs.
    Started {
        /// Its number.
        pid: u32,
    },
    /// The agent has said what it is.
    Greeted {
        /// For the user.
        text: String,
        /// What it can do.
        can: Abilities,
    },
    /// The agent takes prompts.
    Ready,
    /// Which session this is.
    Session {
        /// Names it.
        id: String,
        /// Whether it can be gone on with though nothing was answered in it.
        is_kept: bool,
    },
    /// What the user can set, and what is set.
    Settings {
        /// All of it.
        settings: Vec<Setting>,
    },
    /// What a prompt may begin with.
    Commands {
        /// All of them.
        commands: Vec<SlashCommand>,
    },
    /// What account the chat draws on.
    Account {
        /// In few words, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        brief: Option<String>,
        /// As a sentence goes on: "draws on …".
        full: String,
    },
    /// What the session is about.
    Title {
        /// For the user.
        title: String,
    },
    /// A reply begins.
    Begins {
        /// Whose.
        by: Speaker,
        /// The model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A text goes on.
    Text {
        /// Whose.
        by: Speaker,
        /// Which of the reply's blocks.
        block: u64,
        /// What it is.
        kind: TextKind,
        /// What is added.
        text: String,
    },
    /// A call is being written down.
    Calling {
        /// Whose.
        by: Speaker,
        /// Names the call.
        id: String,
        /// The tool.
        name: String,
    },
    /// What was told of a reply, as far as it is not said in full, is void: it comes again.
    Void,
    /// Blocks of a reply, or of a prompt, in full.
    Said {
        /// Whose.
        by: Speaker,
        /// The line as the agent names it.
        uuid: String,
        /// `reply`, `prompt`, `output`.
        kind: &'static str,
        /// What is said.
        blocks: Vec<Block>,
        /// The model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Tokens of the request behind a reply.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Files that a call among the blocks may change, beside those of its arguments.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        places: Vec<String>,
    },
    /// Calls came to an end.
    Results {
        /// Whose calls.
        by: Speaker,
        /// By call.
        results: Vec<(String, ToolResult)>,
        /// Files that the call may have changed, where there is one and it tells.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        places: Vec<String>,
    },
    /// The user is asked.
    Asks {
        /// Names the question.
        request: String,
        /// What is asked.
        ask: Ask,
    },
    /// A file is about to be written, which waits until [`crate::Command::GoOn`].
    BeforeEdit {
        /// Names the request.
        request: String,
        /// Absolute.
        path: String,
        /// The call that writes it, whose result says that this is over.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// A question is taken back.
    Withdrawn {
        /// Which.
        request: String,
    },
    /// What became of a prompt.
    Prompt {
        /// The prompt's.
        id: String,
        /// "queued", "started", "completed", "cancelled".
        state: String,
        /// When the agent said so.
        at: Millis,
    },
    /// A turn is over.
    Turn {
        /// How.
        outcome: TurnEnd,
        /// Why it failed, where the agent says.
        #[serde(skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
    /// What the session has used.
    Usage {
        /// Dollars.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Tokens of the model's context; 0: it is not known any more.
        #[serde(skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
        /// Tokens that fill it now, where no reply says so.
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<Usage>,
    },
    /// How near the account is to its limit.
    Limit {
        /// For the user; none: it is not near.
        #[serde(skip_serializing_if = "Option::is_none")]
        words: Option<String>,
        /// When it is no longer: seconds since the epoch.
        #[serde(skip_serializing_if = "Option::is_none")]
        resets: Option<u64>,
    },
    /// The model did not answer, and is asked again.
    Retry {
        /// Why, and how often that was done.
        words: String,
        /// When: milliseconds from now.
        delay: u64,
    },
    /// What the agent does beside answering.
    Doing {
        /// "compacting"; none: it no longer does.
        #[serde(skip_serializing_if = "Option::is_none")]
        doing: Option<&'static str>,
    },
    /// What was said before was replaced by a summary.
    Compacted,
    /// Something runs in the background.
    TaskStarted {
        /// Names it.
        id: String,
        /// For the user.
        words: String,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// It ended.
    TaskEnded {
        /// Which.
        id: String,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Whether it went well.
        is_done: bool,
    },
    /// What was said before is no part of the session any more.
    Reset {
        /// What the session is called from now on.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// Something for the user to know, in the conversation.
    Notice {
        /// What.
        text: String,
    },
    /// The agent said what the chat cannot go on from.
    Failed {
        /// What.
        text: String,
    },
    /// The user is to sign in.
    SignIn {
        /// Why.
        reason: String,
        /// How.
        methods: Vec<SignInMethod>,
    },
    /// The user is to choose a session: [`crate::Command::BeginSession`] begins it.
    ChooseSession,
    /// The answer to a command with a number.
    Answer {
        /// Its number.
        number: u64,
        /// What came of it.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
        /// Why nothing did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// It is over: nothing more is reported.
    Ended {
        /// The exit code.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that ended it.
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// Why it could not be started, or what it said last on stderr.
        words: String,
    },
}

impl Event {
    /// About how many bytes it holds, beside what the line weighs that it comes of.
    #[must_use]
    pub fn weight(&self) -> usize {
        /// Of what has no text to speak of.
        const SMALL: usize = 256;
        match self {
            Self::Text { text, .. } => SMALL.saturating_add(text.len()),
            _ => SMALL,
        }
    }

    /// Whether it is to be told without waiting for more.
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

    /// The same in pieces of at most so many bytes, which end where a character ends: of a text. All else is one piece.
    #[must_use]
    pub fn in_pieces(self, most: usize) -> Vec<Self> {
        match self {
            Self::Text { by, block, kind, text } if text.len() > most => {
                let mut pieces = Vec::new();
                let mut rest = text.as_str();
                while !rest.is_empty() {
                    // A character is of four bytes at most.
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

    /// Takes `later` in, where both are pieces of one text that are no longer than `most` bytes together.
    ///
    /// # Errors
    /// `later`, where they are not.
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

    /// Takes `later` in, where both are pieces of one text.
    ///
    /// # Errors
    /// `later`, where they are not.
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
        Event::Text { by: Speaker::default(), block, kind: TextKind::Text, text: text.to_owned() }
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
    fn a_text_is_cut_where_a_character_ends_and_nothing_of_it_is_lost() {
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
