//! Reasons to refuse a request without starting it.

use claude_ide_protocol::jsonrpc::{ErrorCode, ErrorObject, RequestId};

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An open request has this id.
    #[error("invalid request: the id {0} is in use by a request in flight")]
    IdInUse(RequestId),
    /// The limit of open requests is reached.
    #[error("too many requests in flight: the limit is {limit}")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The open requests are too large together.
    #[error("the requests in flight are too large: the limit is {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The responses of the batch are too large together.
    #[error("the answers of this batch are too large: the limit is {limit} bytes")]
    BatchTooLarge {
        /// The limit.
        limit: usize,
    },
}

impl Refusal {
    /// The error code, which shows the peer whether a retry makes sense.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::IdInUse(_) => ErrorCode::InvalidRequest,
            Self::TooMany { .. } | Self::TooLarge { .. } | Self::BatchTooLarge { .. } => ErrorCode::Busy,
        }
    }
}

impl From<Refusal> for ErrorObject {
    fn from(refusal: Refusal) -> Self {
        Self { code: refusal.code(), message: refusal.to_string().into() }
    }
}
