//! The fields of a line that identify it: type, uuid, parent. Its content is not parsed.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::lenient::{Object, Scalar};

/// Types of lines that may leave this machine's files (the transcript protocol, "Message Types"). Everything else, known or not,
/// stays: requests to the model, attachments with prompts and schemas, bookkeeping. The one exception is a prompt typed
/// while Claude worked, which CLI 2.1.329 writes as an attachment and nowhere else.
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
    #[serde(borrow)]
    attachment: Object<Attachment<'a>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
}

/// The fields that identify an attachment as a queued prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow, rename = "humanTurn")]
    human_turn: Scalar<'a>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
}

/// A queued prompt, rewritten as an ordinary one. No other field of its attachment is copied.
#[derive(Serialize)]
struct Prompt<'a> {
    #[serde(rename = "parentUuid")]
    parent: Option<&'a RawValue>,
    #[serde(rename = "type")]
    kind: &'static str,
    message: Said<'a>,
    uuid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'a RawValue>,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    session: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: &'a RawValue,
}

/// Keeps an explicit `null` apart from a missing field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Strips a byte order mark, and the zero bytes that a crash left; returns how many bytes these were.
pub(super) fn without_debris(line: &[u8]) -> (usize, &[u8]) {
    let rest = crate::json::without_debris(line);
    (line.len() - rest.len(), rest)
}

impl<'a> Envelope<'a> {
    /// Parses a line; `None` if it is no JSON object or repeats a field.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    pub(super) fn may_be_shown(&self) -> bool {
        SHOWN.contains(&self.kind.text()) || self.queued_prompt().is_some()
    }

    fn queued_prompt(&self) -> Option<&'a RawValue> {
        let attachment = self.attachment.0.as_ref().filter(|_| self.kind.text() == "attachment")?;
        let is_typed = attachment.kind.text() == "queued_command" && attachment.human_turn.is_true();
        attachment.prompt.filter(|_| is_typed)
    }

    pub(super) fn parent_text(&self) -> Option<&'a str> {
        let text = self.parent?.get().strip_prefix('"')?.strip_suffix('"')?;
        (!text.is_empty()).then_some(text)
    }

    /// Writes `line` as it is shown, with another parent if one is given.
    pub(super) fn write(&self, line: &[u8], parent: Option<&Option<Box<str>>>, into: &mut Vec<u8>) {
        match (self.queued_prompt(), parent) {
            (Some(content), parent) => self.write_prompt(content, parent, into),
            (None, Some(parent)) => self.write_with_parent(line, parent.as_deref(), into),
            (None, None) => into.extend_from_slice(line),
        }
    }

    fn write_prompt(&self, content: &'a RawValue, parent: Option<&Option<Box<str>>>, into: &mut Vec<u8>) {
        // The text was copied from another line's JSON, so it is escaped already.
        let named = parent.and_then(Option::as_deref).map(|parent| format!("\"{parent}\""));
        let other = named.and_then(|json| RawValue::from_string(json).ok());
        let prompt = Prompt {
            parent: if parent.is_some() { other.as_deref() } else { self.parent },
            kind: "user",
            message: Said { role: "user", content },
            uuid: self.uuid.text(),
            timestamp: self.timestamp,
            session: self.session,
        };
        // Writing into a `Vec` cannot fail, nor can serialising values that were just parsed.
        serde_json::to_writer(into, &prompt).ok();
    }

    fn write_with_parent(&self, line: &[u8], parent: Option<&str>, into: &mut Vec<u8>) {
        let Some(stands) = self.parent.map(RawValue::get) else {
            into.extend_from_slice(line);
            return;
        };
        // `stands` is a slice of `line`.
        let start = stands.as_ptr().addr().saturating_sub(line.as_ptr().addr());
        into.extend_from_slice(line.get(..start).unwrap_or_default());
        match parent {
            // The text was copied from another line's JSON, so it is escaped already.
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
