//! Renders messages: lines with highlights, folds and targets. Neovim's transcripts, of files and of
//! chats, and the export show the same items; each paints them itself. The page draws lines itself (`web/draw.js`).

mod budget;
mod call;
mod clock;
mod growth;
mod item;
mod markdown;
mod message;
mod question;
mod text;
mod tool;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::error::SessionError;
use crate::id::NodeId;
use crate::index::{Row, RowKind};
use crate::message::Block;
use crate::transcript::Transcript;

pub use clock::look_up_time_zone;
pub use growth::{Growth as TextGrowth, grow};
pub use item::{Chunk, Fence, Fold, Item, ItemKind, Look, Mark, OpenEnd, Prose, Target, To};

pub(crate) use markdown::Export;
use text::Origin;
pub use text::head;
pub(crate) use text::{fit_by, one_line, with_unseen_marked};
use tool::{Around, Call, ToolLine};

/// Messages of one transcript to render, with the state around them.
#[derive(Debug, Deserialize)]
pub struct RenderRequest {
    /// Rows of the transcript.
    #[serde(default)]
    rows: Vec<usize>,
    /// The session's folder; paths below it are shown relative.
    cwd: Option<String>,
    home: Option<String>,
    /// How many lines of a text are shown.
    max_lines: usize,
    /// Name of the agent; `None`: Claude.
    speaker: Option<String>,
    /// Whether the messages are a subagent's.
    #[serde(default)]
    of_agent: bool,
    /// Whether the session runs no more.
    #[serde(default)]
    ended: bool,
    /// When the session waited for the user: start and end of each wait.
    #[serde(default)]
    waits: Vec<(i64, i64)>,
    /// Subagents that are known besides those of the rows, by the call that started each.
    #[serde(default)]
    agents: HashMap<String, KnownAgent>,
    /// Calls below whose line the client shows their subagents' messages.
    #[serde(default)]
    open: HashSet<String>,
    /// The rows are those of the subagent in the same file that has this first message.
    pub(crate) sidechain: Option<u32>,
}

/// A message and its surroundings.
struct Said<'a> {
    request: &'a RenderRequest,
    row: &'a Row,
    content: &'a Content<'a>,
}

/// The previous visible row of a message.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Previous {
    kind: RowKind,
    #[serde(default)]
    called: bool,
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

/// The rows of a transcript: of a file, or in memory.
pub trait Rows {
    /// Why a message cannot be read.
    type Error;

    /// The row with this number.
    fn row(&mut self, at: usize) -> Option<Row>;

    /// What it shows.
    ///
    /// # Errors
    /// It cannot be read.
    fn content(&mut self, at: usize, row: &Row) -> Result<Content<'_>, Self::Error>;
}

/// A transcript of a file, and its subagents.
pub(crate) struct OfFile<'a> {
    pub(crate) transcript: &'a mut Transcript,
    pub(crate) agents: &'a [Agent],
    /// Each text is cut to so many bytes.
    pub(crate) max_text: usize,
    /// The rows of a subagent in the same file, instead of the session's.
    pub(crate) sidechain: Option<Vec<Row>>,
}

impl OfFile<'_> {
    fn rows(&self, from: usize, count: usize) -> Vec<Row> {
        match &self.sidechain {
            Some(rows) => rows.iter().skip(from).take(count).cloned().collect(),
            None => self.transcript.rows(from, count),
        }
    }
}

impl Rows for OfFile<'_> {
    type Error = SessionError;

    fn row(&mut self, at: usize) -> Option<Row> {
        self.rows(at, 1).pop()
    }

    fn content(&mut self, at: usize, row: &Row) -> Result<Content<'_>, SessionError> {
        let before = self.rows(at.saturating_sub(ROWS_BEFORE), at.min(ROWS_BEFORE));
        let previous = before.iter().rev().find(|row| row.kind != RowKind::Meta).map(Previous::from);
        let blocks = self.transcript.message(row.id, self.max_text)?.blocks;
        let agents = calls(&blocks).filter_map(|call| {
            let agent = self.agents.iter().find(|agent| agent.tool_use_id.as_deref() == Some(call))?;
            Some((call.to_owned(), KnownAgent { agent_type: agent.agent_type.clone(), running: agent.running }))
        });
        Ok(Content { agents: agents.collect(), blocks: blocks.into(), previous, fence: None })
    }
}

/// How far back the previous visible row is looked for.
const ROWS_BEFORE: usize = 8;
/// Bytes of a transcript that are drawn at once.
const MAX_BYTES: u64 = 192 * 1024;

/// A drawn row of a transcript.
#[derive(Debug, Serialize)]
pub struct Drawn {
    at: usize,
    row: Row,
    /// What it shows; nothing if it is hidden.
    pub items: Vec<Item>,
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
struct Place<'a> {
    message: &'a Said<'a>,
    /// Its number, from 1.
    block: usize,
}

impl RenderRequest {
    /// Draws the first of its rows, as many as fit, with the subagents that they started.
    ///
    /// # Errors
    /// A message cannot be read.
    pub fn draw<R: Rows>(mut self, transcript: &mut R) -> Result<Vec<Drawn>, R::Error> {
        let (mut drawn, mut bytes) = (Vec::new(), 0_u64);
        for at in std::mem::take(&mut self.rows) {
            let Some(row) = transcript.row(at) else { break };
            bytes = bytes.saturating_add(row.bytes);
            if bytes > MAX_BYTES && !drawn.is_empty() {
                break;
            }
            let content = transcript.content(at, &row)?;
            let items = message::items(&Said { request: &self, row: &row, content: &content });
            drawn.push(Drawn { at, row, items });
        }
        Ok(drawn)
    }
}

impl Said<'_> {
    /// The subagent that a call started, if it is known.
    fn agent_of(&self, call: &str) -> Option<&KnownAgent> {
        let own = self.content.agents.iter().find(|(id, _)| id == call).map(|(_, agent)| agent);
        own.or_else(|| self.request.agents.get(call))
    }

    /// The first message of the subagent that a call started, if it is in the same file.
    fn sidechain_of(&self, call: &str) -> Option<u32> {
        let at = calls(&self.content.blocks).position(|id| id == call)?;
        self.row.tools.get(at)?.sidechain.map(NodeId::get)
    }
}

/// A text without terminal sequences.
#[must_use]
pub fn plain_text(text: &str) -> String {
    text::without_commands(text)
}

/// The lines of a text, as a transcript shows them.
#[must_use]
pub fn plain_lines(text: &str) -> Vec<String> {
    text::lines(text, Origin::Said)
}

/// A tool call in a few words: "Bash npm test"; a question to the user: itself.
pub(crate) fn call_in_words(block: &Block) -> Option<String> {
    let call = Call::of(block)?;
    let line = ToolLine::of(&call, &Around::default());
    let name = if call.name == "AskUserQuestion" { "" } else { &line.name };
    Some(format!("{name} {}", line.fitted()).trim().to_owned())
}

#[cfg(test)]
mod tests;
