//! What a line says of itself: its type, its name, its place in the tree. Its content is passed over.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::lenient::Scalar;

/// The lines that may be shown elsewhere (seed 003, "Message Types"). Whatever else there is or will be stays here: requests to
/// the model, attachments with prompts and schemas, bookkeeping.
const SHOWN: [&str; 6] = ["user", "assistant", "system", "progress", "queue-operation", "summary"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    pub(super) uuid: Scalar<'a>,
    #[serde(borrow, rename = "parentUuid", deserialize_with = "present")]
    parent: Option<&'a RawValue>,
    #[serde(borrow, rename = "logicalParentUuid")]
    pub(super) logical_parent: Scalar<'a>,
}

/// As it stands in the line, `null` too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A line without a mark of byte order and without the hole that a crash left before it, and how many bytes these were.
pub(super) fn without_debris(line: &[u8]) -> (usize, &[u8]) {
    let rest = crate::json::without_debris(line);
    (line.len() - rest.len(), rest)
}

impl<'a> Envelope<'a> {
    /// Reads a line; nothing if it is no JSON object, or says something twice.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    pub(super) fn may_be_shown(&self) -> bool {
        SHOWN.contains(&self.kind.text())
    }

    pub(super) fn parent_text(&self) -> Option<&'a str> {
        let text = self.parent?.get().strip_prefix('"')?.strip_suffix('"')?;
        (!text.is_empty()).then_some(text)
    }

    /// Writes `line` with another parent.
    pub(super) fn write_with_parent(&self, line: &[u8], parent: Option<&str>, into: &mut Vec<u8>) {
        let Some(stands) = self.parent.map(RawValue::get) else {
            into.extend_from_slice(line);
            return;
        };
        // Both lie in `line`.
        let start = stands.as_ptr().addr().saturating_sub(line.as_ptr().addr());
        into.extend_from_slice(line.get(..start).unwrap_or_default());
        match parent {
            // As it stood in another line, escapes included.
            Some(parent) => {
                into.push(b'"');
                into.extend_from_slice(parent.as_bytes());
                into.push(b'"');
            }
            None => into.extend_from_slice(b"null"),
        }
        into.extend_from_slice(line.get(start + stands.len()..).unwrap_or_default());
    }
}
