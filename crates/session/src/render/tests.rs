//! Rendered conversations: messages as JSON, and the resulting lines.

use serde_json::{Value as Json, json};

use super::*;
use crate::id::NodeId;
use crate::message::{Part, ToolResult};
use crate::model::ToolStatus;
use crate::stream_line::Spoken;
use crate::text::Text;
use crate::tool_result::{FileChange, Hunk, Outcome};

fn spoken(block: &Json, record: &Json) -> Spoken {
    let line = json!({"message": {"content": [block]}, "toolUseResult": record}).to_string();
    Spoken::parse(line.as_bytes(), usize::MAX).unwrap()
}

/// A block as the CLI writes it. The status of a call, its times and its result (`content`, `record`) are of other lines.
fn block(json: &Json) -> Block {
    fn of<T: serde::de::DeserializeOwned>(field: &Json) -> Option<T> {
        serde_json::from_value(field.clone()).ok()
    }
    let mut block = spoken(json, &Json::Null).blocks.remove(0);
    if let Block::ToolUse { status, start, end, background, result, .. } = &mut block {
        (*start, *end, *background) = (of(&json["start"]), of(&json["end"]), json["background"] == true);
        *status = of(&json["status"]).unwrap_or(ToolStatus::Running);
        *result = json["result"].as_object().map(|ended| {
            let content = ended.get("content").cloned().unwrap_or_else(|| json!([]));
            let line = json!({"type": "tool_result", "tool_use_id": "t", "content": content});
            Box::new(spoken(&line, &json["result"]["record"]).results.remove(0).1)
        });
    }
    block
}

pub(super) fn blocks(json: &Json) -> Vec<Block> {
    json.as_array().unwrap().iter().map(block).collect()
}

fn drawn(kind: RowKind, blocks: Vec<Block>, previous: Option<Previous>, more: &Json) -> Vec<Item> {
    let mut request = json!({"cwd": "/p", "home": "/home/me", "max_lines": 1000, "ended": true});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let request: RenderRequest = serde_json::from_value(request).unwrap();
    let row = Row {
        id: NodeId::from_number(7),
        kind,
        start: None,
        end: None,
        model: None,
        usage: None,
        tools: Vec::new(),
        branch: None,
        bytes: 0,
        continues: false,
    };
    let content = Content { blocks: blocks.into(), previous, fence: None, agents: Vec::new() };
    message::items(&Said { request: &request, row: &row, content: &content })
}

fn text_of(items: &[Item]) -> String {
    items.iter().flat_map(|item| &item.lines).cloned().collect::<Vec<_>>().join("\n")
}

/// The single item of a call.
fn item(call: Block, around: &Json) -> Item {
    let previous = Some(Previous { kind: RowKind::Reply, called: true });
    let mut items = drawn(RowKind::Reply, vec![call], previous, around);
    assert_eq!(items.len(), 1);
    items.remove(0)
}

fn call_block(name: &str, input: Json, more: Json) -> Block {
    let mut call = json!({"type": "tool_use", "id": "t", "name": name, "input": input, "status": "done"});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    block(&call)
}

fn call(name: &str, input: Json, more: Json, around: Json) -> Item {
    item(call_block(name, input, more), &around)
}

/// A call with a result as the library has it.
fn ended(name: &str, input: Json, given: ToolResult) -> Item {
    let mut call = call_block(name, input, json!({}));
    if let Block::ToolUse { result, .. } = &mut call {
        *result = Some(Box::new(given));
    }
    item(call, &json!({}))
}

/// Renders consecutive messages.
fn conversation(messages: &[(RowKind, Json)]) -> String {
    let mut previous = None;
    let mut text = Vec::new();
    for (kind, said) in messages {
        let said = match said {
            Json::String(text) => json!([{"type": "text", "text": text}]),
            blocks => blocks.clone(),
        };
        let blocks = blocks(&said);
        let called = calls(&blocks).next().is_some();
        let items = drawn(*kind, blocks, previous, &json!({}));
        if !items.is_empty() {
            text.push(text_of(&items));
        }
        if *kind != RowKind::Meta {
            previous = Some(Previous { kind: *kind, called });
        }
    }
    text.join("\n")
}

#[test]
fn everything_has_its_place() {
    use RowKind::{Command, Compaction, Interrupted, Meta, Output, Prompt, Reply, Summary};
    let tool = |name: &str, input: Json, status: &str, result: Json| json!([{"type": "tool_use", "id": name, "name": name, "input": input, "status": status, "start": 0, "end": 300, "result": result}]);
    let said = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let written = "one\ntwo\n";
    let created = json!({"type": "create", "filePath": "/p/new.txt", "content": written, "structuredPatch": []});
    let picture = json!({"media_type": "image/png", "data": "A".repeat(4000)});
    let text = conversation(&[
        (Prompt, json!([{"type": "image", "source": picture}, {"type": "text", "text": "See this"}])),
        (Reply, json!([{"type": "from_the_future"}, {"type": "text", "text": "Seen."}])),
        (Meta, json!("<system-reminder>hidden</system-reminder>")),
        (
            Reply,
            tool("Write", json!({"file_path": "/p/new.txt", "content": written}), "done", json!({"record": created})),
        ),
        (Reply, tool("Bash", json!({"command": "rm -rf /"}), "rejected", said("The user doesn't want to."))),
        (Interrupted, json!("[Request interrupted by user for tool use]")),
        (Reply, tool("mcp__ide__getDiagnostics", json!({"uri": "file:///a"}), "running", Json::Null)),
        (Compaction, json!("Conversation compacted")),
        (Summary, json!("We wrote new.txt.")),
        (Command, json!("<command-name>/model</command-name>\n<command-args>opus</command-args>")),
        (Output, json!("<local-command-stdout>Set model</local-command-stdout>")),
        (Command, json!("<command-name>/clear</command-name>")),
        (Prompt, json!("<ide_selection>\nx = 1\n</ide_selection>")),
    ]);
    assert_eq!(
        text,
        "\
You
  [image, png, 3.0 kB]

See this

Claude
  Unknown: from_the_future
    {\"type\":\"from_the_future\"}

Seen.

  Write new.txt  new, +2 · ok · 0.3 s
    +one
    +two
  Bash rm -rf / · rejected · 0.3 s
    The user doesn't want to.

  Interrupted by you

Claude
  ide: getDiagnostics file:///a · no result

── Conversation compacted

  Summary of what came before
    We wrote new.txt.

You
/model opus
  Set model

── /clear

You
  ide selection
    x = 1"
    );
}

#[test]
fn claudes_question_is_shown_with_its_answer() {
    let options = json!([{"label": "Red", "description": "as fire"}, {"label": "Blue"}]);
    let questions = json!({"questions": [{"question": "Which colour?", "options": options}]});
    let record = json!({"answers": {"Which colour?": "Blue"}});
    let item = call("AskUserQuestion", questions, json!({"result": {"record": record}}), json!({}));
    #[rustfmt::skip]
    let expected = [
        "  AskUserQuestion Which colour? → Blue · ok",
        "    Which colour?", "      - Red: as fire", "      - Blue", "    → Blue",
    ];
    assert_eq!(item.lines, expected);
    let unanswered = json!({"result": {"content": [{"type": "text", "text": "Answered: no"}]}});
    let item = call("AskUserQuestion", json!({"questions": [{"header": "Older"}]}), unanswered, json!({}));
    assert_eq!(item.lines[1..], ["    Answered: no"]);
}

#[test]
fn an_edit_has_colours_to_the_edge_and_leads_to_its_file() {
    let lines = || [" a", "-b", "+c"].map(str::to_owned).into();
    let hunk = || Hunk { old_start: 9, old_lines: 2, new_start: 9, new_lines: 2, lines: lines() };
    let change = |path: &str| FileChange::new(path.to_owned(), false, false, vec![hunk()]);
    let both = FileChange { others: vec![change("/p/b.lua")], ..change("/p/a.lua") };
    let result = ToolResult { outcome: Some(Outcome::FileChange(both)), ..ToolResult::default() };
    let item = ended("Edit", json!({"file_path": "/p/a.lua"}), result);
    assert_eq!(item.lines[0], "  Edit a.lua +1 −1, and 1 more file · ok");
    assert_eq!(item.lines[2..5], ["     a", "    -b", "    +c"]);
    let to_the_edge = |row: usize, group| {
        item.marks.iter().any(|mark| (mark.row, mark.group, mark.col, mark.eol) == (row, group, 4, true))
    };
    assert!(item.edit && to_the_edge(3, Look::Removed) && to_the_edge(4, Look::Added));
    let first_of =
        |row: usize| &item.targets.iter().find(|target| (target.first..=target.last).contains(&row)).unwrap().to;
    let edit = To::Edit { tool_id: "t".into(), path: Some("/p/a.lua".into()), lnum: Some(9) };
    assert_eq!((first_of(0), first_of(4)), (&edit, &edit));
    assert_eq!(first_of(6), &To::File { path: "/p/b.lua".into(), lnum: Some(9) });
    assert!(!item.folds[0].closed, "it is short");
}

#[test]
fn marks_are_bytes_of_their_line() {
    let item = call("Bash", json!({"command": "echo ä"}), json!({"start": 0, "end": 1200}), json!({}));
    let line = &item.lines[0];
    let marked: Vec<(&str, Look)> =
        item.marks.iter().map(|mark| (line.get(mark.col..mark.end_col.unwrap()).unwrap(), mark.group)).collect();
    let expected = [
        ("  Bash", Look::Tool),
        (" echo ä", Look::Argument),
        (" · ", Look::Dim),
        ("ok", Look::Ok),
        (" · 1.2 s", Look::Dim),
    ];
    assert_eq!(marked, expected);
}

#[test]
fn a_long_text_is_cut_and_links_to_the_whole() {
    let rows = "row\n".repeat(1005);
    let content = vec![Part::Text(Text { bytes: rows.len() + 5000, text: rows })];
    let item = ended("Bash", json!({"command": "seq"}), ToolResult { content, ..ToolResult::default() });
    assert_eq!(item.lines.len(), 1002);
    assert_eq!(item.lines[1001], "    … 5.0 kB more · Enter shows it all");
    let more = To::More { message: 7, block: 1, argument: None };
    assert_eq!(item.targets, [Target { first: 1001, last: 1001, to: more }]);
}

#[test]
fn a_null_byte_beside_a_carriage_return_is_shown() {
    let result = json!({"result": {"content": [{"type": "text", "text": "10%\u{0}\r20%"}]}});
    assert_eq!(call("Bash", json!({"command": "x"}), result, json!({})).lines[1], "    20%^@");
}

#[test]
fn a_subagent_has_a_line_within_its_call() {
    let started = |open: Json| {
        let agents = json!({"t": {"agent_type": "Explore", "running": false}});
        let input = json!({"description": "look around", "prompt": "Look.", "subagent_type": "Explore"});
        let result = json!({"status": "running", "result": {"content": "Done."}});
        call("Agent", input, result, json!({"ended": false, "agents": agents, "open": open}))
    };
    let (closed, open) = (started(json!([])), started(json!(["t"])));
    assert_eq!(closed.lines[0], "  Agent look around · no result", "it ended, whatever its call says");
    let title = "    Subagent Explore · Enter shows what it did";
    assert_eq!(closed.lines[1..], [title, "    Look.", "", "    Done."]);
    assert_eq!(open.lines[1..], ["    Subagent Explore", "", "    Done."], "what it was asked is its first message");
    assert!(closed.folds[0].closed && !open.folds[0].closed);
    let line = To::Agent { tool_id: "t".into(), call: false, sidechain: None };
    assert!(open.targets.contains(&Target { first: 1, last: 1, to: line }));
}

#[test]
fn waits_for_the_user_are_distinguished() {
    let took = |start: i64, end: i64, background: bool, waits: Json| {
        let more = json!({"start": start, "end": end, "background": background});
        call("Bash", json!({"command": "make"}), more, json!({"waits": waits})).lines.remove(0)
    };
    let waits = json!([[200, 3200], [4100, 6100]]);
    assert_eq!(took(0, 4000, false, waits.clone()), "  Bash make · ok · 1.0 s (+3.0 s asked)");
    assert_eq!(took(0, 7000, false, waits.clone()), "  Bash make · ok · 2.0 s (+5.0 s asked)");
    assert_eq!(took(0, 1000, false, waits.clone()), "  Bash make · ok · 1.0 s", "it was not the one asked for");
    assert_eq!(took(0, 7000, true, waits), "  Bash make · ok · 7.0 s", "it went on meanwhile");
    assert_eq!(took(0, 7000, false, json!([])), "  Bash make · ok · 7.0 s");
}

#[test]
fn a_text_may_go_on_at_its_last_line() {
    let open_end = |kind| {
        let blocks = blocks(&json!([{"type": "text", "text": "one\n\ntwo"}]));
        drawn(kind, blocks, None, &json!({})).pop().unwrap().open_end
    };
    assert_eq!(open_end(RowKind::Reply), Some(OpenEnd { first: 2, tail: "two".into(), bytes: 8 }));
    assert_eq!(open_end(RowKind::Prompt), None);
}
