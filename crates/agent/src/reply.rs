//! Answers to requests to the editor that failed.

use serde::Deserialize;

/// Why a request of the agent failed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyError {
    /// The kind of failure.
    pub code: ReplyCode,
    /// The message, for the agent and the user.
    pub message: String,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyCode {
    /// The arguments are wrong.
    Invalid,
    /// Not found.
    NotFound,
    /// It failed.
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
