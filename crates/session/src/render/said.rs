//! A message to draw, and what its look depends on.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::fence::Fence;
use crate::id::NodeId;
use crate::index::Row;
use crate::message::Block;
use crate::model::RowKind;

/// Messages of one transcript to render, with the state around them.
#[derive(Debug, Deserialize)]
pub struct RenderRequest {
    /// Rows of the transcript.
    #[serde(default)]
    pub(super) rows: Vec<usize>,
    /// The session's folder; paths below it are shown relative.
    pub(super) cwd: Option<String>,
    pub(super) home: Option<String>,
    /// How many lines of a text are shown.
    pub(super) max_lines: usize,
    /// Name of the agent; `None`: Claude.
    pub(super) speaker: Option<String>,
    /// Whether the messages are a subagent's.
    #[serde(default)]
    pub(super) of_agent: bool,
    /// Whether the session runs no more.
    #[serde(default)]
    pub(super) ended: bool,
    /// When the session waited for the user: start and end of each wait.
    #[serde(default)]
    pub(super) waits: Vec<(i64, i64)>,
    /// Subagents that are known besides those of the rows, by the call that started each.
    #[serde(default)]
    pub(super) agents: HashMap<String, KnownAgent>,
    /// Calls below whose line the client shows their subagents' messages.
    #[serde(default)]
    pub(super) open: HashSet<String>,
    /// The rows are those of the subagent in the same file that has this first message.
    pub(crate) sidechain: Option<u32>,
}

/// A message and its surroundings.
pub(super) struct Said<'a> {
    pub(super) request: &'a RenderRequest,
    pub(super) row: &'a Row,
    pub(super) content: &'a Content<'a>,
}

/// The previous visible row of a message.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Previous {
    pub(super) kind: RowKind,
    #[serde(default)]
    pub(super) called: bool,
}

impl From<&Row> for Previous {
    fn from(row: &Row) -> Self {
        Self { kind: row.kind, called: !row.tools.is_empty() }
    }
}

/// What a row shows.
#[derive(Debug)]
pub struct Content<'a> {
    /// The message.
    pub blocks: Cow<'a, [Block]>,
    /// The previous visible row.
    pub previous: Option<Previous>,
    /// The code block that its text continues.
    pub fence: Option<Fence>,
    /// The subagents that its calls started, if they are known.
    pub agents: Vec<(String, KnownAgent)>,
}

/// The calls of a message.
pub fn calls(blocks: &[Block]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

/// A subagent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KnownAgent {
    /// "Explore", …
    pub agent_type: Option<String>,
    /// Whether it still works.
    pub running: bool,
}

/// A block of the message being drawn.
pub(super) struct Place<'a> {
    pub(super) message: &'a Said<'a>,
    /// Its number, from 1.
    pub(super) block: usize,
}

impl Said<'_> {
    /// The subagent that a call started, if it is known.
    pub(super) fn agent_of(&self, call: &str) -> Option<&KnownAgent> {
        let own = self.content.agents.iter().find(|(id, _)| id == call).map(|(_, agent)| agent);
        own.or_else(|| self.request.agents.get(call))
    }

    /// The first message of the subagent that a call started, if it is in the same file.
    pub(super) fn sidechain_of(&self, call: &str) -> Option<u32> {
        let at = calls(&self.content.blocks).position(|id| id == call)?;
        self.row.tools.get(at)?.sidechain.map(NodeId::get)
    }
}

impl Previous {
    pub(super) fn has_called(&self) -> bool {
        self.kind == RowKind::Reply && self.called
    }
}
