//! One message in full: its lines parsed, its tool calls with their results.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::head::UsageHead;
use crate::id::{Name, NodeId};
use crate::index::{RowKind, ToolStatus};
use crate::outcome::Outcome;
use crate::time::Millis;
use crate::words;

/// Tokens of one request, or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model, not from the cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Put into the cache.
    pub cache_write: u64,
    /// Read from the cache.
    pub cache_read: u64,
}

impl Usage {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_read: self.cache_read.saturating_add(other.cache_read),
        }
    }
}

impl From<UsageHead> for Usage {
    fn from(head: UsageHead) -> Self {
        Self {
            input: head.input_tokens.0,
            output: head.output_tokens.0,
            cache_write: head.cache_creation_input_tokens.0,
            cache_read: head.cache_read_input_tokens.0,
        }
    }
}

/// A message in full.
#[derive(Debug, Serialize)]
pub struct Message {
    /// Its row.
    pub id: NodeId,
    /// What it is.
    pub kind: RowKind,
    /// The id of its first line, as the file has it; "" where it has none.
    pub uuid: String,
    /// When it began.
    pub start: Option<Millis>,
    /// When its last line was written.
    pub end: Option<Millis>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// Tokens of the request behind a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model stopped: "end_turn", "tool_use", …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What it consists of, in order.
    pub blocks: Vec<Block>,
}

/// A text, perhaps only its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text {
    /// The text, up to the limit that the caller set.
    pub text: String,
    /// Size of the whole text in bytes; more than `text` has where it was cut.
    pub bytes: usize,
}

impl Text {
    pub(crate) fn cut(mut text: String, max_bytes: usize) -> Self {
        let bytes = text.len();
        if bytes > max_bytes {
            let end = (0..=max_bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        Self { text, bytes }
    }

    /// Takes the marks of the CLI from a prompt's pastes.
    pub(crate) fn take_paste_marks(&mut self) {
        if let Some(shown) = words::without_paste_marks(&self.text, self.bytes > self.text.len()) {
            self.bytes = self.bytes.saturating_sub(self.text.len() - shown.len());
            self.text = shown;
        }
    }
}

/// An image, without its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Image {
    /// "image/png", …
    pub media_type: String,
    /// Size of its base64 text in bytes.
    pub encoded_bytes: usize,
}

/// A piece of a message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", from = "Flat")]
#[non_exhaustive]
pub enum Block {
    /// Text of a user, of Claude, or of the CLI.
    Text(Text),
    /// What Claude thought before it answered.
    Thinking(Text),
    /// A tool call with its result.
    ToolUse {
        /// Names the call in this and other files.
        id: String,
        /// "Read", "Bash", …
        name: String,
        /// The arguments, as Claude wrote them.
        input: Box<RawValue>,
        /// How it stands.
        status: ToolStatus,
        /// When it was asked for.
        start: Option<Millis>,
        /// When it ended: when its result was written, or in the background, when that was told.
        end: Option<Millis>,
        /// Whether it went on in the background: its result says only that it began.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        background: bool,
        /// What came of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Box<ToolResult>>,
    },
    /// A result whose call is not in this file.
    ToolResult {
        /// The call.
        tool_use_id: String,
        /// What came of it.
        result: Box<ToolResult>,
    },
    /// A picture that a user pasted.
    Image(Image),
    /// A block of a type this crate does not know, as it is.
    Unknown {
        /// The block.
        raw: Box<RawValue>,
    },
}

/// What came of a tool call.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ToolResult {
    /// Whether the tool said that it failed.
    #[serde(default)]
    pub is_error: bool,
    /// What the model got.
    #[serde(default)]
    pub content: Vec<Part>,
    /// What the CLI itself recorded, typed where it changed a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// A piece of a tool's result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", from = "Flat")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(Text),
    /// A picture.
    Image(Image),
    /// A type this crate does not know, as it is.
    Unknown {
        /// The part.
        raw: Box<RawValue>,
    },
}

/// A block or a part as it comes back from who shows it: serde cannot keep raw JSON in an enum that is told by a field.
#[derive(Deserialize)]
struct Flat {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    bytes: Option<usize>,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    input: Option<Box<RawValue>>,
    status: Option<ToolStatus>,
    start: Option<Millis>,
    end: Option<Millis>,
    #[serde(default)]
    background: bool,
    result: Option<Box<ToolResult>>,
    #[serde(default)]
    tool_use_id: String,
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    encoded_bytes: usize,
    raw: Option<Box<RawValue>>,
}

fn or_null(raw: Option<Box<RawValue>>) -> Box<RawValue> {
    raw.unwrap_or_else(|| RawValue::NULL.to_owned())
}

impl Flat {
    fn text(self) -> Text {
        Text { bytes: self.bytes.unwrap_or(self.text.len()), text: self.text }
    }

    fn image(self) -> Image {
        Image { media_type: self.media_type, encoded_bytes: self.encoded_bytes }
    }
}

impl From<Flat> for Block {
    fn from(flat: Flat) -> Self {
        match flat.kind.as_str() {
            "text" => Self::Text(flat.text()),
            "thinking" => Self::Thinking(flat.text()),
            "image" => Self::Image(flat.image()),
            "tool_use" => Self::ToolUse {
                id: flat.id,
                name: flat.name,
                input: or_null(flat.input),
                status: flat.status.unwrap_or(ToolStatus::Running),
                start: flat.start,
                end: flat.end,
                background: flat.background,
                result: flat.result,
            },
            "tool_result" => {
                Self::ToolResult { tool_use_id: flat.tool_use_id, result: flat.result.unwrap_or_default() }
            }
            _ => Self::Unknown { raw: or_null(flat.raw) },
        }
    }
}

impl From<Flat> for Part {
    fn from(flat: Flat) -> Self {
        match flat.kind.as_str() {
            "text" => Self::Text(flat.text()),
            "image" => Self::Image(flat.image()),
            _ => Self::Unknown { raw: or_null(flat.raw) },
        }
    }
}
