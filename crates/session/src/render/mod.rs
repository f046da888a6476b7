//! Renders messages: lines with highlights, folds and targets. Neovim's transcripts, of files and of
//! chats, and the export show the same items; each paints them itself. The page draws lines itself (`web/draw.js`).

mod budget;
mod call;
mod clock;
mod fence;
mod growth;
mod item;
mod markdown;
mod message;
mod question;
mod said;
mod text;
mod tool;
mod tool_use;

use serde::Serialize;

use crate::agent::Agent;
use crate::error::SessionError;
use crate::index::Row;
use crate::message::Block;
use crate::model::RowKind;
use crate::transcript::Transcript;

pub use crate::text::head;
pub use clock::look_up_time_zone;
pub use fence::Fence;
pub use growth::{Growth as TextGrowth, grow};
pub use item::{Chunk, Fold, Item, ItemKind, Look, Mark, OpenEnd, Prose, Target, To};

pub(crate) use markdown::Export;
use said::Said;
pub use said::{Content, KnownAgent, Previous, RenderRequest, calls};
use text::Origin;
pub(crate) use text::{fit_by, one_line, with_unseen_marked};
use tool::{Around, ToolLine};
use tool_use::Call;

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
