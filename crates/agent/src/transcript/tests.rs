//! What a chat's transcript holds and shows, event by event.

use serde_json::{Value as Json, json};

use super::*;
use claude_ide_session::Spoken;

fn transcript(split_at: usize, most: usize) -> ChatTranscript {
    ChatTranscript { limits: Limits { split_at, most }, speaker: "Claude".to_owned(), ..ChatTranscript::default() }
}

fn ask(transcript: &mut ChatTranscript, request: &Json) -> Json {
    transcript.answer(serde_json::from_str(&request.to_string()).unwrap())
}

/// All rows as lines.
fn shown(transcript: &mut ChatTranscript) -> Vec<String> {
    let rows: Vec<usize> = (0..transcript.rows.len()).collect();
    let mut lines = Vec::new();
    for row in rows {
        let request = json!({"rows": [row], "max_lines": 1_000_000});
        let drawn = ask(transcript, &json!({"draw": {"request": request, "above": null}}));
        for item in drawn[0]["items"].as_array().unwrap() {
            lines.extend(item["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()));
        }
    }
    lines
}

fn text(text: &str) -> Event {
    Event::Text { by: None, block: 1, kind: TextKind::Text, text: text.to_owned() }
}

fn thought(text: &str) -> Event {
    Event::Text { by: None, block: 1, kind: TextKind::Thinking, text: text.to_owned() }
}

fn said(block: Block) -> Event {
    let usage = Some(Usage { output: 1, ..Usage::default() });
    Event::Said { by: None, kind: "reply", blocks: vec![block], model: None, usage }
}

fn call(id: &str, input: &Json) -> Block {
    let block = json!({"type": "tool_use", "id": id, "name": "Bash", "input": input});
    let line = json!({"message": {"content": [block]}}).to_string();
    Spoken::parse(line.as_bytes(), usize::MAX).unwrap().blocks.remove(0)
}

fn result(id: &str, result: ToolResult) -> Event {
    Event::Results { by: None, results: vec![(id.to_owned(), result)], places: Vec::new() }
}

fn calling(id: &str) -> Event {
    Event::Calling { by: None, id: id.to_owned(), name: "Bash".to_owned() }
}

fn put(transcript: &mut ChatTranscript, kind: &str, text: &str) {
    ask(transcript, &json!({"put": {"kind": kind, "text": text}}));
}

fn status(transcript: &mut ChatTranscript, row: usize) -> String {
    let rows = ask(transcript, &json!({"rows": {"from": row, "count": 1}}));
    rows[0]["tools"][0]["status"].as_str().unwrap().to_owned()
}

fn texts(transcript: &ChatTranscript) -> Vec<&str> {
    transcript.rows.iter().filter_map(Held::text).collect()
}

fn rows(from: usize, len: usize, changed: &[usize]) -> Option<Change> {
    Some(Change::Rows { from, len, changed: changed.iter().copied().collect() })
}

fn long_texts() -> Vec<(&'static str, String)> {
    let code: String = (0..400).map(|number| format!("local value_{number} = compute({number}) -- a note\n")).collect();
    vec![
        ("code", format!("Look:\n\n```lua\n{code}```\n\nThat is *all*.\n\n{}", "And more.\n".repeat(300))),
        ("gaps", format!("~~~~ lua\n{}~~~~\nDone.", "local one\n\n\n  return\n   \n\t\n```\n".repeat(200))),
        ("prose", "- a **point** of a list\n".repeat(600)),
        ("returns", format!("```\r\n{}```\r\nend\r\n", "one\r\ntwo\r\n\r\n".repeat(500))),
        ("blank", format!("```\n{0}x\n{0}```\n", "\n".repeat(3000))),
        ("colours", format!("```\n{}```\n", "one\n\u{1b}[0m\n\n".repeat(600))),
        ("both", "```lua\nreturn 1\n```\n\nsome *prose* that\ngoes on\n\n".repeat(150)),
    ]
}

/// Pieces of 1 to 200 bytes, always the same ones.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest, mut turn) = (Vec::new(), text, 7_usize);
    while !rest.is_empty() {
        turn = turn.wrapping_mul(31).wrapping_add(11) % 1_009;
        let (piece, behind) = rest.split_at(rest.len().min([1, 3, 20, 200][turn % 4]));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

#[test]
fn a_text_in_rows_shows_the_lines_of_the_text_in_one() {
    for (name, whole) in long_texts() {
        let mut one = transcript(usize::MAX, usize::MAX);
        one.take(text(&whole));
        let mut many = transcript(2000, 4000);
        for piece in pieces(&whole) {
            many.take(text(piece));
        }
        assert_eq!(shown(&mut many), shown(&mut one), "{name}");
        if name != "blank" {
            assert!(many.rows.len() > 2, "{name}");
            assert!(texts(&many).iter().all(|text| text.len() < 6000), "{name}: rows stay short");
        }
        let (count, _) = (many.rows.len(), many.change());
        many.take(said(Block::Text(Text { bytes: whole.len(), text: whole.clone() })));
        assert_eq!((many.rows.len(), many.change()), (count, None), "{name}: it is complete, as it is shown");
        assert!(many.rows.iter().all(|held| !held.partial && held.usage.is_some()));
        assert_eq!(texts(&many).concat(), whole);
    }
}

#[test]
fn a_row_that_ends_in_code_is_continued_in_code_however_the_fence_came() {
    for fence in [["```", "lua\nlocal a\n\nlocal b\n"], ["``", "`\nlocal a\n\nlocal b\n"]] {
        let mut transcript = transcript(10, 20);
        for piece in ["Some words of prose\n", fence[0], fence[1], "local c\n", "```\n\nThe end."] {
            transcript.take(text(piece));
        }
        assert!(transcript.rows.len() > 1);
        for (held, next) in transcript.rows.iter().zip(transcript.rows.iter().skip(1)) {
            assert_eq!(held.end.fence, next.fence);
            assert!(held.end.fence.is_none() || next.continues);
        }
    }
}

#[test]
fn a_text_that_was_not_streamed_is_in_rows_too() {
    let whole = long_texts().remove(0).1;
    let mut transcript = transcript(2000, 4000);
    transcript.take(text("something else"));
    transcript.change();
    transcript.take(said(Block::Text(Text { bytes: whole.len(), text: whole.clone() })));
    let len = transcript.rows.len();
    assert_eq!(transcript.change(), rows(0, len, &[]));
    assert!(texts(&transcript).iter().all(|text| text.len() <= 2 * PIECE));
    assert_eq!(texts(&transcript).concat(), whole);
    assert!(transcript.rows.iter().all(|held| !held.partial));
}

#[test]
fn a_long_thought_is_in_rows_as_a_text_is() {
    let line = |number: usize| {
        format!("Let me see whether {number} holds.\n{}", ["```\n", ""][usize::from(!number.is_multiple_of(9))])
    };
    let whole: String = (0..400).map(line).collect();
    for is_streamed in [true, false] {
        let mut transcript = transcript(2000, 4000);
        for piece in pieces(&whole).into_iter().filter(|_| is_streamed) {
            transcript.take(thought(piece));
        }
        transcript.take(said(Block::Thinking(Text { bytes: whole.len(), text: whole.clone() })));
        assert!(transcript.rows.len() > 2);
        assert!(transcript.rows.iter().all(|held| !held.partial && held.end.fence.is_none()));
        let lines = shown(&mut transcript);
        assert!(!lines.concat().is_empty() && lines.iter().skip(2).all(|line| !line.is_empty()), "nothing between");
        let said: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("    ")).collect();
        assert!(said.iter().copied().eq(whole.lines()), "all of it, in its order");
    }
}

#[test]
fn a_line_without_an_end_costs_each_piece_once() {
    let mut end = Growing::default();
    for _ in 0..3000 {
        end.follow(&"x".repeat(100));
        assert_eq!(end.cut(1, "", false, Limits::default()), None);
    }
    end.follow("\n```lua\nlocal one = 1");
    assert!(end.fence.is_some());
}

#[test]
fn changes_are_merged_until_they_are_asked_for() {
    let mut transcript = transcript(2000, 4000);
    assert_eq!(transcript.change(), None);
    transcript.take(text("one"));
    assert_eq!(transcript.change(), rows(0, 1, &[]));
    transcript.take(text(" two"));
    transcript.take(text(" three"));
    assert_eq!(transcript.change(), Some(Change::Appended { appended: " two three".to_owned(), bytes: 13 }));
    transcript.take(text("!"));
    transcript.take(calling("a"));
    assert_eq!(transcript.change(), Some(Change::Appended { appended: "!".to_owned(), bytes: 14 }));
    assert_eq!(transcript.change(), rows(1, 2, &[]), "a text grew before the row");
    transcript.take(said(call("a", &json!({}))));
    transcript.take(result("a", ToolResult::default()));
    assert_eq!(transcript.change(), rows(2, 2, &[1]));
    transcript.take(text("more"));
    transcript.take(text(" words"));
    transcript.take(result("a", ToolResult::default()));
    assert_eq!((transcript.change(), transcript.change()), (rows(2, 3, &[1]), None));
    transcript.take(text("!"));
    transcript.take(result("a", ToolResult::default()));
    assert_eq!(transcript.change(), Some(Change::Appended { appended: "!".to_owned(), bytes: 11 }));
    assert_eq!((transcript.change(), transcript.change()), (rows(3, 3, &[1]), None));
}

#[test]
fn a_call_is_one_row_from_its_name_to_its_result() {
    let mut transcript = transcript(2000, 4000);
    transcript.take(calling("a"));
    transcript.take(calling("a"));
    transcript.take(said(call("a", &json!({"command": "make"}))));
    assert_eq!(transcript.rows.len(), 1);
    assert_eq!(shown(&mut transcript), ["Claude", "  Bash make · running"]);
    for (is_error, refuse, expected) in [
        (false, None, "done"),
        (true, None, "failed"),
        (true, Some("rejected"), "rejected"),
        (false, Some("changed"), "changed"),
    ] {
        if let Some(status) = refuse {
            ask(&mut transcript, &json!({"refuse": {"call": "a", "status": status}}));
        }
        transcript.take(result("a", ToolResult { is_error, ..ToolResult::default() }));
        assert_eq!(status(&mut transcript, 0), expected);
    }
    transcript.take(result("unknown", ToolResult::default()));
}

#[test]
fn a_background_task_ends_when_that_is_reported() {
    let mut transcript = transcript(2000, 4000);
    let ended =
        |call: Option<&str>, is_done| Event::TaskEnded { id: "t".to_owned(), call: call.map(str::to_owned), is_done };
    transcript.take(said(call("a", &json!({}))));
    let launch = Some(Outcome::Launch { agent: "x".to_owned() });
    transcript.take(result("a", ToolResult { outcome: launch, ..ToolResult::default() }));
    assert_eq!(status(&mut transcript, 0), "running");
    transcript.take(Event::TaskStarted { id: "t".to_owned(), words: String::new(), call: Some("a".to_owned()) });
    transcript.take(ended(None, true));
    assert_eq!(status(&mut transcript, 0), "done");
    transcript.change();
    transcript.take(ended(Some("a"), true));
    assert_eq!(transcript.change(), None, "it may be reported twice");
    transcript.take(ended(Some("a"), false));
    assert_eq!(status(&mut transcript, 0), "failed");
}

#[test]
fn what_is_void_goes_and_what_is_complete_stays() {
    let mut transcript = transcript(2000, 4000);
    put(&mut transcript, "prompt", "Go");
    transcript.take(text("half a"));
    transcript.take(calling("a"));
    transcript.take(Event::Void);
    assert_eq!(texts(&transcript), ["Go"]);
    transcript.take(calling("a"));
    transcript.take(text("again"));
    put(&mut transcript, "notice", "A notice");
    transcript.take(Event::Void);
    assert_eq!(transcript.rows.len(), 4, "nothing follows a complete message's part");
    transcript.take(Event::Ended { code: None, signal: None, words: String::new() });
    assert_eq!(status(&mut transcript, 1), "void");
}

#[test]
fn the_end_of_a_turn_says_what_the_agent_did_not() {
    let over = |outcome, words: Option<&str>| Event::Turn { outcome, words: words.map(str::to_owned) };
    let notice = |text: &str| Event::Notice { text: text.to_owned() };
    let greeting = || Event::Greeted { text: "Claude 7.".to_owned(), can: crate::event::Abilities::default() };
    for (event, turn, expected) in [
        (None, over(TurnEnd::Done, None), Some("Claude ended its turn without a word.")),
        (Some(text(" \n")), over(TurnEnd::Done, None), Some("Claude ended its turn without a word.")),
        (Some(thought("hm")), over(TurnEnd::Done, None), Some("Claude ended its turn without a word.")),
        (Some(text("word")), over(TurnEnd::Done, None), None),
        (Some(calling("a")), over(TurnEnd::Done, None), None),
        (None, over(TurnEnd::Aborted, None), None),
        (None, over(TurnEnd::Failed, Some("It broke.")), Some("It broke.")),
        (Some(notice("Overloaded")), over(TurnEnd::Failed, None), None),
        (Some(text("word")), over(TurnEnd::Failed, None), Some("The turn failed.")),
        (Some(greeting()), over(TurnEnd::Failed, Some("A wrong key.")), Some("A wrong key.")),
        (Some(greeting()), over(TurnEnd::Failed, None), Some("The turn failed.")),
        (Some(greeting()), over(TurnEnd::Done, None), Some("Claude ended its turn without a word.")),
        (Some(notice("Overloaded")), over(TurnEnd::Failed, Some("A wrong key.")), Some("A wrong key.")),
        (Some(notice("A wrong key.")), over(TurnEnd::Failed, Some("A wrong key.")), None),
    ] {
        let mut transcript = transcript(2000, 4000);
        put(&mut transcript, "prompt", "Go");
        event.into_iter().for_each(|event| transcript.take(event));
        let count = transcript.rows.len();
        transcript.take(turn);
        assert_eq!(transcript.rows.get(count).and_then(Held::text), expected);
    }
}

#[test]
fn a_subagents_words_are_not_the_agents() {
    let mut transcript = transcript(2000, 4000);
    let by = || Some("a".to_owned());
    transcript.take(Event::Text { by: by(), block: 1, kind: TextKind::Text, text: "inner".to_owned() });
    transcript.take(Event::Calling { by: by(), id: "b".to_owned(), name: "Bash".to_owned() });
    assert!(transcript.rows.is_empty());
    transcript.take(said(call("a", &json!({"prompt": "Look", "subagent_type": "Explore"}))));
    transcript.change();
    ask(&mut transcript, &json!({"link": {"a": {"agent_type": "Explore", "running": true}, "b": {"running": true}}}));
    assert_eq!(transcript.change(), rows(1, 1, &[0]));
    assert!(shown(&mut transcript).concat().contains("Subagent Explore"));
    ask(&mut transcript, &json!({"link": {"a": {"agent_type": "Explore", "running": false}}}));
    assert_eq!(transcript.change(), None);
}

#[test]
fn prompts_notices_and_replayed_messages_have_their_rows() {
    let mut transcript = transcript(2000, 4000);
    transcript.take(Event::Greeted { text: "An agent 1.0".to_owned(), can: crate::Abilities::default() });
    transcript.take(Event::Greeted { text: "An agent 1.0".to_owned(), can: crate::Abilities::default() });
    ask(
        &mut transcript,
        &json!({"put": {"kind": "prompt", "text": "Go", "uuid": "u",
        "images": [{"type": "image", "media_type": "image/png", "encoded_bytes": 400}]}}),
    );
    let block = || vec![Block::Text(Text { text: "words".to_owned(), bytes: 5 })];
    for kind in ["prompt", "command_output", "interrupted", "meta"] {
        transcript.take(Event::said(kind, block()));
    }
    transcript.take(Event::Compacted);
    let kinds: Vec<RowKind> = transcript.rows.iter().map(|held| held.kind).collect();
    use RowKind::{Compaction, Interrupted, Notice, Output, Prompt};
    assert_eq!(
        kinds,
        [Notice, Prompt, Prompt, Output, Interrupted, Compaction],
        "what is said to the model is not shown"
    );
    assert_eq!(ask(&mut transcript, &json!("prompts")), json!([{"uuid": "u", "text": "Go"}, {"text": "words"}]));
    let ids = json!([FIRST_ID + 1, FIRST_ID + 99, 1]);
    let messages = ask(&mut transcript, &json!({"messages": {"ids": ids, "max_result": 9}}));
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!(messages[0]["blocks"][1]["media_type"], "image/png");
}

#[test]
fn a_long_result_is_cut_and_told_in_full_on_request() {
    let mut transcript = transcript(2000, 4000);
    transcript.take(said(call("a", &json!({"command": "seq"}))));
    let content = vec![Part::Text(Text { text: "(in the terminal 1)".to_owned(), bytes: 19 })];
    transcript.take(result("a", ToolResult { content, ..ToolResult::default() }));
    let long = "x\n".repeat(MAX_RESULT);
    ask(&mut transcript, &json!({"replace_result": {"call": "a", "part": 0, "text": long}}));
    assert!(shown(&mut transcript).last().unwrap().contains("more"));
    let ids = json!([FIRST_ID]);
    let messages = ask(&mut transcript, &json!({"messages": {"ids": ids, "max_result": 1_000_000}}));
    assert_eq!(messages[0]["blocks"][0]["result"]["content"][0]["text"], long);
}

#[test]
fn the_answer_is_the_text_after_the_last_call() {
    let mut transcript = transcript(10, 20);
    transcript.take(said(Block::Text(Text { bytes: 9, text: "Let me see".to_owned() })));
    transcript.take(said(call("a", &json!({}))));
    transcript.take(said(Block::Thinking(Text { bytes: 3, text: "Hm.".to_owned() })));
    let long = "one\n\ntwo and three\nfour and five\n".repeat(200);
    transcript.take(said(Block::Text(Text { bytes: long.len(), text: long.clone() })));
    transcript.take(said(Block::Text(Text { bytes: 3, text: "End".to_owned() })));
    put(&mut transcript, "notice", "A notice");
    assert!(transcript.rows.len() > 6);
    assert_eq!(ask(&mut transcript, &json!("answer")), format!("{long}\nEnd"));
}
