//! JSON-RPC 2.0 envelopes. `params` and `result` stay raw JSON until they are used, so that a message of many megabytes
//! is parsed once.
//!
//! Wire format: <https://www.jsonrpc.org/specification>, narrowed by MCP: a request id is never `null` (but see
//! [`parse_with_null_ids`]).

mod incoming;
mod outgoing;

use std::{
    borrow::Cow,
    fmt,
    hash::{Hash, Hasher},
};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

pub use incoming::{Incoming, Malformed, is_batch, parse, parse_with_null_ids, refuse_batch, split_batch};
pub use outgoing::{error, notification, request, result};

/// A request id, verbatim: `1`, `1.0`, `"a"` and 20-digit numbers all return unchanged.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct RequestId(Box<RawValue>);

impl RequestId {
    /// Accepts a string or a number; `None` for anything else.
    #[must_use]
    pub fn from_raw(raw: &RawValue) -> Option<Self> {
        let first = raw.get().bytes().next()?;
        (first == b'"' || first == b'-' || first.is_ascii_digit()).then(|| Self(raw.to_owned()))
    }

    /// Like [`Self::from_raw`], but accepts `null`.
    #[must_use]
    pub fn from_raw_or_null(raw: &RawValue) -> Option<Self> {
        Self::from_raw(raw).or_else(|| (raw.get() == "null").then(|| Self(raw.to_owned())))
    }

    /// The id as JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_json().hash(state);
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

/// An error code of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The text is not JSON.
    ParseError,
    /// The JSON is no request.
    InvalidRequest,
    /// No such method.
    MethodNotFound,
    /// The parameters are wrong.
    InvalidParams,
    /// The method failed.
    InternalError,
    /// Too busy for now; in the range that JSON-RPC reserves for servers.
    Busy,
    /// Not found; a code of the Agent Client Protocol.
    NotFound,
    /// Cancelled by the requester; a code of the Agent Client Protocol.
    Cancelled,
}

impl ErrorCode {
    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::InternalError => -32603,
            Self::Busy => -32000,
            Self::NotFound => -32002,
            Self::Cancelled => -32800,
        }
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.number())
    }
}

/// The `error` of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorObject {
    /// The kind of failure.
    pub code: ErrorCode,
    /// A message for a user or a model.
    pub message: Cow<'static, str>,
}
