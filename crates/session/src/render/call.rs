//! Renders a tool call: one line, and folded below it its arguments and result.

use serde_json::Value as Json;

use super::budget::Budget;
use super::item::{BODY, Chunk, Item, ItemKind, Look, To};
use super::question;
use super::said::{KnownAgent, Place};
use super::text::{Origin, cut_note, left_note, line, lines, size, summary, with_unseen_marked};
use super::tool::{Around, ToolLine, first_line, shown_path};
use super::tool_use::Call;
use crate::message::{Image, Part, ToolResult};
use crate::tool_result::{FileChange, Hunk};

/// Shorter diffs are open at first.
const OPEN_DIFF: usize = 40;
/// Indents of a call, and of one that a script made.
const OUTER: &str = "  ";
const INNER: &str = "    ";
/// At most this many edits of one call are shown.
const MOST_EDITS: usize = 200;
/// At most this many arguments are looked at.
const MOST_NAMES: usize = 200;

struct Drawn<'a> {
    call: &'a Call<'a>,
    line: &'a ToolLine,
    place: &'a Place<'a>,
    around: Around<'a>,
}

pub(super) fn item(call: &Call<'_>, place: &Place<'_>) -> Item {
    let request = place.message.request;
    let around = Around {
        cwd: request.cwd.as_deref(),
        home: request.home.as_deref(),
        is_ended: request.ended || place.message.agent_of(call.id).is_some_and(|agent| !agent.running),
        waits: &request.waits,
    };
    let line = ToolLine::of(call, &around);
    let key = if call.id.is_empty() { place.block.to_string() } else { call.id.to_owned() };
    let mut item = Item::new(ItemKind::Tool, format!("tool:{key}"));
    item.chunks(&whole(&line));
    let drawn = Drawn { call, line: &line, place, around };
    let closed = drawn.add_to(&mut item);
    item.fold("call", 0, closed, left_of(&line), right_of(&line));
    item
}

fn left_of(line: &ToolLine) -> Vec<Chunk> {
    let argument = super::text::fit(&with_unseen_marked(&line.argument), super::tool::MOST_CELLS);
    let argument = if argument.is_empty() { argument } else { format!(" {argument}") };
    let indent = if line.inner { INNER } else { OUTER };
    let mut chunks =
        vec![Chunk::new(format!("{indent}{}", line.name), Look::Tool), Chunk::new(argument, Look::Argument)];
    match counts_of(&line.detail) {
        Some((added, removed, rest)) => chunks.extend([
            Chunk::new(format!(" {added}"), Look::AddedCount),
            Chunk::new(format!(" {removed}"), Look::RemovedCount),
            Chunk::new(rest, Look::Dim),
        ]),
        None if line.detail.is_empty() => {}
        None => chunks.push(Chunk::new(format!("  {}", line.detail), Look::Dim)),
    }
    chunks
}

/// Splits "+3 −1, changed by you" into the two counts and the rest.
fn counts_of(detail: &str) -> Option<(&str, &str, &str)> {
    let (added, rest) = detail.split_once(' ').filter(|(added, _)| added.starts_with('+'))?;
    let digits = rest.strip_prefix('−')?.bytes().take_while(u8::is_ascii_digit).count();
    let (removed, rest) = rest.split_at_checked('−'.len_utf8() + digits)?;
    Some((added, removed, rest))
}

fn right_of(line: &ToolLine) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    if !line.asked.is_empty() {
        chunks.push(Chunk::new(format!("({}) ", line.asked), Look::Dim));
    }
    chunks.push(Chunk::new(line.standing.words, line.standing.look));
    chunks.push(match line.duration.as_str() {
        "" => Chunk::new(" ".repeat(8), Look::Plain),
        duration => Chunk::new(format!(" {duration:>7}"), Look::Dim),
    });
    chunks
}

fn whole(line: &ToolLine) -> Vec<Chunk> {
    let mut chunks = left_of(line);
    chunks.push(Chunk::new(" · ", Look::Dim));
    chunks.push(Chunk::new(line.standing.words, line.standing.look));
    if !line.duration.is_empty() {
        let asked = if line.asked.is_empty() { String::new() } else { format!(" ({})", line.asked) };
        chunks.push(Chunk::new(format!(" · {}{asked}", line.duration), Look::Dim));
    }
    chunks
}

impl Drawn<'_> {
    /// Adds the lines below the first and their targets. Returns whether the item is folded at first.
    fn add_to(&self, item: &mut Item) -> bool {
        if self.call.is_edit() {
            return self.add_edit(item);
        }
        let (agent, sidechain) =
            (self.place.message.agent_of(self.call.id), self.place.message.sidechain_of(self.call.id));
        if agent.is_some() || sidechain.is_some() {
            return self.add_agent(item, agent, sidechain);
        }
        match question::questions_of(self.call) {
            Some(questions) => {
                if !question::add(item, &questions, BODY) {
                    self.add_result(item, None);
                }
            }
            None => {
                self.add_input(item);
                self.add_result(item, None);
            }
        }
        if let Some(path) = &self.line.path {
            item.lead(0, 0, To::File { path: path.clone(), lnum: self.line.lnum });
        }
        true
    }

    fn add_edit(&self, item: &mut Item) -> bool {
        item.edit = true;
        self.add_diff(item);
        for change in self.call.change().map_or(&[][..], |change| &change.others) {
            self.add_other(item, change);
        }
        let mut closed = item.lines.len() > OPEN_DIFF;
        if let Some(result) = self.call.result.filter(|result| result.is_error) {
            add_parts(item, result, self.place, None);
            closed = true;
        }
        let edit = To::Edit { tool_id: self.call.id.to_owned(), path: self.line.path.clone(), lnum: self.line.lnum };
        item.lead(0, item.lines.len() - 1, edit);
        closed
    }

    fn add_diff(&self, item: &mut Item) {
        if let Some(change) = self.call.change().filter(|change| !change.hunks.is_empty()) {
            return add_hunks(item, change);
        }
        let mut budget = Budget::default();
        let edits = match self.call.input.get("edits") {
            _ if self.call.text("content").is_some() => return self.add_signed(item, "content", "+", &mut budget),
            Some(Json::Array(edits)) => edits.len(),
            Some(Json::Object(_)) => 0,
            _ => {
                self.add_signed(item, "old_string", "-", &mut budget);
                return self.add_signed(item, "new_string", "+", &mut budget);
            }
        };
        for at in 1..=edits.min(MOST_EDITS) {
            self.add_signed(item, &format!("edits/{at}/old_string"), "-", &mut budget);
            self.add_signed(item, &format!("edits/{at}/new_string"), "+", &mut budget);
        }
        if edits > MOST_EDITS {
            item.note(Some(&format!("… {} more edits", edits - MOST_EDITS)), BODY);
        }
    }

    fn add_signed(&self, item: &mut Item, name: &str, sign: &str, budget: &mut Budget) {
        let Some(text) = self.call.text(name).filter(|text| !text.is_empty()) else { return };
        let raw = |text: &str| match text {
            "" => Vec::new(),
            _ => text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::to_owned).collect(),
        };
        let (lines, note) = budget.lines(text, raw);
        for line in lines {
            add_diff_line(item, &line, sign);
        }
        item.note(note.as_deref(), BODY);
    }

    /// Adds another file of a call that changed several, with its name.
    fn add_other(&self, item: &mut Item, change: &FileChange) {
        let first = item.indented(&line(&shown_path(&change.path, &self.around)), Look::Notice, BODY);
        add_hunks(item, change);
        let to = To::File { path: change.path.clone(), lnum: first_line(change) };
        item.lead(first, item.lines.len() - 1, to);
    }

    /// Adds a subagent's line; the client shows its messages below. Returns whether the item is folded at first.
    fn add_agent(&self, item: &mut Item, agent: Option<&KnownAgent>, sidechain: Option<u32>) -> bool {
        let is_open = self.place.message.request.open.contains(self.call.id);
        let to = |call| To::Agent { tool_id: self.call.id.to_owned(), call, sidechain };
        item.lead(0, 0, to(true));
        let kind = agent.and_then(|agent| agent.agent_type.as_deref());
        let name = kind.map_or_else(|| "Subagent".to_owned(), |kind| format!("Subagent {kind}"));
        let title = if is_open { name } else { format!("{name} · Enter shows what it did") };
        let row = item.indented(&title, Look::Agent, BODY);
        item.lead(row, row, to(false));
        if !is_open {
            self.add_input(item);
        }
        self.add_result(item, Some("markdown"));
        !is_open
    }

    /// Adds the result, after an empty line if anything precedes it.
    fn add_result(&self, item: &mut Item, language: Option<&'static str>) {
        let Some(result) = self.call.result else { return };
        if item.lines.len() > 1 && !result.content.is_empty() {
            item.line("", Look::Plain, 0);
        }
        add_parts(item, result, self.place, language);
    }

    /// Adds the arguments that the first line does not show.
    fn add_input(&self, item: &mut Item) {
        let input = self.call.input;
        let mut budget = Budget::default();
        if let Some(command) = self.call.text("command") {
            let (lines, note) = budget.lines(command, said);
            item.code = note.is_none().then(|| command.to_owned());
            let is_cut = self.line.argument.ends_with('…') || self.line.fitted() != self.line.argument;
            if lines.len() > 1 || note.is_some() || is_cut {
                self.add_argument(item, "command", (&lines, note), Look::Input, Some("sh"));
            }
        } else if let Some(plan) = self.call.text("plan") {
            let (lines, note) = budget.lines(plan, said);
            self.add_argument(item, "plan", (&lines, note), Look::Plain, Some("markdown"));
        } else if let Some(prompt) = self.call.text("prompt").filter(|_| input.get("subagent_type").is_some()) {
            let (lines, note) = budget.lines(prompt, said);
            self.add_argument(item, "prompt", (&lines, note), Look::Input, None);
        } else if let Some(todos) =
            input.get("todos").filter(|todos| todos.is_array() && matches!(self.call.name, "TodoWrite" | "Plan"))
        {
            self.add_todos(item, todos.as_array().map_or(&[], Vec::as_slice));
        } else {
            self.add_arguments(item, &mut budget);
        }
    }

    fn add_argument(
        &self,
        item: &mut Item,
        name: &str,
        (lines, note): (&[String], Option<String>),
        look: Look,
        language: Option<&'static str>,
    ) {
        item.block(lines, BODY, look, language);
        item.more(self.place, note.as_deref(), BODY, Some(name));
    }

    fn add_todos(&self, item: &mut Item, todos: &[Json]) {
        for todo in todos.iter().take(MOST_NAMES).filter(|todo| todo.is_object()) {
            let text = |name: &str| todo.get(name).and_then(Json::as_str).unwrap_or_default();
            let (sign, look) = match text("status") {
                "completed" => ("[x]", Look::Dim),
                "in_progress" => ("[-]", Look::Input),
                _ => ("[ ]", Look::Input),
            };
            item.indented(&format!("{sign} {}", summary(text("content"))), look, BODY);
        }
        let left = left_note(todos.len().saturating_sub(MOST_NAMES), 0);
        item.more(self.place, left.as_deref(), BODY, Some("todos"));
    }

    fn add_arguments(&self, item: &mut Item, budget: &mut Budget) {
        let arguments = self.call.arguments();
        for (name, value) in arguments.iter().take(MOST_NAMES) {
            let (shown, cut) = match value {
                Json::String(text) => (text.clone(), None),
                _ => budget.json(value),
            };
            let (lines, note) = budget.lines(&shown, said);
            let note = cut.or(note);
            let label = format!("{}{}:", " ".repeat(BODY), summary(name));
            let is_said = note.is_none() && (self.line.path.is_some() || self.line.argument.contains(&summary(&shown)));
            match lines.as_slice() {
                [line] if !is_said => {
                    let row = item.line(format!("{label} {line}"), Look::Plain, 0);
                    item.mark(row, Look::Dim, BODY, Some(label.len()));
                }
                [] | [_] if note.is_none() => {}
                lines => {
                    item.line(label, Look::Dim, BODY);
                    item.block(lines, BODY + 2, Look::Input, None);
                }
            }
            item.more(self.place, note.as_deref(), BODY + 2, Some(name));
        }
        let more = arguments.len().saturating_sub(MOST_NAMES);
        if more > 0 {
            item.note(Some(&format!("… {more} more arguments")), BODY);
        }
    }
}

fn said(text: &str) -> Vec<String> {
    lines(text, Origin::Said)
}

fn add_diff_line(item: &mut Item, text: &str, sign: &str) {
    let row = item.line(format!("{}{sign}{}", " ".repeat(BODY), line(text)), Look::Plain, 0);
    match sign {
        "+" => item.mark_line(row, Look::Added, BODY),
        "-" => item.mark_line(row, Look::Removed, BODY),
        _ => {}
    }
}

/// The header of a hunk of a unified diff.
pub(super) fn hunk_header(hunk: &Hunk) -> String {
    format!("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines)
}

fn add_hunks(item: &mut Item, change: &FileChange) {
    for hunk in &change.hunks {
        item.indented(&hunk_header(hunk), Look::Hunk, BODY);
        for line in &hunk.lines {
            let sign = line.chars().next().map_or(0, char::len_utf8);
            let (sign, text) = line.split_at(sign);
            add_diff_line(item, text, sign);
        }
    }
    item.note(left_note(change.left_out, 0).as_deref(), BODY);
}

/// The placeholder of an image.
pub(super) fn image(image: &Image) -> String {
    let kind = match image.media_type.as_str() {
        "" => "unknown type",
        kind => kind.strip_prefix("image/").unwrap_or(kind),
    };
    format!("[image, {kind}, {}]", size(image.encoded_bytes * 3 / 4))
}

/// Adds the content of a result.
pub(super) fn add_parts(item: &mut Item, result: &ToolResult, place: &Place<'_>, language: Option<&'static str>) {
    let look = match language {
        Some(_) => Look::Plain,
        None if result.is_error => Look::Error,
        None => Look::Result,
    };
    for part in &result.content {
        match part {
            Part::Text(text) => {
                let shown = text.text.replace("<tool_use_error>", "").replace("</tool_use_error>", "");
                let left = item.block(&lines(&shown, Origin::Terminal), BODY, look, language);
                let note = cut_note(text).or_else(|| left_note(left, 0));
                item.more(place, note.as_deref(), BODY, None);
            }
            Part::Image(part) => {
                item.indented(&image(part), Look::Image, BODY);
            }
            Part::Unknown { raw } => {
                let raw: Json = serde_json::from_str(raw.get()).unwrap_or_default();
                let kind = raw.get("type").and_then(Json::as_str).unwrap_or("unknown");
                item.indented(&format!("[{kind}]"), Look::Dim, BODY);
            }
        }
    }
}
