//! The transcript of a chat, in memory: what the agent's events say, with the user's prompts and the editor's notices.
//!
//! A row is a block, so that a growing text is the last row; a text of more than 48 KiB continues in the next one. It
//! is drawn like a file's ([`Rows`]). Invariant: an event costs what it adds.

mod growing;
mod request;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use claude_ide_session::render::{Content, Fence, KnownAgent, Previous, Rows, calls, head};
use claude_ide_session::{
    Arguments, Block, Message, Millis, Name, NodeId, Outcome, Part, Row, RowKind, Text, ToolResult, ToolRow,
    ToolStatus, Usage,
};
use serde::Serialize;

use crate::event::{Event, TextKind, TurnEnd};
use crate::settings::{SettingKind, SettingValue};
use growing::{Growing, Limits};
pub use request::TranscriptRequest;

/// Messages from this number on are a chat's; no file has as many.
const FIRST_ID: u32 = 1 << 31;
/// Bytes of a text that are handled together.
const PIECE: usize = 4 * 1024;
/// Results are cut to this length; a line below shows the rest.
const MAX_RESULT: usize = 16 * 1024;
/// Size of a row without a text, roughly.
const CALL_BYTES: u64 = 1024;
/// A longer text is not blank.
const MAX_BLANK: usize = 256;
/// The number of no streamed block.
const WHOLE: u64 = u64::MAX;

/// A change.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Change {
    /// The last text grew.
    Appended {
        /// The added text.
        appended: String,
        /// Bytes of the whole text.
        bytes: usize,
    },
    /// Rows changed.
    Rows {
        /// All rows from here on.
        from: usize,
        /// How many there are.
        len: usize,
        /// Rows before, in order.
        changed: BTreeSet<usize>,
    },
}

/// Changes that were not asked for yet. The text grew before the rows changed.
#[derive(Debug, Default)]
struct Changes {
    appended: Option<(usize, String)>,
    from: Option<usize>,
    changed: BTreeSet<usize>,
}

impl Changes {
    fn rows_from(&mut self, from: usize) {
        self.appended.take_if(|(row, _)| *row >= from);
        self.from = Some(self.from.map_or(from, |before| before.min(from)));
    }

    fn row(&mut self, row: usize) {
        self.changed.insert(row);
    }

    fn appended(&mut self, row: usize, text: &str) {
        match &mut self.appended {
            _ if self.from.is_some_and(|from| from <= row) => {}
            Some((last, before)) if *last == row => before.push_str(text),
            Some(_) => self.rows_from(row),
            None => self.appended = Some((row, text.to_owned())),
        }
    }
}

/// A row and its message.
#[derive(Debug)]
struct Held {
    kind: RowKind,
    block: Block,
    /// A prompt's images.
    images: Vec<Block>,
    start: Millis,
    /// Of a prompt.
    uuid: Option<String>,
    model: Option<Name>,
    usage: Option<Usage>,
    /// Not complete yet.
    partial: bool,
    /// The streamed block of a text.
    key: Option<u64>,
    end: Growing,
    /// Whether its text continues that of the row before, other than after an empty line.
    continues: bool,
    /// The code block that it then begins in.
    fence: Option<Fence>,
}

impl Held {
    fn new(kind: RowKind, block: Block, start: Millis) -> Self {
        Self {
            kind,
            block,
            images: Vec::new(),
            start,
            uuid: None,
            model: None,
            usage: None,
            partial: false,
            key: None,
            end: Growing::default(),
            continues: false,
            fence: None,
        }
    }

    fn text(&self) -> Option<&str> {
        match &self.block {
            Block::Text(text) | Block::Thinking(text) => Some(&text.text),
            _ => None,
        }
    }

    fn is_call(&self) -> bool {
        matches!(self.block, Block::ToolUse { .. })
    }

    /// Its blocks, with each text of a result cut.
    fn blocks(&self, max_result: usize) -> Cow<'_, [Block]> {
        let is_long = |part: &Part| matches!(part, Part::Text(text) if text.text.len() > max_result);
        let is_cut = match &self.block {
            Block::ToolUse { result: Some(result), .. } => result.content.iter().any(is_long),
            _ => false,
        };
        if self.images.is_empty() && !is_cut {
            return std::slice::from_ref(&self.block).into();
        }
        let mut block = self.block.clone();
        if let Block::ToolUse { result, .. } = &mut block {
            *result = result.take().map(|result| Box::new(result.cut(max_result)));
        }
        std::iter::once(block).chain(self.images.iter().cloned()).collect()
    }
}

fn kind_of(block: &Block) -> Option<TextKind> {
    match block {
        Block::Text(_) => Some(TextKind::Text),
        Block::Thinking(_) => Some(TextKind::Thinking),
        _ => None,
    }
}

fn text_block(kind: TextKind, text: &str) -> Block {
    let text = Text { text: text.to_owned(), bytes: text.len() };
    match kind {
        TextKind::Text => Block::Text(text),
        TextKind::Thinking => Block::Thinking(text),
    }
}

/// The transcript of a chat.
#[derive(Debug, Default)]
pub struct ChatTranscript {
    /// The agent's name.
    speaker: String,
    /// The editor's time.
    now: Millis,
    limits: Limits,
    rows: Vec<Held>,
    /// Rows of calls, by id.
    calls: HashMap<String, usize>,
    /// Subagents, by the call that started each.
    agents: HashMap<String, KnownAgent>,
    /// Calls that the user denied, or changed.
    refused: HashMap<String, ToolStatus>,
    /// Background tasks: the call that started each.
    tasks: HashMap<String, Option<String>>,
    greeted: bool,
    /// Its row: no answer, though it may come after the first prompt.
    greeting: Option<usize>,
    /// The model of the current reply.
    model: Option<Name>,
    /// The one that is set.
    chosen_model: Option<Name>,
    last_reply: Option<Row>,
    changes: Changes,
}

impl ChatTranscript {
    /// Names the agent that its next events are of.
    pub fn begin(&mut self, speaker: String) {
        self.speaker = speaker;
    }

    /// Sets the time of what follows.
    pub fn set_time(&mut self, now: Millis) {
        self.now = now;
    }

    /// Handles an event of the agent. Those of subagents are read from their files.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Begins { by: Some(_), .. }
            | Event::Text { by: Some(_), .. }
            | Event::Calling { by: Some(_), .. }
            | Event::Said { by: Some(_), .. }
            | Event::Results { by: Some(_), .. } => {}
            Event::Greeted { text, .. } if !self.greeted => {
                self.greeted = true;
                self.greeting = Some(self.rows.len());
                self.put(RowKind::Notice, &text);
            }
            Event::Begins { model, .. } => self.model = model.as_deref().map(Name::new),
            Event::Text { block, kind, text, .. } => self.append(block, kind, &text),
            Event::Calling { id, name, .. } => self.calling(id, name),
            Event::Void => self.void(),
            Event::Said { kind, blocks, model, usage, .. } => {
                let text = match blocks.first() {
                    Some(Block::Text(text)) => text.text.clone(),
                    _ => String::new(),
                };
                match kind {
                    "reply" => self.said(RowKind::Reply, blocks, model.as_deref(), usage),
                    "output" => self.said(RowKind::Output, blocks, model.as_deref(), usage),
                    "prompt" => self.put(RowKind::Prompt, &text),
                    "command_output" => self.put(RowKind::Output, &text),
                    "interrupted" => self.put(RowKind::Interrupted, ""),
                    _ => {}
                }
            }
            Event::Results { results, .. } => self.results(results),
            Event::Turn { outcome, words } => self.turn(outcome, words.as_deref()),
            Event::Compacted => self.put(RowKind::Compaction, ""),
            Event::TaskStarted { id, call, .. } => {
                self.tasks.insert(id, call);
            }
            Event::TaskEnded { id, call, is_done } => {
                let started = self.tasks.remove(&id).flatten();
                if let Some(call) = call.or(started) {
                    self.background_over(&call, is_done);
                }
            }
            Event::Usage { used: Some(used), .. } => self.replied(Some(used), self.chosen_model.clone()),
            Event::Settings { settings } => {
                let model = settings.into_iter().find(|setting| setting.kind == SettingKind::Model);
                self.chosen_model = match model.and_then(|setting| setting.value) {
                    Some(SettingValue::Name(name)) => Some(Name::new(&name)),
                    _ => None,
                };
            }
            Event::Notice { text } | Event::Failed { text } => self.put(RowKind::Notice, &text),
            Event::Ended { .. } => self.ended(),
            _ => {}
        }
    }

    /// The next change since the last calls; `None`: no more.
    pub fn change(&mut self) -> Option<Change> {
        if let Some((row, appended)) = self.changes.appended.take() {
            let bytes = self.rows.get(row).and_then(Held::text).map_or(0, str::len);
            return Some(Change::Appended { appended, bytes });
        }
        let Changes { from, changed, .. } = std::mem::take(&mut self.changes);
        let len = self.rows.len();
        let first = from.unwrap_or(len).min(len);
        let changed: BTreeSet<_> = changed.into_iter().filter(|row| *row < first).collect();
        (from.is_some() || !changed.is_empty()).then_some(Change::Rows { from: first, len, changed })
    }

    fn add(&mut self, held: Held) -> usize {
        self.rows.push(held);
        self.rows.len() - 1
    }

    fn put_held(&mut self, held: Held) {
        self.settle();
        let row = self.add(held);
        self.changes.rows_from(row);
    }

    /// Adds a complete message: a prompt, a notice, a rule.
    fn put(&mut self, kind: RowKind, text: &str) {
        self.put_held(Held::new(kind, text_block(TextKind::Text, text), self.now));
    }

    /// Marks incomplete messages as complete: nothing will follow.
    fn settle(&mut self) {
        for held in self.rows.iter_mut().rev().take_while(|held| held.partial) {
            held.partial = false;
        }
    }

    /// Appends to a text.
    fn append(&mut self, key: u64, kind: TextKind, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, _) = head(rest, PIECE);
            self.append_piece(key, kind, piece);
            rest = rest.strip_prefix(piece).unwrap_or_default();
        }
    }

    fn append_piece(&mut self, key: u64, kind: TextKind, piece: &str) {
        let row = self.rows.len().saturating_sub(1);
        let last = self.rows.last_mut().filter(|last| last.partial && last.key == Some(key));
        let Some(last) = last else {
            return self.begin_text(key, kind, piece, None);
        };
        if last.end.cut.is_some() {
            let before = last.end.clone();
            return self.begin_text(key, kind, piece, Some(&before));
        }
        let is_verbatim = kind == TextKind::Thinking;
        let (Block::Text(text) | Block::Thinking(text)) = &mut last.block else { return };
        let cut = last.end.cut(text.bytes, piece, is_verbatim, self.limits);
        let (first, rest) = cut.and_then(|cut| piece.split_at_checked(cut.at)).unwrap_or((piece, ""));
        text.text.push_str(first);
        text.bytes = text.text.len();
        if !is_verbatim {
            last.end.follow(first);
        }
        last.end.cut = cut;
        self.changes.appended(row, first);
        if !rest.is_empty() {
            self.append_piece(key, kind, rest);
        }
    }

    /// Begins a text's row, which may continue the row before.
    fn begin_text(&mut self, key: u64, kind: TextKind, text: &str, before: Option<&Growing>) {
        let mut held = Held::new(RowKind::Reply, text_block(kind, text), self.now);
        held.end = before.map(Growing::after).unwrap_or_default();
        if before.is_some_and(|before| before.cut.is_none_or(|cut| !cut.is_gap)) {
            (held.continues, held.fence) = (true, held.end.fence.clone());
        }
        (held.partial, held.key) = (true, Some(key));
        held.model.clone_from(&self.model);
        if kind == TextKind::Text {
            held.end.follow(text);
        }
        let row = self.add(held);
        self.changes.rows_from(row);
    }

    /// Adds a call whose arguments are incomplete.
    fn calling(&mut self, id: String, name: String) {
        if self.calls.contains_key(&id) {
            return;
        }
        let block = Block::ToolUse {
            id: id.clone(),
            name,
            input: Arguments::none(),
            status: ToolStatus::Running,
            start: Some(self.now),
            end: None,
            background: false,
            inner: false,
            result: None,
        };
        let row =
            self.add(Held { partial: true, model: self.model.clone(), ..Held::new(RowKind::Reply, block, self.now) });
        self.calls.insert(id, row);
        self.changes.rows_from(row);
    }

    /// Removes incomplete messages.
    fn void(&mut self) {
        while let Some(held) = self.rows.pop_if(|held| held.partial) {
            if let Block::ToolUse { id, .. } = held.block {
                self.calls.remove(&id);
            }
        }
        self.changes.rows_from(self.rows.len());
    }

    /// Handles complete blocks.
    fn said(&mut self, kind: RowKind, blocks: Vec<Block>, model: Option<&str>, usage: Option<Usage>) {
        let model = model.map(Name::new);
        for block in blocks {
            if let Some(text) = kind_of(&block) {
                self.say_text(kind, text, block, model.as_ref(), usage);
            } else {
                self.say_block(kind, block, model.clone(), usage);
            }
        }
        if usage.is_some() {
            self.replied(usage, model);
        }
    }

    fn say_block(&mut self, kind: RowKind, mut said: Block, model: Option<Name>, usage: Option<Usage>) {
        let mut call = None;
        if let Block::ToolUse { id, name, input, start, .. } = &mut said {
            let row = self.calls.get(id.as_str()).copied();
            if let Some((row, held)) = row.and_then(|row| Some((row, self.rows.get_mut(row)?))) {
                if let Block::ToolUse { name: name_before, input: input_before, .. } = &mut held.block {
                    std::mem::swap(name_before, name);
                    std::mem::swap(input_before, input);
                }
                (held.partial, held.usage) = (false, usage);
                return self.changes.row(row);
            }
            *start = Some(self.now);
            call = Some(id.clone());
        }
        let row = self.add(Held { model, usage, ..Held::new(kind, said, self.now) });
        if let Some(call) = call {
            self.calls.insert(call, row);
        }
        self.changes.rows_from(row);
    }

    /// The first row of a streamed text, and whether it equals `text`.
    fn streamed(&self, kind: TextKind, text: &str) -> (usize, bool) {
        let is_of_it = |held: &&Held| held.partial && kind_of(&held.block) == Some(kind);
        let first = self.rows.len() - self.rows.iter().rev().take_while(is_of_it).count();
        let streamed = self.rows.iter().skip(first).filter_map(Held::text);
        let left = streamed.into_iter().try_fold(text, |left, part| left.strip_prefix(part));
        (first, left == Some(""))
    }

    fn say_text(&mut self, kind: RowKind, text: TextKind, said: Block, model: Option<&Name>, usage: Option<Usage>) {
        let (Block::Text(whole) | Block::Thinking(whole)) = &said else { return };
        let (first, is_same) = self.streamed(text, &whole.text);
        let count = self.rows.len();
        if first < count && is_same {
            for held in self.rows.iter_mut().skip(first) {
                (held.partial, held.usage) = (false, usage);
            }
            return;
        }
        self.rows.truncate(first);
        if first < count {
            self.changes.rows_from(first);
        }
        if whole.text.trim().is_empty() {
            return;
        }
        if kind == RowKind::Reply && whole.text.len() > self.limits.most {
            // As many rows as if it had been streamed.
            let current = std::mem::replace(&mut self.model, model.cloned());
            self.append(WHOLE, text, &whole.text);
            self.model = current;
            for held in self.rows.iter_mut().skip(first) {
                (held.partial, held.key, held.usage) = (false, None, usage);
            }
        } else {
            self.add(Held { model: model.cloned(), usage, ..Held::new(kind, said, self.now) });
        }
        self.changes.rows_from(first);
    }

    fn replied(&mut self, usage: Option<Usage>, model: Option<Name>) {
        let row =
            row_of(0, &Held { model, usage, ..Held::new(RowKind::Reply, text_block(TextKind::Text, ""), self.now) });
        self.last_reply = Some(row);
    }

    /// Handles ended calls. A call that only started a background task ends with it.
    fn results(&mut self, results: Vec<(String, ToolResult)>) {
        for (call, its) in results {
            let refused = self.refused.get(&call).copied();
            let Some((row, held)) = self.calls.get(&call).and_then(|row| Some((*row, self.rows.get_mut(*row)?))) else {
                continue;
            };
            if let Block::ToolUse { status, end, background, result, .. } = &mut held.block {
                *background = matches!(its.outcome, Some(Outcome::Launch { .. })) && !its.is_error;
                if !*background {
                    let own = if its.is_error { ToolStatus::Failed } else { ToolStatus::Done };
                    (*status, *end) = (refused.unwrap_or(own), Some(self.now));
                }
                *result = Some(Box::new(its));
            }
            self.changes.row(row);
        }
    }

    /// Handles the end of a call's background task: it may be reported twice, and again if the task was resumed.
    fn background_over(&mut self, call: &str, is_done: bool) {
        let over = if is_done { ToolStatus::Done } else { ToolStatus::Failed };
        let Some(row) = self.calls.get(call).copied() else { return };
        if let Some(Block::ToolUse { status, end, background: true, .. }) =
            self.rows.get_mut(row).map(|held| &mut held.block)
            && *status != over
        {
            (*status, *end) = (over, Some(self.now));
            self.changes.row(row);
        }
    }

    /// Replaces a text of a result: a terminal's text is in the terminal.
    fn replace_result(&mut self, call: &str, part: usize, text: String) {
        let Some(row) = self.calls.get(call).copied() else { return };
        if let Some(Block::ToolUse { result: Some(result), .. }) = self.rows.get_mut(row).map(|held| &mut held.block)
            && let Some(part) = result.content.get_mut(part)
        {
            *part = Part::Text(Text { bytes: text.len(), text });
            self.changes.row(row);
        }
    }

    /// The text of the last reply, after its last call.
    fn last_answer(&self) -> String {
        let calls = self.rows.iter().rposition(Held::is_call).map_or(0, |call| call + 1);
        let is_text = |held: &&Held| held.kind == RowKind::Reply && kind_of(&held.block) == Some(TextKind::Text);
        let texts = self.rows.iter().skip(calls).filter(is_text);
        let mut answer = String::new();
        let mut is_cut = true;
        for held in texts {
            answer.push_str(if is_cut { "" } else { "\n" });
            answer.push_str(held.text().unwrap_or_default());
            is_cut = held.end.cut.is_some();
        }
        answer
    }

    /// Whether there was visible output since the last prompt.
    fn is_answered(&self) -> bool {
        for (row, held) in self.rows.iter().enumerate().rev() {
            if held.kind == RowKind::Prompt {
                return false;
            }
            if Some(row) == self.greeting {
                continue;
            }
            let is_said = match &held.block {
                Block::Text(text) => text.bytes > MAX_BLANK || !text.text.trim().is_empty(),
                _ => held.is_call(),
            };
            if held.kind != RowKind::Reply || is_said {
                return true;
            }
        }
        true
    }

    /// A turn ends with a visible word on why, unless an answer, the agent's own words or the user's interruption say it.
    fn turn(&mut self, outcome: TurnEnd, words: Option<&str>) {
        self.settle();
        let is_greeted = self.greeting.is_some_and(|row| row.saturating_add(1) == self.rows.len());
        let is_said = self.rows.last().is_some_and(|last| match last.kind {
            RowKind::Output | RowKind::Interrupted => true,
            RowKind::Notice if !is_greeted => {
                words.is_none_or(|words| last.text().is_some_and(|notice| notice.contains(words)))
            }
            _ => false,
        });
        if outcome == TurnEnd::Failed && !is_said {
            self.put(RowKind::Notice, words.unwrap_or("The turn failed."));
        } else if outcome != TurnEnd::Aborted && !self.is_answered() {
            self.put(RowKind::Notice, &format!("{} ended its turn without a word.", self.speaker));
        }
    }

    /// The process is gone: running calls are void, and the next one may use their ids again.
    fn ended(&mut self) {
        self.settle();
        for (row, held) in self.rows.iter_mut().enumerate() {
            if let Block::ToolUse { status: status @ ToolStatus::Running, .. } = &mut held.block {
                *status = ToolStatus::Void;
                self.changes.row(row);
            }
        }
        self.refused.clear();
        self.tasks.clear();
        self.chosen_model = None;
    }

    /// Learns the subagents. A call that started a new one is drawn with it.
    fn link(&mut self, agents: HashMap<String, KnownAgent>) {
        for call in agents.keys().filter(|call| !self.agents.contains_key(*call)) {
            if let Some(row) = self.calls.get(call) {
                self.changes.row(*row);
            }
        }
        self.agents = agents;
    }

    fn message(&self, id: u32, max_result: usize) -> Option<Message> {
        let at = usize::try_from(id.checked_sub(FIRST_ID)?).ok()?;
        let held = self.rows.get(at)?;
        let blocks = held.blocks(max_result).into_owned();
        Some(Message { id: NodeId::from_number(id), kind: held.kind, start: Some(held.start), end: None, blocks })
    }
}

fn row_of(at: usize, held: &Held) -> Row {
    let tools = match &held.block {
        Block::ToolUse { name, status, start, end, background, .. } => vec![ToolRow {
            name: Name::new(name),
            status: *status,
            start: *start,
            end: *end,
            background: *background,
            sidechain: None,
        }],
        _ => Vec::new(),
    };
    let number = u32::try_from(at).ok().and_then(|at| FIRST_ID.checked_add(at)).unwrap_or(u32::MAX);
    Row {
        id: NodeId::from_number(number),
        kind: held.kind,
        start: Some(held.start),
        end: None,
        model: held.model.clone(),
        usage: held.usage,
        tools,
        branch: None,
        bytes: held.text().and_then(|text| u64::try_from(text.len()).ok()).unwrap_or(CALL_BYTES),
        continues: held.continues,
    }
}

/// The rows, below those of the resumed session.
struct Below<'a> {
    transcript: &'a ChatTranscript,
    /// The last visible row above.
    above: Option<Previous>,
}

impl Rows for Below<'_> {
    type Error = std::convert::Infallible;

    fn row(&mut self, at: usize) -> Option<Row> {
        self.transcript.rows.get(at).map(|held| row_of(at, held))
    }

    fn content(&mut self, at: usize, _row: &Row) -> Result<Content<'_>, Self::Error> {
        let previous = at.checked_sub(1).and_then(|before| self.row(before));
        let held = self.transcript.rows.get(at);
        let blocks = held.map(|held| held.blocks(MAX_RESULT)).unwrap_or_default();
        let agents =
            calls(&blocks).filter_map(|call| Some((call.to_owned(), self.transcript.agents.get(call)?.clone())));
        Ok(Content {
            agents: agents.collect(),
            previous: previous.as_ref().map(Previous::from).or(self.above),
            fence: held.and_then(|held| held.fence.clone()),
            blocks,
        })
    }
}

#[cfg(test)]
mod tests;
