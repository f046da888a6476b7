//! One message in full: its parsed lines, its tool calls with their results.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::head::UsageHead;
use crate::id::NodeId;
use crate::index::{RowKind, ToolStatus};
use crate::outcome::Outcome;
use crate::time::Millis;
use crate::transcript::AllowedBy;
use crate::words;

/// Tokens of one request, or a sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input outside the cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Input read from the cache.
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

/// Models with a context of 200,000 tokens; all others have a million. Source: the table of the CLI 2.1.329. Some of these
/// have a million if the user chose so, which no record tells.
const SMALL: [&str; 8] = [
    "claude-3",
    "claude-haiku-4",
    "claude-sonnet-4",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-opus-4-6",
];

impl Usage {
    /// How full the context of the model was, as the CLI shows it; `None`: the model is unknown, or it has not reported.
    pub(crate) fn context_percent(self, model: &str) -> Option<u8> {
        const SMALL_WINDOW: u64 = 200_000;
        let used = self.input.saturating_add(self.cache_write).saturating_add(self.cache_read);
        let is_small = SMALL.iter().any(|small| model.starts_with(small));
        let window = if is_small && used <= SMALL_WINDOW { SMALL_WINDOW } else { 1_000_000 };
        let percent = used.saturating_mul(100).saturating_add(window / 2) / window;
        (model.starts_with("claude-") && used > 0).then(|| u8::try_from(percent.min(100)).unwrap_or(100))
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
    /// Its kind.
    pub kind: RowKind,
    /// When it began.
    pub start: Option<Millis>,
    /// When its last line was written.
    pub end: Option<Millis>,
    /// Its content, in order.
    pub blocks: Vec<Block>,
}

/// A text, possibly cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text {
    /// The text, up to the caller's limit.
    pub text: String,
    /// Size of the whole text in bytes; larger than `text` if it was cut.
    pub bytes: usize,
}

impl Text {
    /// The beginning of a text, cut between characters.
    #[must_use]
    pub fn cut(text: String, max_bytes: usize) -> Self {
        Self { bytes: text.len(), text }.head(max_bytes)
    }

    fn head(mut self, max_bytes: usize) -> Self {
        if self.text.len() > max_bytes {
            let end = (0..=max_bytes).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
            self.text.truncate(end);
        }
        self
    }

    /// Reduces the CLI's report of a background task's end to what it says.
    pub(crate) fn take_notification(&mut self) {
        if let Some(shown) = words::of_notification(&self.text) {
            self.bytes = shown.len();
            self.text = shown;
        }
    }

    /// Removes the CLI's marks around pasted text from a prompt.
    pub(crate) fn take_paste_marks(&mut self) {
        if let Some(shown) = words::without_paste_marks(&self.text, self.bytes > self.text.len()) {
            self.bytes = self.bytes.saturating_sub(self.text.len() - shown.len());
            self.text = shown;
        }
    }
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
    /// What let it run, if the CLI's stream says so. Of a transcript: [`crate::Transcript::changed_files`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_as_full_as_the_window_of_its_model_allows() {
        let usage = |input, cache_read| Usage { input, cache_read, cache_write: 1_000, output: 9_000 };
        for (model, usage, percent) in [
            ("claude-sonnet-4-5-20250929", usage(1_000, 98_000), Some(50)),
            ("claude-opus-4-20250514", usage(0, 199_000), Some(100)),
            ("claude-opus-4-6", usage(0, 499_000), Some(50)),
            ("claude-opus-4-7", usage(0, 99_000), Some(10)),
            ("claude-opus-5", usage(0, 5_000_000), Some(100)),
            ("gpt-5", usage(1_000, 0), None),
            ("claude-opus-5", Usage::default(), None),
        ] {
            assert_eq!(usage.context_percent(model), percent, "{model}");
        }
    }
}
