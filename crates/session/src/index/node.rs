//! The messages of the index, and the rows shown for them.

use serde::Serialize;

use super::opening::Told;
use crate::id::{Name, NodeId};
use crate::model::{RowKind, ToolStatus, Usage};
use crate::time::Millis;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRef {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) number: u32,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: RowKind,
    pub(crate) parent: Option<NodeId>,
    /// The file does not name this parent, or has not yet.
    pub(crate) parent_guessed: bool,
    /// In the order in which they began.
    pub(crate) children: Vec<NodeId>,
    pub(crate) lines: Vec<LineRef>,
    /// Tool calls, as positions in [`super::Index`]'s list.
    pub(crate) tools: Vec<usize>,
    pub(crate) start: Option<Millis>,
    pub(crate) end: Option<Millis>,
    pub(crate) model: Option<Name>,
    pub(crate) usage: Option<Usage>,
    pub(crate) side: bool,
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: Name,
    pub(crate) node: NodeId,
    pub(crate) started: Option<Millis>,
    pub(crate) result: Option<LineRef>,
    pub(crate) end: Option<ToolEnd>,
    /// Whether the result only reports the start.
    pub(crate) background: bool,
    /// Of a command that goes on after its result: until when, [`Millis::MAX`] while it does.
    pub(crate) goes_on: Option<Millis>,
    /// Whether it was refused before it ran.
    pub(crate) never_ran: bool,
    /// The files that it changed, if the CLI says it.
    pub(crate) changed: Option<Box<[Box<str>]>>,
    /// Of a call that starts a subagent: what it is told first.
    pub(crate) prompt: Option<Told>,
    /// The first message of the subagent it started, if that is in the same file (older CLIs).
    pub(crate) sidechain: Option<NodeId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolEnd {
    pub(crate) status: ToolStatus,
    pub(crate) time: Option<Millis>,
}

/// A message as one row of a list: enough to lay out a transcript without reading it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The message, for [`crate::Transcript::message`].
    pub id: NodeId,
    /// Its kind.
    pub kind: RowKind,
    /// When it began.
    pub start: Option<Millis>,
    /// When its last line was written.
    pub end: Option<Millis>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// Tokens of the reply's request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The reply's tool calls, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolRow>,
    /// Set where the conversation forks: the message has siblings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// Size of its lines and results in the file, in bytes.
    pub bytes: u64,
    /// Whether it continues the text of the previous row, without a line break: only in a chat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
}

/// A tool call in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolRow {
    /// "Read", "Bash", …
    pub name: Name,
    /// Its status.
    pub status: ToolStatus,
    /// When it was requested.
    pub start: Option<Millis>,
    /// When its result was written; for a background call, when its end was reported.
    pub end: Option<Millis>,
    /// Whether it continued in the background.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// First message of its subagent, if that is in the same file; see also [`crate::agents_of`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidechain: Option<NodeId>,
}

/// A message's place among its siblings: the alternatives after an edit, a rewind or a retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// Position among the siblings, from 1.
    pub number: u32,
    /// All siblings, in the order in which they began.
    pub siblings: Vec<NodeId>,
}

/// How a refresh changed the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delta {
    /// The file was replaced: forget every id and row.
    pub reset: bool,
    /// Rows from this position on (0-based) are new or different.
    pub from: usize,
    /// The new number of rows.
    pub len: usize,
    /// Rows before `from` that changed in place: a result arrived, a block was added.
    pub changed: Vec<usize>,
}

impl Delta {
    /// Whether no row changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.reset && self.changed.is_empty() && self.from == self.len
    }
}
