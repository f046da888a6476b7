//! What a person wants of a chat.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What a person wants.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Says something to the agent.
    Prompt {
        /// Names it: a UUID.
        id: String,
        /// Blocks: `{"type":"text","text":…}`, images.
        content: Vec<Value>,
    },
    /// Takes back a prompt that waits.
    Cancel {
        /// Which.
        id: String,
    },
    /// What was asked may be done.
    Allow {
        /// The question.
        request: String,
        /// Arguments that are to be others than those asked for. The rest stays byte for byte.
        #[serde(default)]
        changes: BTreeMap<String, Value>,
        /// Which of the suggested rules are to hold from now on, from 0.
        #[serde(default)]
        always: Vec<usize>,
    },
    /// What was asked may not be done.
    Deny {
        /// The question.
        request: String,
        /// Why, for the agent.
        message: String,
        /// Whether the turn ends with it.
        #[serde(default)]
        interrupt: bool,
    },
    /// Breaks the turn off.
    Interrupt,
    /// Asks the agent for something of its own: a model, a mode, files that match.
    Ask {
        /// What the answer carries.
        number: u64,
        /// What is asked for.
        subject: String,
        /// With what.
        #[serde(default)]
        fields: BTreeMap<String, Value>,
    },
}

/// Why a command came to nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// It ended, or was asked to.
    #[error("the chat is over")]
    Over,
}
