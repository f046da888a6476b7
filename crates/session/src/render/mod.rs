//! Renders messages: lines with highlights, folds and targets. The only place that knows the titles of tool calls.
//! Transcript, export and page show the same items; each paints them itself.

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

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::error::SessionError;
use crate::id::NodeId;
use crate::index::{Row, RowKind};
use crate::message::Block;
use crate::time::Millis;
use crate::transcript::Transcript;

pub use clock::look_up_time_zone;
pub use growth::{Growth as TextGrowth, grow};
pub use item::{Chunk, Fence, Fold, Item, ItemKind, Look, Mark, OpenEnd, Prose, Target, To};

pub(crate) use markdown::Export;
use text::Origin;
pub(crate) use text::{head, one_line};
use tool::{Around, Call, ToolLine};

/// Messages of one transcript to render, with the state around them.
#[derive(Debug, Deserialize)]
pub struct RenderRequest {
    /// Rows of a transcript, whose messages are read from its file.
    #[serde(default)]
    rows: Vec<usize>,
    /// Messages of a chat.
    #[serde(default)]
    messages: Vec<Said>,
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
pub(crate) struct Said {
    id: u64,
    kind: RowKind,
    start: Option<Millis>,
    #[serde(default)]
    blocks: Vec<Block>,
    /// The previous row.
    previous: Option<Previous>,
    branch: Option<BranchPlace>,
    /// Whether it continues the text of the previous row without a separating line.
    #[serde(default)]
    continues: bool,
    /// The code block that it then starts in.
    fence: Option<Fence>,
    /// Full sizes in bytes of arguments that were cut, by block (from 1) and argument: "1/content",
    /// "1/edits/1/old_string".
    #[serde(default)]
    sizes: Sizes,
}

impl Said {
    /// The message of a transcript's row.
    fn read(transcript: &mut Transcript, at: usize, row: &Row, max_text: usize) -> Result<Self, SessionError> {
        let before = transcript.rows(at.saturating_sub(ROWS_BEFORE), at.min(ROWS_BEFORE));
        let previous = before.iter().rev().find(|row| row.kind != RowKind::Meta);
        Ok(Self {
            id: row.id.get().into(),
            kind: row.kind,
            start: row.start,
            blocks: transcript.message(row.id, max_text)?.blocks,
            previous: previous.map(|row| Previous { kind: row.kind, called: !row.tools.is_empty() }),
            branch: row
                .branch
                .as_ref()
                .map(|branch| BranchPlace { number: branch.number.into(), count: branch.siblings.len() }),
            continues: false,
            fence: None,
            sizes: Sizes::new(),
        })
    }

    fn is_hidden(&self) -> bool {
        self.kind == RowKind::Meta
    }
}

type Sizes = HashMap<String, usize>;

#[derive(Clone, Copy, Debug, Deserialize)]
struct Previous {
    kind: RowKind,
    #[serde(default)]
    called: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct BranchPlace {
    number: u64,
    count: usize,
}

/// How far back the previous visible row is looked for.
const ROWS_BEFORE: usize = 8;
/// Bytes of the file that are drawn at once.
const MAX_BYTES: u64 = 192 * 1024;

/// A drawn row of a transcript.
#[derive(Serialize)]
pub(crate) struct Drawn {
    at: usize,
    row: Row,
    items: Vec<Item>,
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
    rows: Vec<Said>,
}

#[derive(Debug, Deserialize)]
struct KnownAgent {
    agent_type: Option<String>,
    running: bool,
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
    message: &'a Said,
    /// Its number, from 1.
    block: usize,
}

impl RenderRequest {
    /// Draws the first of its rows, as many as fit: with the subagents that they started, each text cut to `max_text` bytes.
    pub(crate) fn draw(
        mut self,
        transcript: &mut Transcript,
        agents: &[Agent],
        max_text: usize,
    ) -> Result<Vec<Drawn>, SessionError> {
        let calls: HashMap<_, _> =
            agents.iter().filter_map(|agent| Some((agent.tool_use_id.as_deref()?, agent))).collect();
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for at in std::mem::take(&mut self.rows) {
            let Some(row) = transcript.rows(at, 1).pop() else { break };
            bytes += row.bytes;
            if bytes > MAX_BYTES && !rows.is_empty() {
                break;
            }
            let said = Said::read(transcript, at, &row, max_text)?;
            let calls_of = said.blocks.iter().filter_map(|block| match block {
                Block::ToolUse { id, .. } => Some(id),
                _ => None,
            });
            for (call, tool) in calls_of.zip(&row.tools) {
                let agent = calls
                    .get(call.as_str())
                    .map(|agent| KnownAgent { agent_type: agent.agent_type.clone(), running: agent.running });
                let sidechain = tool.sidechain.map(NodeId::get);
                if agent.is_some() || sidechain.is_some() {
                    let view = AgentView { agent, sidechain, ..AgentView::default() };
                    self.agents.entry(call.clone()).or_insert(view);
                }
            }
            self.messages.push(said);
            rows.push((at, row));
        }
        let items = render(&self);
        Ok(rows.into_iter().zip(items).map(|((at, row), items)| Drawn { at, row, items }).collect())
    }
}

/// Each message as items; none if it is hidden.
#[must_use]
pub fn render(request: &RenderRequest) -> Vec<Vec<Item>> {
    let scene = Scene {
        request,
        source: request.source.clone(),
        max_lines: Some(request.max_lines),
        of_agent: request.of_agent,
        ended: request.ended,
    };
    request.messages.iter().map(|message| message::items(message, &scene)).collect()
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
