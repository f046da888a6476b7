//! One message in full: its parsed lines, its tool calls with their results.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::id::NodeId;
use crate::model::{AllowedBy, RowKind, ToolStatus};
use crate::text::Text;
use crate::time::Millis;
use crate::tool_result::Outcome;

/// A message in full.
#[derive(Debug, Serialize)]
pub struct Message {
    /// Its row.
    pub id: NodeId,
    /// Its kind.
    pub kind: RowKind,
    /// When it began.
    pub start: Option<Millis>,
    /// When its last line was written.
    pub end: Option<Millis>,
    /// Its content, in order.
    pub blocks: Vec<Block>,
}

/// An image, without its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// "image/png", …
    pub media_type: String,
    /// Size of its base64 text in bytes.
    pub encoded_bytes: usize,
}

/// A piece of a message.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Text of a user, of Claude, or of the CLI.
    Text(Text),
    /// Claude's thinking.
    Thinking(Text),
    /// A tool call with its result.
    ToolUse {
        /// The id of the call in this and other files.
        id: String,
        /// "Read", "Bash", …
        name: String,
        /// The arguments, as Claude wrote them.
        input: Arguments,
        /// Its status.
        status: ToolStatus,
        /// When it was requested.
        start: Option<Millis>,
        /// When its result was written; for a background call, when its end was reported.
        end: Option<Millis>,
        /// Whether it continued in the background.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        background: bool,
        /// Whether the script of the call before it made it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        inner: bool,
        /// Its result.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Box<ToolResult>>,
    },
    /// A result whose call is not in this file.
    ToolResult {
        /// The call.
        tool_use_id: String,
        /// The result.
        result: Box<ToolResult>,
    },
    /// An image that the user pasted.
    Image(Image),
    /// A block of a type unknown to this crate.
    Unknown {
        /// The block.
        raw: Box<RawValue>,
    },
}

impl ToolResult {
    /// Cuts each text to `max_bytes`.
    #[must_use]
    pub fn cut(mut self, max_bytes: usize) -> Self {
        self.content = self
            .content
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => Part::Text(text.head(max_bytes)),
                other => other,
            })
            .collect();
        self
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ToolResult {
    /// Whether the tool reported failure.
    pub is_error: bool,
    /// The content given to the model.
    pub content: Vec<Part>,
    /// The CLI's own record, typed if it changed a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What let it run, if the CLI's stream says so. Of a transcript: [`crate::Transcript::ended_calls`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<AllowedBy>,
}

/// A piece of a tool's result.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(Text),
    /// An image.
    Image(Image),
    /// A type unknown to this crate.
    Unknown {
        /// The part.
        raw: Box<RawValue>,
    },
}
