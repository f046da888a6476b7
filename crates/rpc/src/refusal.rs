//! Why a request is not even begun.

use claude_ide_protocol::jsonrpc::{ErrorCode, ErrorObject, RequestId};

/// Why a request is not even begun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An open request has that id.
    #[error("invalid request: the id {0} is in use by a request in flight")]
    IdInUse(RequestId),
    /// The other end has as many open requests as it may.
    #[error("too many requests in flight: the limit is {limit}")]
    TooMany {
        /// How many it may have.
        limit: usize,
    },
    /// Its open requests hold as much as they may.
    #[error("the requests in flight are too large: the limit is {limit} bytes")]
    TooLarge {
        /// How much they may hold.
        limit: usize,
    },
    /// The answers of a batch, which leave together, hold as much as they may.
    #[error("the answers of this batch are too large: the limit is {limit} bytes")]
    BatchTooLarge {
        /// How much they may hold.
        limit: usize,
    },
}

impl Refusal {
    /// The code that tells the other end whether it may try again.
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
