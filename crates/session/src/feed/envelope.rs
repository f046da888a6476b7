//! What a line says of itself: its type, its name, its place in the tree. Its content is passed over.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::lenient::{Object, Scalar};

/// The lines that may be shown elsewhere (seed 003, "Message Types"). Whatever else there is or will be stays here: requests to
/// the model, attachments with prompts and schemas, bookkeeping. But for one: a prompt that a user typed while Claude worked
/// is written as an attachment, and nowhere else (CLI 2.1.329).
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

/// Of an attachment, what tells whether it is a prompt that a user typed while Claude worked.
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

/// Such a prompt, as any other one stands in a transcript. Of what the file has beside it nothing leaves.
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

    /// Writes `line` as it is shown, perhaps with another parent.
    pub(super) fn write(&self, line: &[u8], parent: Option<&Option<Box<str>>>, into: &mut Vec<u8>) {
        match (self.queued_prompt(), parent) {
            (Some(content), parent) => self.write_prompt(content, parent, into),
            (None, Some(parent)) => self.write_with_parent(line, parent.as_deref(), into),
            (None, None) => into.extend_from_slice(line),
        }
    }

    fn write_prompt(&self, content: &'a RawValue, parent: Option<&Option<Box<str>>>, into: &mut Vec<u8>) {
        // As it stood in another line, escapes included.
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
        // A buffer takes everything, and what was read can be written.
        serde_json::to_writer(into, &prompt).ok();
    }

    fn write_with_parent(&self, line: &[u8], parent: Option<&str>, into: &mut Vec<u8>) {
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
