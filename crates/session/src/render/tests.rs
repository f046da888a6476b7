//! Rendered conversations: messages as JSON, and the resulting lines.

use serde_json::{Value as Json, json};

use super::*;

fn drawn(message: Json, more: Json) -> Vec<Item> {
    let mut request = json!({"cwd": "/p", "home": "/home/me", "source": "/s.jsonl", "max_lines": 1000, "ended": true});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    // Parsed from text: raw JSON does not survive a `Value`.
    let request: RenderRequest = serde_json::from_str(&request.to_string()).unwrap();
    request.items(&serde_json::from_str(&message.to_string()).unwrap())
}

fn text_of(items: &[Item]) -> String {
    items.iter().flat_map(|item| &item.lines).cloned().collect::<Vec<_>>().join("\n")
}

/// The single item of a call.
fn call(name: &str, input: Json, more: Json, around: Json) -> Item {
    let mut block = json!({"type": "tool_use", "id": "t", "name": name, "input": input, "status": "done"});
    block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let message = json!({"id": 7, "kind": "reply", "blocks": [block], "previous": {"kind": "reply", "called": true}});
    let mut items = drawn(message, around);
    assert_eq!(items.len(), 1);
    items.remove(0)
}

/// Renders consecutive messages.
fn conversation(messages: &[(&str, Json)]) -> String {
    let mut previous = None;
    let mut text = Vec::new();
    for (at, (kind, blocks)) in messages.iter().enumerate() {
        let blocks = match blocks {
            Json::String(text) => json!([{"type": "text", "text": text}]),
            blocks => blocks.clone(),
        };
        let called = blocks.as_array().unwrap().iter().any(|block| block["type"] == "tool_use");
        let mut message = json!({"id": at, "kind": kind, "blocks": blocks});
        if let Some(previous) = &previous {
            message["previous"] = Json::clone(previous);
        }
        let items = drawn(message, json!({}));
        if !items.is_empty() {
            text.push(text_of(&items));
        }
        if *kind != "meta" {
            previous = Some(json!({"kind": kind, "called": called}));
        }
    }
    text.join("\n")
}

#[test]
fn everything_has_its_place() {
    let tool = |name: &str, input: Json, status: &str, result: Json| json!([{"type": "tool_use", "id": name, "name": name, "input": input, "status": status, "start": 0, "end": 300, "result": result}]);
    let said = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let created = json!({"type": "file_change", "path": "/p/new.txt", "created": true});
    let text = conversation(&[
        (
            "prompt",
            json!([{"type": "image", "media_type": "image/png", "encoded_bytes": 4000}, {"type": "text", "text": "See this"}]),
        ),
        ("reply", json!([{"type": "odd", "raw": {"type": "from_the_future"}}, {"type": "text", "text": "Seen."}])),
        ("meta", json!("<system-reminder>hidden</system-reminder>")),
        (
            "reply",
            tool(
                "Write",
                json!({"file_path": "/p/new.txt", "content": "one\ntwo\n"}),
                "done",
                json!({"outcome": created}),
            ),
        ),
        ("reply", tool("Bash", json!({"command": "rm -rf /"}), "rejected", said("The user doesn't want to."))),
        ("interrupted", json!("[Request interrupted by user for tool use]")),
        ("reply", tool("mcp__ide__getDiagnostics", json!({"uri": "file:///a"}), "running", Json::Null)),
        ("compaction", json!("Conversation compacted")),
        ("summary", json!("We wrote new.txt.")),
        ("command", json!("<command-name>/model</command-name>\n<command-args>opus</command-args>")),
        ("output", json!("<local-command-stdout>Set model</local-command-stdout>")),
        ("command", json!("<command-name>/clear</command-name>")),
        ("prompt", json!("<ide_selection>\nx = 1\n</ide_selection>")),
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
    let outcome = json!({"type": "other", "raw": {"answers": {"Which colour?": "Blue"}}});
    let item = call("AskUserQuestion", questions, json!({"result": {"outcome": outcome}}), json!({}));
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
    let hunk = json!({"old_start": 9, "old_lines": 2, "new_start": 9, "new_lines": 2, "lines": [" a", "-b", "+c"]});
    let change = |path: &str| json!({"type": "file_change", "path": path, "added": 1, "removed": 1, "hunks": [hunk]});
    let mut outcome = change("/p/a.lua");
    outcome["others"] = json!([change("/p/b.lua")]);
    let item = call("Edit", json!({"file_path": "/p/a.lua"}), json!({"result": {"outcome": outcome}}), json!({}));
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
    let result = json!({"result": {"content": [{"type": "text", "text": rows, "bytes": rows.len() + 5000}]}});
    let item = call("Bash", json!({"command": "seq"}), result, json!({}));
    assert_eq!(item.lines.len(), 1002);
    assert_eq!(item.lines[1001], "    … 5.0 kB more · Enter shows it all");
    let more = To::More { source: "/s.jsonl".into(), message: 7, block: 1, argument: None };
    assert_eq!(item.targets, [Target { first: 1001, last: 1001, to: more }]);
}

#[test]
fn a_null_byte_beside_a_carriage_return_is_shown() {
    let result = json!({"result": {"content": [{"type": "text", "text": "10%\u{0}\r20%"}]}});
    assert_eq!(call("Bash", json!({"command": "x"}), result, json!({})).lines[1], "    20%^@");
}

#[test]
fn a_subagent_is_shown_within_its_call() {
    let started = |more: Json| {
        let mut view = json!({"agent": {"agent_type": "Explore", "running": false}, "source": "/a.jsonl"});
        view.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let input = json!({"description": "look around", "prompt": "Look.", "subagent_type": "Explore"});
        call("Agent", input, json!({"status": "running"}), json!({"ended": false, "agents": {"t": view}}))
    };
    let closed = started(json!({}));
    assert_eq!(closed.lines[0], "  Agent look around · no result", "it ended, whatever its call says");
    assert_eq!(closed.lines[1..], ["    Subagent Explore · Enter shows what it did", "    Look."]);
    let grep = json!({"type": "tool_use", "id": "g", "name": "Grep", "input": {"pattern": "TODO", "path": "src"}, "status": "done",
        "result": {"content": [{"type": "text", "text": "src/a.lua"}]}});
    let rows = json!([
        {"id": 1, "kind": "prompt", "blocks": [{"type": "text", "text": "Look."}]},
        {"id": 2, "kind": "reply", "blocks": [grep], "previous": {"kind": "prompt"}},
    ]);
    let open = started(json!({"open": true, "left_out": 3, "rows": rows}));
    #[rustfmt::skip]
    let expected = [
        "    Subagent Explore · 2 messages · 3 before: gf shows all",
        "    Claude asks", "    Look.", "", "    Subagent", "      Grep TODO in src · ok", "        src/a.lua",
    ];
    assert_eq!(open.lines[1..], expected);
    let folds: Vec<_> = open.folds.iter().map(|fold| (fold.key.as_str(), fold.first, fold.last, fold.closed)).collect();
    assert_eq!(folds, [("2:tool:g/call", 6, 7, true), ("agent", 1, 7, false), ("call", 0, 7, false)]);
    let grep = open.marks.iter().find(|mark| mark.row == 6 && mark.group == Look::Tool).unwrap();
    assert_eq!((grep.col, grep.end_col), (4, Some(10)));
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
    let message = |kind: &str| json!({"id": 1, "kind": kind, "blocks": [{"type": "text", "text": "one\n\ntwo"}]});
    let open_end = |kind| drawn(message(kind), json!({})).pop().unwrap().open_end;
    assert_eq!(open_end("reply"), Some(OpenEnd { first: 2, tail: "two".into(), bytes: 8 }));
    assert_eq!(open_end("prompt"), None);
}
