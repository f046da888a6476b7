//! Commands of the user to a chat.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::file_part::FilePart;
use crate::reply::ReplyError;
use crate::settings::SettingValue;

/// A command to a chat.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sends a prompt.
    Prompt {
        /// Its id, a UUID.
        id: String,
        /// Blocks: `{"type":"text","text":…}`, images.
        content: Vec<Value>,
    },
    /// Cancels a queued prompt.
    Cancel {
        /// The prompt.
        id: String,
    },
    /// Approves a request.
    Allow {
        /// The request.
        request: String,
        /// The chosen answer; `None`: the one for this time only.
        #[serde(default)]
        choice: Option<String>,
        /// The rules to accept, from 0.
        #[serde(default)]
        rules: Vec<usize>,
        /// Changed arguments, or the values of a form. The rest stays byte for byte.
        #[serde(default)]
        changes: BTreeMap<String, Value>,
        /// The mode that follows.
        #[serde(default)]
        mode: Option<String>,
    },
    /// Refuses a request.
    Deny {
        /// The request.
        request: String,
        /// The chosen answer; `None`: the one for this time only.
        #[serde(default)]
        choice: Option<String>,
        /// The reason, for the agent; `None` also interrupts it.
        #[serde(default)]
        message: Option<String>,
    },
    /// Ends a request without a decision.
    Unanswered {
        /// The request.
        request: String,
        /// The reason.
        #[serde(default)]
        message: Option<String>,
    },
    /// The file's old content is stored: the agent may write it.
    GoOn {
        /// The request.
        request: String,
    },
    /// Answers a request to the editor: a file, a terminal.
    Reply {
        /// The request.
        request: String,
        /// The result.
        #[serde(default)]
        result: Option<Value>,
        /// The error.
        #[serde(default)]
        error: Option<ReplyError>,
    },
    /// Answers with a part of a file: the backend gets a [`Command::Reply`] once it is read.
    ReplyWithFile {
        /// The request.
        request: String,
        /// The part to read.
        file: FilePart,
    },
    /// Interrupts the turn.
    Interrupt,
    /// Changes a setting of [`crate::Event::Settings`].
    Set {
        /// The number of the answer.
        number: u64,
        /// The setting.
        setting: String,
        /// The new value.
        value: SettingValue,
    },
    /// Ends a background task.
    StopTask {
        /// The number of the answer.
        number: u64,
        /// The task.
        id: String,
    },
    /// Restores files as they were before a prompt.
    Rewind {
        /// The number of the answer.
        number: u64,
        /// The prompt's id.
        prompt: String,
        /// Only reports what would change.
        #[serde(default)]
        is_dry: bool,
    },
    /// Finds files by name.
    FindFiles {
        /// The number of the answer.
        number: u64,
        /// The text to match.
        query: String,
    },
    /// Lists the agent's sessions.
    ListSessions {
        /// The number of the answer.
        number: u64,
    },
    /// Starts a session, if there is none.
    BeginSession {
        /// The session to resume; `None`: a new one.
        #[serde(default)]
        session: Option<String>,
        /// Continues with a copy of it.
        #[serde(default)]
        fork: bool,
    },
    /// Closes the session before the process ends.
    CloseSession {
        /// The number of the answer.
        number: u64,
    },
    /// Signs in.
    SignIn {
        /// The number of the answer.
        number: u64,
        /// The method.
        method: String,
        /// The key that the user typed.
        #[serde(default)]
        key: Option<String>,
    },
}

impl Command {
    /// Whether it may be refused when the input is full: answers and interrupts may not.
    pub(crate) fn may_be_refused(&self) -> bool {
        matches!(
            self,
            Self::Prompt { .. }
                | Self::Set { .. }
                | Self::StopTask { .. }
                | Self::Rewind { .. }
                | Self::FindFiles { .. }
                | Self::ListSessions { .. }
                | Self::BeginSession { .. }
                | Self::CloseSession { .. }
                | Self::SignIn { .. }
        )
    }

    /// The approximate size in bytes of an answer with a part of a file.
    pub(crate) fn weight(&self) -> usize {
        let Self::Reply { result: Some(result), .. } = self else { return 0 };
        result.get("content").and_then(Value::as_str).map_or(0, str::len)
    }

    /// The command for the backend. Blocks on the disk if a file has to be read.
    pub(crate) fn read(self) -> Self {
        let Self::ReplyWithFile { request, file } = self else { return self };
        match file.read() {
            Ok(content) => Self::Reply { request, result: Some(json!({ "content": content })), error: None },
            Err(error) => Self::Reply { request, result: None, error: Some(error) },
        }
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The chat has ended, or was asked to.
    #[error("the chat is over")]
    Over,
    /// The agent has not read its earlier input.
    #[error("the agent reads nothing of what it is told")]
    Full,
    /// No thread could be started.
    #[error("a file cannot be read: {0}")]
    NoThread(#[from] std::io::Error),
}
