//! Renders messages: lines with highlights, folds and targets. The only place that knows the titles of tool calls.
//! Transcripts, of files and of chats, export and page show the same items; each paints them itself.

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
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::error::SessionError;
use crate::index::{Row, RowKind};
use crate::message::Block;
use crate::time::Millis;
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
    /// The transcript that contains the messages.
    source: String,
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
    /// Subagents, by the call that started each.
    #[serde(default)]
    agents: HashMap<String, AgentView>,
}

/// A message and its surroundings.
#[derive(Debug, Deserialize)]
pub(crate) struct Said<'a> {
    id: u64,
    kind: RowKind,
    start: Option<Millis>,
    #[serde(default)]
    blocks: Cow<'a, [Block]>,
    /// The previous row.
    previous: Option<Previous>,
    branch: Option<BranchPlace>,
    /// Whether it continues the text of the previous row without a separating line.
    #[serde(default)]
    continues: bool,
    /// The code block that it then starts in.
    #[serde(default)]
    fence: Option<Fence>,
}

impl<'a> Said<'a> {
    fn of(row: &Row, content: Content<'a>) -> Self {
        Self {
            id: row.id.get().into(),
            kind: row.kind,
            start: row.start,
            blocks: content.blocks,
            previous: content.previous,
            branch: row
                .branch
                .as_ref()
                .map(|branch| BranchPlace { number: branch.number.into(), count: branch.siblings.len() }),
            continues: row.continues,
            fence: content.fence,
        }
    }

    fn is_hidden(&self) -> bool {
        self.kind == RowKind::Meta
    }
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
}

impl Rows for OfFile<'_> {
    type Error = SessionError;

    fn row(&mut self, at: usize) -> Option<Row> {
        self.transcript.rows(at, 1).pop()
    }

    fn content(&mut self, at: usize, row: &Row) -> Result<Content<'_>, SessionError> {
        let before = self.transcript.rows(at.saturating_sub(ROWS_BEFORE), at.min(ROWS_BEFORE));
        let previous = before.iter().rev().find(|row| row.kind != RowKind::Meta).map(Previous::from);
        let blocks = self.transcript.message(row.id, self.max_text)?.blocks;
        let agents = calls(&blocks).filter_map(|call| {
            let agent = self.agents.iter().find(|agent| agent.tool_use_id.as_deref() == Some(call))?;
            Some((call.to_owned(), KnownAgent { agent_type: agent.agent_type.clone(), running: agent.running }))
        });
        Ok(Content { agents: agents.collect(), blocks: blocks.into(), previous, fence: None })
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct BranchPlace {
    number: u64,
    count: usize,
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

/// A subagent within its session's transcript.
#[derive(Debug, Default, Deserialize)]
struct AgentView {
    /// `None` if it has no file of its own.
    agent: Option<KnownAgent>,
    #[serde(default)]
    open: bool,
    #[serde(default)]
    loading: bool,
    err: Option<String>,
    /// How many earlier messages are not shown.
    #[serde(default)]
    left_out: usize,
    /// The transcript that contains its messages.
    #[serde(default)]
    source: String,
    max_lines: Option<usize>,
    /// Its first message, if that is in the same file (older CLIs).
    sidechain: Option<u32>,
    #[serde(default)]
    rows: Vec<Said<'static>>,
}

/// A subagent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KnownAgent {
    /// "Explore", …
    pub agent_type: Option<String>,
    /// Whether it still works.
    pub running: bool,
}

impl AgentView {
    fn has_ended(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| !agent.running)
    }

    /// Its name, and how much of it can be shown.
    fn title(&self) -> String {
        let kind = self.agent.as_ref().and_then(|agent| agent.agent_type.as_deref());
        let name = kind.map_or_else(|| "Subagent".to_owned(), |kind| format!("Subagent {kind}"));
        let state = match (&self.err, self.rows.len()) {
            (Some(err), _) => err.clone(),
            _ if self.loading => "reading …".to_owned(),
            _ if !self.open => "Enter shows what it did".to_owned(),
            (_, 1) => "1 message".to_owned(),
            (_, rows) => format!("{rows} messages"),
        };
        let is_shown = self.open && self.err.is_none() && !self.loading;
        match self.left_out {
            left if left > 0 && is_shown => format!("{name} · {state} · {left} before: gf shows all"),
            _ => format!("{name} · {state}"),
        }
    }
}

/// State shared by the messages of one transcript.
struct Scene<'a> {
    request: &'a RenderRequest,
    source: String,
    max_lines: Option<usize>,
    of_agent: bool,
    ended: bool,
}

/// A block of the message being drawn.
struct Place<'a> {
    scene: &'a Scene<'a>,
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
            let mut content = transcript.content(at, &row)?;
            for (call, agent) in content.agents.drain(..) {
                self.agents.entry(call).or_insert(AgentView { agent: Some(agent), ..AgentView::default() });
            }
            for (call, tool) in calls(&content.blocks).zip(&row.tools) {
                if let Some(sidechain) = tool.sidechain {
                    self.agents.entry(call.to_owned()).or_default().sidechain = Some(sidechain.get());
                }
            }
            let items = self.items(&Said::of(&row, content));
            drawn.push(Drawn { at, row, items });
        }
        Ok(drawn)
    }

    /// A message as items; none if it is hidden.
    fn items(&self, message: &Said<'_>) -> Vec<Item> {
        let scene = Scene {
            request: self,
            source: self.source.clone(),
            max_lines: Some(self.max_lines),
            of_agent: self.of_agent,
            ended: self.ended,
        };
        message::items(message, &scene)
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
