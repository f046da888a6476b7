//! An agent's tool calls: assembles each from its updates and converts it to a transcript's shape.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{Diff, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind};
use claude_ide_session::{
    Block, FileChange, Hunk, Image, Location, LocationKind, Outcome, Part, Text, ToolResult, ToolStatus,
};
use serde_json::{Map, Value, json};

use super::content::{in_text, raw};
use crate::backend::Output;
use crate::event::Event;
use crate::json::text;
use crate::writes;

/// Longer results are cut.
const MAX_RESULT: usize = 1024 * 1024;
/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Limit of open calls, and of ended ones that are remembered. Beyond it the oldest is ended, or forgotten.
const MOST: usize = 4096;
/// Limit of files per call.
const MOST_PLACES: usize = 1000;
/// Files of a call that are kept before it writes them: each is read at once.
const MOST_KEPT: usize = 50;

/// All known calls, by id.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: HashMap<String, Open>,
    begun: u64,
    ended: Ended,
}

#[derive(Debug)]
struct Open {
    /// Its number among all calls.
    number: u64,
    call: ToolCall,
    /// The output of its command, if it comes beside the call's content.
    output: String,
}

/// Ended calls, and whether each failed.
#[derive(Debug, Default)]
struct Ended {
    failed: HashMap<String, bool>,
    order: VecDeque<String>,
}

impl Ended {
    fn push(&mut self, id: &str, is_error: bool) {
        if self.failed.insert(id.to_owned(), is_error).is_none() {
            self.order.push_back(id.to_owned());
        }
        if self.order.len() > MOST
            && let Some(first) = self.order.pop_front()
        {
            self.failed.remove(&first);
        }
    }
}

impl Calls {
    pub(super) fn begin(&mut self, call: ToolCall, out: &mut Output) {
        tell(&call, out);
        locate(&call, None, out);
        let known = self.open.remove(&*call.tool_call_id.0);
        let (number, mut output) = known.map_or_else(Default::default, |known| (Some(known.number), known.output));
        add_output(&mut output, call.meta.as_ref());
        self.settle_or_keep(call, number, output, out);
    }

    pub(super) fn update(&mut self, update: ToolCallUpdate, out: &mut Output) {
        let id = update.tool_call_id.0.to_string();
        let known = self.open.remove(&id);
        if let (None, Some(&has_failed)) = (&known, self.ended.failed.get(&id)) {
            return self.late(id, update, has_failed, out);
        }
        let (number, mut call, mut output) = match known {
            Some(Open { number, call, output }) => (Some(number), call, output),
            None => (None, ToolCall::new(id, String::new()), String::new()),
        };
        add_output(&mut output, update.meta.as_ref());
        let location_before = location(&call);
        let (name_before, place_before, places_before) = (name(&call), place(&call).cloned(), places(&call));
        // An input may be large, and most updates leave it alone: it is only rebuilt when it changed.
        let fields = &update.fields;
        let is_other = is_other(fields.raw_input.as_ref(), call.raw_input.as_ref())
            || is_other(fields.title.as_ref(), Some(&call.title))
            || is_other(fields.kind.as_ref(), Some(&call.kind));
        let input_before = is_other.then(|| input(&call));
        if let (Some(meta), known) = (update.meta, &mut call.meta) {
            known.get_or_insert_default().extend(meta);
        }
        call.update(update.fields);
        if name(&call) != name_before
            || place(&call) != place_before.as_ref()
            || places(&call) != places_before
            || input_before.is_some_and(|before| input(&call) != before)
        {
            tell(&call, out);
        }
        locate(&call, location_before, out);
        self.settle_or_keep(call, number, output, out);
    }

    /// Everything known of an open call.
    pub(super) fn known(&self, id: &str) -> Option<Value> {
        self.open.get(id).and_then(|open| serde_json::to_value(&open.call).ok())
    }

    /// An update of an ended call adds to its result. Some agents only repeat that it ended; that removes nothing.
    fn late(&mut self, id: String, update: ToolCallUpdate, has_failed: bool, out: &mut Output) {
        let mut call = ToolCall::new(id, String::new());
        let is_error = update.fields.status.map_or(has_failed, |status| status == ToolCallStatus::Failed);
        call.update(update.fields);
        if !call.content.is_empty() || call.raw_output.is_some() {
            self.end_one(&call, String::new(), is_error, out);
        }
    }

    fn end_one(&mut self, call: &ToolCall, output: String, is_error: bool, out: &mut Output) {
        let id = call.tool_call_id.0.to_string();
        self.ended.push(&id, is_error);
        let results = vec![(id, result(call, output, is_error))];
        out.emit(Event::Results { by: None, results, places: places(call) });
    }

    /// `number` is set if the call was open.
    fn settle_or_keep(&mut self, call: ToolCall, number: Option<u64>, output: String, out: &mut Output) {
        let is_error = match call.status {
            ToolCallStatus::Completed => false,
            ToolCallStatus::Failed => true,
            _ => {
                if self.open.len() >= MOST
                    && let Some(oldest) = self.open.iter().min_by_key(|(_, open)| open.number).map(|(id, _)| id.clone())
                    && let Some(Open { call, output, .. }) = self.open.remove(&oldest)
                {
                    self.end_one(&call, output, false, out);
                }
                let number = number.unwrap_or_else(|| {
                    self.begun = self.begun.saturating_add(1);
                    self.begun
                });
                self.open.insert(call.tool_call_id.0.to_string(), Open { number, call, output });
                return;
            }
        };
        self.end_one(&call, output, is_error, out);
    }

    /// Ends all open calls. Those with an unanswered permission (`unanswered`) did nothing.
    pub(super) fn end(&mut self, is_cancelled: bool, unanswered: &[String], out: &mut Output) {
        let mut open: Vec<Open> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_unstable_by_key(|open| open.number);
        for Open { call, output, .. } in open {
            let is_error = is_cancelled || unanswered.iter().any(|id| **id == *call.tool_call_id.0);
            self.end_one(&call, output, is_error, out);
        }
    }

    /// Emits a plan, in the shape of the CLI's to-do list.
    pub(super) fn plan(id: String, input: &Value, out: &mut Output) {
        said(id, "Plan".to_owned(), input, out);
    }

    /// Marks a plan as finished.
    pub(super) fn end_plan(id: String, out: &mut Output) {
        let done = ToolResult::default();
        out.emit(Event::Results { by: None, results: vec![(id, done)], places: Vec::new() });
    }
}

/// Emits where a call is, if it was elsewhere before.
fn locate(call: &ToolCall, before: Option<Location>, out: &mut Output) {
    if let Some(location) = location(call).filter(|location| Some(location) != before.as_ref()) {
        out.emit(Event::Located { call: call.tool_call_id.0.to_string(), location });
    }
}

/// Where a call is: the last location that it names. An agent adds one as it goes on.
fn location(call: &ToolCall) -> Option<Location> {
    let last = call.locations.last()?;
    let kind = match call.kind {
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => LocationKind::Edit,
        ToolKind::Search => LocationKind::Search,
        _ => LocationKind::Read,
    };
    let line = last.line.map(|line| line.max(1));
    Some(Location {
        path: last.path.to_string_lossy().into_owned(),
        kind,
        first: line.unwrap_or(1),
        last: line,
        said: None,
    })
}

/// Whether an update changes a value.
fn is_other<T: PartialEq>(new: Option<&T>, old: Option<&T>) -> bool {
    new.is_some() && new != old
}

/// Emits the visible parts of an open call.
fn tell(call: &ToolCall, out: &mut Output) {
    let (id, name, input) = (call.tool_call_id.0.to_string(), name(call), input(call));
    let argument = writes::path_of(&name, &input);
    let mut paths = places(call);
    paths.truncate(MOST_KEPT);
    paths.extend(argument.filter(|path| !paths.iter().any(|known| known == path)).map(str::to_owned));
    // The agent does not wait: they are kept as they are by then.
    if !paths.is_empty() {
        out.emit(Event::BeforeEdit { request: None, paths, call: Some(id.clone()) });
    }
    said(id, name, &input, out);
}

fn said(id: String, name: String, input: &Value, out: &mut Output) {
    let call = Block::ToolUse {
        id,
        name,
        input: raw(input).into(),
        status: ToolStatus::Running,
        start: None,
        end: None,
        background: false,
        inner: false,
        result: None,
    };
    out.emit(Event::said("reply", vec![call]));
}

/// The tool's own name if the agent sends it, else one derived from the call's kind.
fn name(call: &ToolCall) -> String {
    let own = call.meta.as_ref().and_then(|meta| meta.get("claudeCode")?.get("toolName")?.as_str());
    if let Some(own) = own.or(call.name.as_deref()).filter(|name| !name.is_empty()) {
        return own.to_owned();
    }
    let word = match call.kind {
        ToolKind::Read => "Read",
        ToolKind::Edit => "Edit",
        ToolKind::Delete => "Delete",
        ToolKind::Move => "Move",
        ToolKind::Search => "Search",
        ToolKind::Execute => "Execute",
        ToolKind::Think => "Think",
        ToolKind::Fetch => "Fetch",
        ToolKind::SwitchMode => "Mode",
        _ => "Tool",
    };
    word.to_owned()
}

/// Keeps the output that an agent sends beside a call's content, as Zed takes it: claude-agent-acp and codex-acp (2.6)
/// show a terminal of their own.
fn add_output(output: &mut String, meta: Option<&Map<String, Value>>) {
    let Some(meta) = meta else { return };
    let pieces = ["terminal_output", "terminal_output_delta"];
    for piece in pieces.iter().filter_map(|key| meta.get(*key)?.get("data")?.as_str()) {
        if output.len() < MAX_RESULT {
            output.push_str(piece);
        }
    }
}

/// The command that a call runs: a text, or a program and its arguments.
pub(super) fn command(input: &Value) -> Option<String> {
    let is_plain =
        |word: &str| !word.is_empty() && !word.contains(|one: char| one.is_whitespace() || "'\"\\".contains(one));
    let quoted = |word: &Value| match word.as_str() {
        Some(word) if is_plain(word) => word.to_owned(),
        Some(word) => format!("'{}'", word.replace('\'', "'\\''")),
        None => word.to_string(),
    };
    ["command", "cmd", "argv"].iter().find_map(|key| match input.get(*key)? {
        Value::Array(argv) if !argv.is_empty() => Some(argv.iter().map(quoted).collect::<Vec<_>>().join(" ")),
        command => text(Some(command)).filter(|command| !command.trim().is_empty()),
    })
}

/// The arguments, completed from title and locations. A command is always among them as `command`: it says more than
/// the places that it touches.
fn input(call: &ToolCall) -> Value {
    let mut fields = match &call.raw_input {
        Some(Value::Object(fields)) => fields.clone(),
        _ => Map::new(),
    };
    let runs = call.raw_input.as_ref().and_then(command);
    let has_command = runs.is_some();
    if let Some(command) = runs {
        fields.insert("command".to_owned(), json!(command));
    }
    if let Some(place) = place(call) {
        fields.insert("file_path".to_owned(), json!(place));
    }
    let is_telling = ["pattern", "url", "query", "description", "prompt", "questions", "plan", "file_path", "path"];
    let executes = call.kind == ToolKind::Execute;
    let is_told = has_command || !executes && is_telling.iter().any(|key| fields.contains_key(*key));
    if !call.title.is_empty() && !is_told {
        let key = if executes { "command" } else { "description" };
        fields.insert(key.to_owned(), json!(call.title));
    }
    Value::Object(fields)
}

/// The call's file, if the arguments do not name it. A command's places are not what it is about.
fn place(call: &ToolCall) -> Option<&PathBuf> {
    let says_where = |input: &Value| ["file_path", "path", "notebook_path"].iter().any(|key| input.get(key).is_some());
    if call.raw_input.as_ref().is_some_and(says_where) {
        return None;
    }
    let runs = call.kind == ToolKind::Execute || call.raw_input.as_ref().and_then(command).is_some();
    let located = call.locations.first().filter(|_| !runs).map(|location| &location.path);
    diffs(call).next().map(|diff| &diff.path).or(located)
}

/// Files that a call may change: those of its diffs, and its locations if it edits, deletes or moves.
fn places(call: &ToolCall) -> Vec<String> {
    let changes = matches!(call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
    let located = call.locations.iter().filter(|_| changes).map(|location| &location.path);
    let paths = diffs(call).map(|diff| &diff.path).chain(located).take(MOST_PLACES);
    let paths: BTreeSet<String> = paths.map(|path| path.to_string_lossy().into_owned()).collect();
    paths.into_iter().collect()
}

fn diffs(call: &ToolCall) -> impl Iterator<Item = &Diff> {
    call.content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(diff),
        _ => None,
    })
}

/// `output` stands where the call shows a terminal, which is not of this editor then.
fn result(call: &ToolCall, output: String, is_error: bool) -> ToolResult {
    let mut output = (!output.is_empty()).then_some(output);
    let shown = |content: &ToolCallContent| match (content, &mut output) {
        (ToolCallContent::Terminal(_), Some(_)) => output.take().map(|text| Part::Text(Text::cut(text, MAX_RESULT))),
        _ => part(content),
    };
    let mut content: Vec<Part> = call.content.iter().filter_map(shown).collect();
    content.extend(output.map(|text| Part::Text(Text::cut(text, MAX_RESULT))));
    if content.is_empty()
        && diffs(call).next().is_none()
        && let Some(output) = &call.raw_output
    {
        // OpenCode has it beside metadata.
        let said = output.as_str().or_else(|| output.get("output")?.as_str());
        let text = said.map_or_else(|| output.to_string(), str::to_owned);
        content.push(Part::Text(Text::cut(text, MAX_RESULT)));
    }
    // A failed or refused call too shows what it would have changed.
    let mut changes = diffs(call).take(MOST_PLACES).map(change);
    let outcome = changes.next().map(|first| Outcome::FileChange(FileChange { others: changes.collect(), ..first }));
    ToolResult { is_error, content, outcome, allowed_by: None }
}

fn change(diff: &Diff) -> FileChange {
    let hunk = hunk(diff.old_text.as_deref().unwrap_or_default(), &diff.new_text);
    let path = diff.path.to_string_lossy().into_owned();
    FileChange::new(path, diff.old_text.is_none(), false, hunk.into_iter().collect())
}

fn part(content: &ToolCallContent) -> Option<Part> {
    use agent_client_protocol_schema::v1::ContentBlock;
    match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Image(image) => {
                Some(Part::Image(Image { media_type: image.mime_type.clone(), encoded_bytes: image.data.len() }))
            }
            other => Some(Part::Text(Text::cut(in_text(other), MAX_RESULT))),
        },
        ToolCallContent::Terminal(terminal) => {
            Some(Part::Text(Text::cut(format!("(in the terminal {})", terminal.terminal_id.0), MAX_RESULT)))
        }
        _ => None,
    }
}

/// The difference of two texts as one hunk, with a few lines of context.
fn hunk(before: &str, after: &str) -> Option<Hunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()).saturating_sub(same);
    let behind = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len().saturating_sub(behind), new.len().saturating_sub(behind));
    if same == old_end && same == new_end {
        return None;
    }
    let first = same.saturating_sub(CONTEXT);
    let tail = behind.min(CONTEXT);
    let signed = |sign: char, lines: Option<&[&str]>| -> Vec<String> {
        lines.unwrap_or_default().iter().map(|line| format!("{sign}{line}")).collect()
    };
    let mut lines = signed(' ', old.get(first..same));
    lines.extend(signed('-', old.get(same..old_end)));
    lines.extend(signed('+', new.get(same..new_end)));
    lines.extend(signed(' ', old.get(old_end..old_end.saturating_add(tail))));
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Some(Hunk {
        old_start: number(first.saturating_add(1)),
        old_lines: number(old_end.saturating_add(tail).saturating_sub(first)),
        new_start: number(first.saturating_add(1)),
        new_lines: number(new_end.saturating_add(tail).saturating_sub(first)),
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_one_hunk_with_a_few_lines_of_context() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let found = hunk(before, "1\n2\n3\n4\nfive\nand\n6\n7\n8\n9\n").unwrap();
        assert_eq!(found.lines, [" 2", " 3", " 4", "-5", "+five", "+and", " 6", " 7", " 8"]);
        assert_eq!((found.old_start, found.old_lines, found.new_start, found.new_lines), (2, 7, 2, 8));
        assert!(hunk(before, before).is_none());
        assert_eq!(hunk("", "a\n").unwrap().lines, ["+a"]);
        assert_eq!(hunk("a\na\n", "a\n").unwrap().lines, [" a", "-a"]);
    }

    fn of(call: &Value) -> ToolCall {
        let mut whole = json!({"toolCallId":"c","title":""});
        whole.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn a_command_outranks_the_places_that_it_touches() {
        let place = json!([{"path":"/p/a.txt"}]);
        for (call, command) in [
            (
                json!({"title":"rm -rf a.txt","kind":"execute","name":"Bash","locations":place,
                "rawInput":{"command":"rm -rf a.txt","description":"x"}}),
                "rm -rf a.txt",
            ),
            (json!({"title":"rm a.txt","kind":"execute","locations":place}), "rm a.txt"),
            (json!({"title":"rm a.txt","kind":"execute","rawInput":{"description":"Tidies","path":"/p"}}), "rm a.txt"),
            (
                json!({"title":"Run","kind":"execute","rawInput":{"command":["bash","-lc","rm 'a b'"],"cwd":"/p"}}),
                r"bash -lc 'rm '\''a b'\'''",
            ),
            (json!({"title":"Looks","kind":"search","locations":place,"rawInput":{"cmd":"rg one"}}), "rg one"),
        ] {
            let input = input(&of(&call));
            assert_eq!((&input["command"], input.get("file_path")), (&json!(command), None));
        }
        assert_eq!(input(&of(&json!({"kind":"read","locations":place})))["file_path"], "/p/a.txt");
        let edit = json!({"kind":"edit","rawInput":{"command":"create"},
            "content":[{"type":"diff","path":"/p/b","oldText":null,"newText":"x"}]});
        assert_eq!(input(&of(&edit))["file_path"], "/p/b");
    }

    #[test]
    fn the_output_of_an_agents_own_terminal_stands_in_its_place() {
        let mut output = String::new();
        for (key, data) in [("terminal_output_delta", "one\n"), ("terminal_output", "two\n"), ("terminal_exit", "no")] {
            add_output(&mut output, json!({key:{"data":data}}).as_object());
        }
        add_output(&mut output, json!({"terminal_output":7}).as_object());
        let terminal = of(&json!({"kind":"execute","content":[{"type":"terminal","terminalId":"t"}]}));
        let texts = |call: &ToolCall, output: &str| -> Vec<String> {
            let text = |part: Part| match part {
                Part::Text(text) => text.text,
                other => panic!("{other:?}"),
            };
            result(call, output.to_owned(), false).content.into_iter().map(text).collect()
        };
        assert_eq!(texts(&terminal, &output), ["one\ntwo\n"]);
        assert_eq!(texts(&terminal, ""), ["(in the terminal t)"], "the editor puts its text there");
        assert_eq!(texts(&of(&json!({})), &output), ["one\ntwo\n"]);
        let raw = of(&json!({"rawOutput":{"output":"Edit applied","metadata":{"diff":"@@"}}}));
        assert_eq!(texts(&raw, ""), ["Edit applied"]);
    }

    #[test]
    fn the_end_of_a_huge_result_is_left_out_at_a_character() {
        let output = format!("x{}", "ä".repeat(MAX_RESULT));
        let content = result(&ToolCall::new("c", "Look").raw_output(Value::from(output)), String::new(), false).content;
        assert!(matches!(&content[..], [Part::Text(text)]
            if text.text.len() == MAX_RESULT - 1 && text.bytes == 2 * MAX_RESULT + 1));
    }
}
