//! What a chat tells, in words of its own: what an agent said as it says it, what it asks, how it stands.

use claude_ide_session::{Block, ToolResult};
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
    },
    /// Calls came to an end.
    Results {
        /// Whose calls.
        by: Speaker,
        /// By call.
        results: Vec<(String, ToolResult)>,
    },
    /// The person is asked.
    Asks {
        /// Names the question.
        request: String,
        /// What is asked, as the agent has it.
        ask: Value,
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
    pub(crate) fn weight(&self) -> usize {
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
}
