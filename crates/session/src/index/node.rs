//! What the index keeps of a message, and the row that a reader sees of it.

use serde::{Deserialize, Serialize};

use crate::id::{Name, NodeId};
use crate::message::Usage;
use crate::time::Millis;

/// Where a line lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRef {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) number: u32,
}

/// A message.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: RowKind,
    pub(crate) parent: Option<NodeId>,
    /// The file does not say that it hangs there, or not yet.
    pub(crate) parent_guessed: bool,
    /// In the order in which they began.
    pub(crate) children: Vec<NodeId>,
    pub(crate) lines: Vec<LineRef>,
    /// Tool calls, as positions in the index's list.
    pub(crate) tools: Vec<usize>,
    pub(crate) start: Option<Millis>,
    pub(crate) end: Option<Millis>,
    pub(crate) model: Option<Name>,
    pub(crate) usage: Option<Usage>,
    pub(crate) side: bool,
    pub(crate) has_text: bool,
    pub(crate) has_thinking: bool,
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: Name,
    pub(crate) node: NodeId,
    pub(crate) started: Option<Millis>,
    /// Where its result lies.
    pub(crate) result: Option<LineRef>,
    pub(crate) end: Option<ToolEnd>,
    /// Whether its result says only that it began.
    pub(crate) background: bool,
    /// The first message of the subagent it started, where that lies in the same file (older CLIs).
    pub(crate) sidechain: Option<NodeId>,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolEnd {
    pub(crate) status: ToolStatus,
    pub(crate) time: Option<Millis>,
}

/// What kind of message a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RowKind {
    /// What a user asked.
    Prompt,
    /// What Claude answered, with its tool calls and their results.
    Reply,
    /// A slash command or a shell line that the user ran.
    Command,
    /// What a command printed.
    Output,
    /// "Request interrupted by user".
    Interrupted,
    /// Something the CLI tells the user: an API error, a warning.
    Notice,
    /// The conversation was compacted here.
    Compaction,
    /// The summary that stands for what was compacted.
    Summary,
    /// What the CLI tells the model: reminders. Not for people unless they ask.
    Meta,
    /// Results whose tool call is not in this file.
    Results,
    /// Of a type this crate does not know.
    Other,
}

/// How a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolStatus {
    /// No result yet, or it goes on in the background.
    Running,
    /// It ran.
    Done,
    /// It ran and failed.
    Failed,
    /// The user did not allow it.
    Rejected,
    /// The user allowed something else in its place: only who asked knows.
    Changed,
    /// Its outcome will never be reported.
    Void,
}

/// A message as a line in a list: enough to lay a transcript out without reading it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Names the message to [`crate::Transcript::message`].
    pub id: NodeId,
    /// What it is.
    pub kind: RowKind,
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
    /// The calls a reply made, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolRow>,
    /// Whether a reply has text.
    pub has_text: bool,
    /// Whether a reply has thinking.
    pub has_thinking: bool,
    /// Set where the conversation forks: this message has siblings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// Size of its lines in the file, results included, in bytes.
    pub bytes: u64,
}

/// A tool call in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolRow {
    /// "Read", "Bash", …
    pub name: Name,
    /// How it stands.
    pub status: ToolStatus,
    /// When it was asked for.
    pub start: Option<Millis>,
    /// When it ended: when its result was written, or in the background, when that was told.
    pub end: Option<Millis>,
    /// Whether it went on in the background: its result says only that it began.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// First message of its subagent, where that lies in the same file; see also [`crate::agents_of`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidechain: Option<NodeId>,
}

/// A message's place among its siblings: the alternatives after an edit, a rewind or a retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Which of the siblings this is, from 1.
    pub number: u32,
    /// All of them, in the order in which they began.
    pub siblings: Vec<NodeId>,
}

/// What a refresh changed in the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delta {
    /// The file was replaced: forget every id and row.
    pub reset: bool,
    /// Rows from this position on are new or different (0-based).
    pub from: usize,
    /// How many rows there are now.
    pub len: usize,
    /// Rows before `from` that changed in place: a result came, a block was added.
    pub changed: Vec<usize>,
}

impl Delta {
    /// Whether nothing changed that a reader could see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.reset && self.changed.is_empty() && self.from == self.len
    }
}
