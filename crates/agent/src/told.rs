//! What a chat tells, in words of its own: what an agent said as it says it, what it asks, how it stands.

use claude_ide_session::{Block, Millis, ToolResult};
use serde::Serialize;
use serde_json::Value;

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

/// One thing that a chat tells.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Told {
    /// The process runs.
    Started {
        /// Its number.
        pid: u32,
    },
    /// The agent takes prompts.
    Ready {
        /// Commands, models, modes: what it says of itself.
        about: Value,
    },
    /// Which session this is, and how it is set.
    Session {
        /// Fields of the agent's own.
        about: Value,
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
        usage: Option<claude_ide_session::Usage>,
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
        /// What is asked, as the agent has it.
        ask: Value,
    },
    /// A file is about to be written, which waits until [`crate::Command::GoOn`].
    BeforeEdit {
        /// Names the request.
        request: String,
        /// Absolute.
        path: String,
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
        /// How: fields of the agent's own.
        about: Value,
    },
    /// The answer to [`crate::Command::Ask`].
    Answer {
        /// Its number.
        number: u64,
        /// What came of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Why nothing did.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Anything else that the agent says of itself: a retry, a mode, a compaction, a task.
    Status {
        /// What.
        subject: String,
        /// Fields of the agent's own.
        about: Value,
    },
    /// It is over: nothing more is told.
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

impl Told {
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
        !matches!(self, Self::Text { .. } | Self::Calling { .. } | Self::Begins { .. } | Self::Status { .. })
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

    fn text(block: u64, text: &str) -> Told {
        Told::Text { by: Speaker::default(), block, kind: TextKind::Text, text: text.to_owned() }
    }

    #[test]
    fn pieces_of_one_text_are_one_and_others_are_not() {
        let mut first = text(1, "one");
        first.join(text(1, " two")).unwrap();
        assert!(matches!(&first, Told::Text { text, .. } if text == "one two"));
        assert!(first.join(text(2, "other")).is_err());
        assert!(first.join(Told::Void).is_err());
        assert!(Told::Void.join(text(1, "x")).is_err());
    }

    #[test]
    fn a_text_is_cut_where_a_character_ends_and_nothing_of_it_is_lost() {
        let whole = "aä€🦀".repeat(1_000);
        for most in [1, 4, 5, 7, 64, 9_999, 10_000, 10_001] {
            let pieces = text(3, &whole).in_pieces(most);
            let texts: Vec<&str> = pieces
                .iter()
                .map(|piece| match piece {
                    Told::Text { block: 3, kind: TextKind::Text, text, .. } => text.as_str(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(
                texts.concat() == whole && texts.iter().all(|text| (1..=most.max(4)).contains(&text.len())),
                "{most}"
            );
            assert_eq!(texts.len() == 1, most >= 10_000);
        }
        assert_eq!(Told::Void.in_pieces(1).len(), 1);
        assert_eq!(text(1, "").in_pieces(1).len(), 1);
    }

    #[test]
    fn pieces_are_joined_up_to_a_size() {
        let mut first = text(1, "one");
        first.join_up_to(text(1, " two"), 7).unwrap();
        assert!(first.join_up_to(text(1, "!"), 7).is_err());
        assert!(first.join_up_to(Told::Void, 7).is_err());
        assert!(matches!(&first, Told::Text { text, .. } if text == "one two"));
    }
}
