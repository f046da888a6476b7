//! One session opened for reading: rows to lay out, messages on demand, refreshes.
//!
//! Only the index stays in memory (measured: under 300 bytes a line); a message is read from the file on demand.

mod ended_calls;
mod locations;
mod shown;
mod unrecorded;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::agent::{Agent, agent_id};
use crate::cancel::Cancel;
use crate::error::SessionError;
use crate::id::NodeId;
use crate::index::{CommandTime, Conversation, Delta, Index, LineRef, Row};
use crate::json::{tellable, without_debris};
use crate::line_body::Body;
use crate::message::{Block, Message};
use crate::model::{RowKind, Usage};
use crate::tail::{Tail, TailEvent};
use crate::time::Millis;
use crate::tool_result::EditTexts;
pub use ended_calls::{ChangedFile, EndedCall, EndedCalls, Failure};
pub use locations::{Location, LocationKind};
pub use shown::Batch;
use unrecorded::ShownMessages;

/// A message's place among the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum Position {
    /// In this row, 0-based.
    Row {
        /// The row.
        row: usize,
    },
    /// On another branch; [`Transcript::show_branch`] shows it.
    OtherBranch,
    /// In a sidechain; [`Transcript::sidechain`] shows it.
    Sidechain,
}

/// One session, or one subagent, open for reading.
#[derive(Debug)]
pub struct Transcript {
    tail: Tail,
    conversation: Conversation,
    index: Index,
    /// A message that the shown branch contains; `None` follows the newest branch.
    through: Option<NodeId>,
    path: Vec<NodeId>,
    position: HashMap<NodeId, usize>,
    shown: ShownMessages,
    complete: bool,
}

impl Transcript {
    /// Opens a transcript and indexes it. The name of a subagent's file identifies it (`agent-*.jsonl`).
    ///
    /// When cancelled, the part read so far is available and the next [`Transcript::refresh`] continues.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn open(path: impl Into<PathBuf>, cancel: &Cancel) -> Result<Self, SessionError> {
        Self::start(Tail::new(path), true, cancel)
    }

    /// Opens about the last `bytes` of a transcript: something to show while a huge one is being indexed.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn open_end(path: impl Into<PathBuf>, bytes: u64, cancel: &Cancel) -> Result<Self, SessionError> {
        let path = path.into();
        let size = std::fs::metadata(&path).map_err(SessionError::read(&path))?.len();
        let Some(middle) = size.checked_sub(bytes).filter(|middle| *middle > 0) else {
            return Self::open(path, cancel);
        };
        let mut search = Tail::from_offset(&path, middle, 1);
        search.check()?;
        let mut first_whole = None;
        while first_whole.is_none()
            && search.read_raw(|line| first_whole = first_whole.or((line.number == 2).then_some(line.offset)))?
        {
        }
        match first_whole {
            Some(offset) => Self::start(Tail::from_offset(path, offset, 1), false, cancel),
            // One line is longer than that.
            None => Self::open_end(path, bytes.saturating_mul(8), cancel),
        }
    }

    fn start(tail: Tail, complete: bool, cancel: &Cancel) -> Result<Self, SessionError> {
        let conversation = if agent_id(tail.path()).is_some() { Conversation::Agent } else { Conversation::Session };
        let mut transcript = Self {
            tail,
            conversation,
            index: Index::new(conversation),
            through: None,
            path: Vec::new(),
            position: HashMap::new(),
            shown: ShownMessages::default(),
            complete,
        };
        if transcript.tail.check()? == TailEvent::Missing {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(SessionError::read(transcript.tail.path())(missing));
        }
        transcript.read(cancel)?;
        transcript.lay_out();
        Ok(transcript)
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.tail.path()
    }

    /// Whether the whole file is indexed: not so after [`Transcript::open_end`].
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How many bytes of the file are indexed; a follower continues there.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.tail.offset()
    }

    /// Reads what was added to the file; returns which rows changed.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read; the old rows stay.
    pub fn refresh(&mut self, cancel: &Cancel) -> Result<Delta, SessionError> {
        let reset = match self.tail.check()? {
            TailEvent::Missing => return Ok(Delta { from: self.len(), len: self.len(), ..Delta::default() }),
            TailEvent::Same => false,
            TailEvent::Replaced => {
                self.index = Index::new(self.conversation);
                self.through = None;
                self.shown = ShownMessages::default();
                self.complete = true;
                true
            }
        };
        self.read(cancel)?;
        let delta = self.lay_out();
        let from = match (reset, self.look_at_records(&delta)) {
            (true, _) => 0,
            (false, true) => delta.from.min(self.path.len()),
            (false, false) => delta.from,
        };
        Ok(Delta { reset, from, len: self.len(), ..delta })
    }

    /// The number of rows of the shown branch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.path.len() + usize::from(self.shown_row().is_some())
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of the shown branch, oldest first, from position `from` (0-based).
    #[must_use]
    pub fn rows(&self, from: usize, count: usize) -> Vec<Row> {
        let Some(path) = self.path.get(from..) else { return Vec::new() };
        let recorded = path.iter().map(|id| self.index.row(*id));
        recorded.chain([self.shown_row()]).take(count).flatten().collect()
    }

    /// Shows the branch through a message; `None` follows the newest branch again.
    ///
    /// # Errors
    /// [`SessionError::UnknownMessage`] if there is no such message.
    pub fn show_branch(&mut self, through: Option<NodeId>) -> Result<Delta, SessionError> {
        if through.is_some_and(|id| self.index.node(id).is_none()) {
            return Err(SessionError::UnknownMessage);
        }
        self.through = through;
        Ok(self.lay_out())
    }

    /// The messages of a subagent in the same file (older CLIs), from its first one.
    #[must_use]
    pub fn sidechain(&self, first: NodeId) -> Vec<Row> {
        self.index.path_through(first).into_iter().filter_map(|id| self.index.row(id)).collect()
    }

    /// A message's place.
    #[must_use]
    pub fn position(&self, id: NodeId) -> Option<Position> {
        let side = self.index.node(id)?.side;
        Some(match self.position.get(&id) {
            Some(row) => Position::Row { row: *row },
            None if side => Position::Sidechain,
            None => Position::OtherBranch,
        })
    }

    /// How many rows precede those of a transcript of the same file's end; `None` if its newest row is not here.
    #[must_use]
    pub fn rows_before(&self, end: &Self) -> Option<usize> {
        let newest = end.path.last().and_then(|id| end.index.node(*id))?.lines.first()?.offset;
        let has_it =
            |id: &NodeId| self.index.node(*id).is_some_and(|node| node.lines.iter().any(|line| line.offset == newest));
        let row = self.path.iter().rposition(has_it)?;
        (row + 1).checked_sub(end.path.len())
    }

    /// The message that contains a line, as numbered in search results.
    #[must_use]
    pub fn message_at_line(&self, number: u32) -> Option<NodeId> {
        self.index.at_line(number)
    }

    /// A message in full, each text cut to `max_text` bytes.
    ///
    /// # Errors
    /// [`SessionError::UnknownMessage`] for an unknown id, [`SessionError::Read`] if the file cannot be read.
    pub fn message(&mut self, id: NodeId, max_text: usize) -> Result<Message, SessionError> {
        if let Some(shown) = self.shown.message(id, max_text) {
            return Ok(shown);
        }
        let node = self.index.node(id).ok_or(SessionError::UnknownMessage)?;
        let (lines, kind) = (node.lines.clone(), node.kind);
        let mut message = Message { id, kind, start: node.start, end: node.end, blocks: Vec::new() };
        for line in lines {
            let bytes = self.line(line)?;
            let Some(body) = Body::parse(&bytes) else { continue };
            message.blocks.extend(body.blocks(max_text));
            if kind == RowKind::Other {
                message.blocks.push(Block::Unknown { raw: raw_value(&bytes) });
            }
        }
        for block in &mut message.blocks {
            match (kind, &mut *block) {
                (RowKind::Prompt, Block::Text(text)) => text.take_paste_marks(),
                (RowKind::Notice, Block::Text(text)) => text.take_notification(),
                _ => {}
            }
            self.fill_in(block, max_text)?;
        }
        Ok(message)
    }

    /// The file's full text before and after an edit; `None` if the call changed no file or did not record them.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn edit_texts(&mut self, tool_use_id: &str) -> Result<Option<EditTexts>, SessionError> {
        let Some(at) = self.index.tool_by_id(tool_use_id).and_then(|tool| tool.result) else { return Ok(None) };
        let bytes = self.line(at)?;
        Ok(Body::parse(&bytes).and_then(|body| body.outcome()).and_then(EditTexts::parse))
    }

    /// The message that made a tool call.
    #[must_use]
    pub fn message_of_tool(&self, tool_use_id: &str) -> Option<NodeId> {
        self.index.tool_by_id(tool_use_id).map(|tool| tool.node)
    }

    /// The listed subagents, completed from the session's own lines. For a subagent's transcript also the subagents
    /// that it started itself, whose files lie beside it.
    #[must_use]
    pub fn agents(&self, mut listed: Vec<Agent>) -> Vec<Agent> {
        if self.conversation == Conversation::Agent {
            listed.extend(self.index.agent_calls().filter_map(|(id, _)| self.agent_beside(id)));
            listed.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        }
        for agent in &mut listed {
            let call = agent.tool_use_id.take().or_else(|| self.index.call_of_agent(&agent.id).map(str::to_owned));
            let tool = call.as_deref().and_then(|call| self.index.tool_by_id(call));
            agent.running = agent.running && tool.is_none_or(|tool| tool.end.is_none());
            agent.tool_use_id = call;
        }
        listed
    }

    /// Whether lines read since the last call concern subagents.
    pub fn take_agents_touched(&mut self) -> bool {
        self.index.take_agents_touched()
    }

    fn agent_beside(&self, id: &str) -> Option<Agent> {
        let file = self.file().with_file_name(format!("agent-{id}.jsonl"));
        // The id comes from the file's contents: it must not lead elsewhere.
        let is_its = agent_id(&file) == Some(id) && file.is_file();
        is_its.then(|| Agent {
            id: id.to_owned(),
            file,
            tool_use_id: None,
            agent_type: None,
            description: None,
            running: true,
        })
    }

    /// When calls ran, at `since` or later, that may have changed any file: commands, tools of MCP servers, subagents.
    #[must_use]
    pub fn commands(&self, since: Millis) -> Vec<CommandTime<'_>> {
        self.index.commands(since)
    }

    /// Tokens of all replies on all branches.
    #[must_use]
    pub fn total_usage(&self) -> Usage {
        self.index.total_usage()
    }

    /// The newest reply of the shown branch; its model and usage tell how full the context is.
    #[must_use]
    pub fn last_reply(&self) -> Option<Row> {
        let is_reply = |id: &&NodeId| {
            self.index.node(**id).is_some_and(|node| node.kind == RowKind::Reply && node.usage.is_some())
        };
        self.path.iter().rev().find(is_reply).and_then(|id| self.index.row(*id))
    }

    /// Number of messages on all branches.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.index.len()
    }

    /// Number of unreadable lines.
    #[must_use]
    pub fn broken_lines(&self) -> u32 {
        self.index.broken()
    }

    fn read(&mut self, cancel: &Cancel) -> Result<(), SessionError> {
        let mut broken = Vec::new();
        while !cancel.is_cancelled() {
            let index = &mut self.index;
            let more = self.tail.read_raw(|line| {
                if !index.add(line) {
                    broken.push(line.number);
                }
            })?;
            for number in broken.drain(..) {
                self.tail.log_broken(number);
            }
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Computes the shown rows again; returns the difference.
    fn lay_out(&mut self) -> Delta {
        let touched = self.index.take_touched();
        let path = match self.through {
            Some(id) => self.index.path_through(id),
            None => self.index.newest_path(),
        };
        let same = path.iter().zip(&self.path).take_while(|(new, old)| new == old).count();
        // What is shown stays where it was if no row was added.
        let is_same = same == path.len() && same == self.path.len();
        for id in self.path.iter().skip(same) {
            self.position.remove(id);
        }
        for (row, id) in path.iter().enumerate().skip(same) {
            self.position.insert(*id, row);
        }
        self.path = path;
        let mut changed: Vec<_> = touched
            .iter()
            .flat_map(|id| self.index.with_siblings(*id))
            .filter_map(|id| self.position.get(&id).copied())
            .filter(|row| *row < same)
            .collect();
        changed.sort_unstable();
        changed.dedup();
        let from = if is_same { self.len() } else { same };
        Delta { reset: false, from, len: self.len(), changed }
    }

    fn line(&mut self, at: LineRef) -> Result<Vec<u8>, SessionError> {
        self.tail.line_at(at.offset, usize::try_from(at.len).unwrap_or(usize::MAX))
    }

    /// Adds the result to a tool call.
    fn fill_in(&mut self, block: &mut Block, max_text: usize) -> Result<(), SessionError> {
        let Block::ToolUse { id, status, start, end, background, result, .. } = block else { return Ok(()) };
        let Some(tool) = self.index.tool_by_id(id) else { return Ok(()) };
        (*start, *background) = (tool.started, tool.background);
        if let Some(tool_end) = tool.end {
            (*status, *end) = (tool_end.status, tool_end.time);
        }
        let Some(at) = tool.result else { return Ok(()) };
        let bytes = self.line(at)?;
        *result = Body::parse(&bytes).and_then(|body| body.result_of(id, max_text)).map(Box::new);
        Ok(())
    }
}

fn raw_value(bytes: &[u8]) -> Box<RawValue> {
    serde_json::from_slice(without_debris(bytes)).map_or_else(|_| RawValue::NULL.to_owned(), tellable)
}
