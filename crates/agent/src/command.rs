//! What a user wants of a chat.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::file_part::FilePart;
use crate::settings::SettingValue;

/// What a user wants.
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
        /// Which of the answers it is; none: the one that holds for this time.
        #[serde(default)]
        choice: Option<String>,
        /// Which of the rules are to hold from now on, from 0.
        #[serde(default)]
        rules: Vec<usize>,
        /// Arguments that are to be others than those asked for, or the values of a form. The rest stays byte for byte.
        #[serde(default)]
        changes: BTreeMap<String, Value>,
    },
    /// What was asked may not be done.
    Deny {
        /// The question.
        request: String,
        /// Which of the answers it is; none: the one that holds for this time.
        #[serde(default)]
        choice: Option<String>,
        /// Why, for the agent; none: it is to stop.
        #[serde(default)]
        message: Option<String>,
    },
    /// Ends a question without the user's decision.
    Unanswered {
        /// The question.
        request: String,
        /// Why.
        #[serde(default)]
        message: Option<String>,
    },
    /// What the file held that is about to be written is kept.
    GoOn {
        /// The request.
        request: String,
    },
    /// Answers what was asked of the editor: a file, a terminal.
    Reply {
        /// The question.
        request: String,
        /// What came of it.
        #[serde(default)]
        result: Option<Value>,
        /// Why nothing did.
        #[serde(default)]
        error: Option<ReplyError>,
    },
    /// Answers with a part of a file: the backend gets a [`Command::Reply`] once it is read.
    ReplyWithFile {
        /// The question.
        request: String,
        /// Which part.
        file: FilePart,
    },
    /// Breaks the turn off.
    Interrupt,
    /// Sets something, as [`crate::Event::Settings`] lists it.
    Set {
        /// What the answer carries.
        number: u64,
        /// Which setting.
        setting: String,
        /// What it is to be.
        value: SettingValue,
    },
    /// Ends something that runs in the background.
    StopTask {
        /// What the answer carries.
        number: u64,
        /// Which.
        id: String,
    },
    /// Restores files as they were before a prompt.
    Rewind {
        /// What the answer carries.
        number: u64,
        /// The prompt's id.
        prompt: String,
        /// Only says what that would change.
        #[serde(default)]
        is_dry: bool,
    },
    /// Looks for files whose names match.
    FindFiles {
        /// What the answer carries.
        number: u64,
        /// What they are to match.
        query: String,
    },
    /// Lists the agent's sessions.
    ListSessions {
        /// What the answer carries.
        number: u64,
    },
    /// Begins a session where none is begun yet.
    BeginSession {
        /// One to go on with; none: a new one.
        #[serde(default)]
        session: Option<String>,
        /// Goes on with a copy of it.
        #[serde(default)]
        fork: bool,
    },
    /// Closes the session, before the process is ended.
    CloseSession {
        /// What the answer carries.
        number: u64,
    },
    /// Signs in.
    SignIn {
        /// What the answer carries.
        number: u64,
        /// How.
        method: String,
        /// What the user typed for it.
        #[serde(default)]
        key: Option<String>,
    },
}

impl Command {
    /// Whether it may be refused: answers and ends may not.
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

    /// About how many bytes it holds: of an answer with a part of a file.
    pub(crate) fn weight(&self) -> usize {
        let Self::Reply { result: Some(result), .. } = self else { return 0 };
        result.get("content").and_then(Value::as_str).map_or(0, str::len)
    }

    /// What the backend is told. Takes as long as the disk does where a file is to be read.
    pub(crate) fn read(self) -> Self {
        let Self::ReplyWithFile { request, file } = self else { return self };
        match file.read() {
            Ok(content) => Self::Reply { request, result: Some(json!({ "content": content })), error: None },
            Err(error) => Self::Reply { request, result: None, error: Some(error) },
        }
    }
}

/// Why a request of the agent's is not done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyError {
    /// The kind of failure.
    pub code: ReplyCode,
    /// For the agent, and for who reads what it says.
    pub message: String,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyCode {
    /// The arguments are wrong.
    Invalid,
    /// There is no such thing.
    NotFound,
    /// It was not done.
    Failed,
}

impl From<ReplyCode> for claude_ide_protocol::jsonrpc::ErrorCode {
    fn from(code: ReplyCode) -> Self {
        match code {
            ReplyCode::Invalid => Self::InvalidParams,
            ReplyCode::NotFound => Self::NotFound,
            ReplyCode::Failed => Self::InternalError,
        }
    }
}

/// Why a command came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// It ended, or was asked to.
    #[error("the chat is over")]
    Over,
    /// It has not read what was said to it before.
    #[error("the agent reads nothing of what it is told")]
    Full,
    /// There is no thread to be had.
    #[error("a file cannot be read: {0}")]
    NoThread(#[from] std::io::Error),
}
