//! Parses the editor's replies. The editor is ours, so an unexpected shape is a bug, reported and not fatal.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A reply that breaks the editor's contract.
#[derive(Debug, thiserror::Error)]
#[error("the editor gave an unexpected answer: {0}")]
pub(crate) struct UnexpectedReply(#[from] serde_json::Error);

/// Parses a reply, or a part of one.
pub(crate) fn parse<'a, T: Deserialize<'a>>(reply: &'a RawValue) -> Result<T, UnexpectedReply> {
    Ok(serde_json::from_str(reply.get())?)
}
