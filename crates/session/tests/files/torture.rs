//! Files as crashes, other programs and full disks leave them: intact parts are read in bounded memory, and nothing
//! fails.

use std::fs;
use std::path::PathBuf;

use claude_ide_session::{Cancel, ConfigDir, RowKind, SearchOptions, SessionId, Store, Transcript, search};

fn transcript(bytes: &[u8]) -> (tempfile::TempDir, PathBuf, Transcript) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    fs::write(&file, bytes).unwrap();
    let transcript = Transcript::open(&file, &Cancel::new()).unwrap();
    (dir, file, transcript)
}

fn said(uuid: &str, parent: &str, text: &str) -> String {
    format!(r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"message":{{"content":"{text}"}}}}"#)
}

fn texts(transcript: &mut Transcript) -> Vec<String> {
    let rows = transcript.rows(0, usize::MAX);
    let text = |message: serde_json::Value| message["blocks"][0]["text"].as_str().unwrap_or_default().to_owned();
    rows.iter().map(|row| text(serde_json::to_value(transcript.message(row.id, 1000).unwrap()).unwrap())).collect()
}

#[test]
fn a_mark_of_byte_order_and_the_line_ends_of_windows_cost_nothing() {
    let text = format!("\u{feff}{}\r\n{}\r\n", said("a", "null", "one"), said("b", r#""a""#, "two"));
    let (_dir, _, mut transcript) = transcript(text.as_bytes());
    assert_eq!((texts(&mut transcript), transcript.broken_lines()), (vec!["one".into(), "two".into()], 0));
}

#[test]
fn a_hole_that_a_crash_left_costs_nothing_but_itself() {
    let hole = "\0".repeat(5000);
    let text = format!(
        "{}\n{hole}{}\n{hole}\n{}\n",
        said("a", "null", "one"),
        said("b", r#""a""#, "two"),
        said("c", r#""b""#, "three")
    );
    let (_dir, _, mut transcript) = transcript(text.as_bytes());
    assert_eq!(texts(&mut transcript), ["one", "two", "three"]);
}

#[test]
fn bytes_that_are_no_text_cost_no_message() {
    let text = said("a", "null", "on@e").into_bytes();
    let text: Vec<u8> = text.into_iter().map(|byte| if byte == b'@' { 0xff } else { byte }).chain(*b"\n").collect();
    let (_dir, _, mut transcript) = transcript(&text);
    assert_eq!((texts(&mut transcript), transcript.broken_lines()), (vec!["on?e".to_owned()], 0));
}

#[test]
fn parents_in_a_circle_and_ids_that_repeat_lose_no_message() {
    let lines = [
        said("a", r#""c""#, "one"),
        said("b", r#""a""#, "two"),
        said("c", r#""b""#, "three"),
        said("b", r#""b""#, "again"),
        said("d", r#""d""#, "its own parent"),
    ];
    let (_dir, _, mut transcript) = transcript((lines.join("\n") + "\n").as_bytes());
    let shown = texts(&mut transcript);
    assert!(shown.ends_with(&["its own parent".to_owned()]), "{shown:?}");
    assert_eq!(transcript.message_count(), 4, "the first line with an id wins");
}

#[test]
fn a_late_parent_wins_over_a_guessed_one() {
    let lines = [
        said("u4", r#""u3""#, "four"),
        said("u3", r#""u2""#, "three"),
        said("u2", r#""u1""#, "two"),
        said("u1", "null", "one"),
    ];
    let (_dir, _, mut transcript) = transcript((lines.join("\n") + "\n").as_bytes());
    assert_eq!(texts(&mut transcript), ["one", "two", "three", "four"]);
}

#[test]
fn a_paste_in_a_prompt_is_shown_without_the_marks_of_the_cli() {
    let text = r#"look:\n\n<pasted_content id=\"7f40\">\na trace\n</pasted_content id=\"7f40\">\nthanks"#;
    let (_dir, _, mut transcript) = transcript((said("u1", "null", text) + "\n").as_bytes());
    assert_eq!(texts(&mut transcript), ["look:\n\na trace\nthanks"]);
}

fn replied(uuid: &str, parent: &str, block: &str, more: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{uuid}","parentUuid":"{parent}","message":{{"id":"m","content":[{block}]}}{more}}}"#
    )
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn call_block(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}"#)
}

fn answered(uuid: &str, parent: &str, call: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{uuid}","parentUuid":"{parent}","message":{{"content":[{{"type":"tool_result","tool_use_id":"{call}","content":"ok"}}]}}}}"#
    )
}

fn kinds(lines: &[String]) -> Vec<RowKind> {
    let (_dir, _, transcript) = transcript((lines.join("\n") + "\n").as_bytes());
    transcript.rows(0, usize::MAX).iter().map(|row| row.kind).collect()
}

/// Gateways and stubs give all their replies one id.
#[test]
fn replies_of_several_turns_that_share_an_id_are_several() {
    use RowKind::{Prompt, Reply};
    let lines = [
        said("u1", "null", "one"),
        replied("a1", "u1", &text_block("first"), ""),
        said("u2", r#""a1""#, "two"),
        replied("a2", "u2", &text_block("second"), ""),
    ];
    assert_eq!(kinds(&lines), [Prompt, Reply, Prompt, Reply]);
    let (dir, file, _) = transcript((lines.join("\n") + "\n").as_bytes());
    let mut store = Store::new(ConfigDir::at(dir.path()), None);
    let counted = store.tally(&file, &mut { u64::MAX }, &Cancel::new()).unwrap().unwrap();
    assert_eq!(counted.0.messages(), 4, "the list counts alike");
}

#[test]
fn text_after_a_tools_result_is_another_reply_of_the_same_id() {
    use RowKind::{Prompt, Reply};
    let lines = |more: &str, later: &str| {
        [
            said("u1", "null", "one"),
            replied("a1", "u1", &call_block("t1"), more),
            answered("r1", "a1", "t1"),
            replied("a2", "r1", &text_block("it ran"), later),
        ]
    };
    assert_eq!(kinds(&lines("", "")), [Prompt, Reply, Reply]);
    let (one, two) = (r#","requestId":"req_1""#, r#","requestId":"req_2""#);
    assert_eq!(kinds(&lines(one, two)), [Prompt, Reply, Reply]);
    assert_eq!(kinds(&lines(one, one)), [Prompt, Reply], "the model's own word");
}

/// A tool may finish before the model has written its next call (measured).
#[test]
fn calls_of_one_reply_stay_together_whenever_they_are_answered() {
    use RowKind::{Meta, Prompt, Reply};
    let reminder =
        r#"{"type":"user","uuid":"x","parentUuid":"r1","isMeta":true,"message":{"content":"Base directory"}}"#;
    let lines = [
        said("u1", "null", "one"),
        replied("a1", "u1", &text_block("I look"), ""),
        replied("a2", "a1", &call_block("t1"), ""),
        answered("r1", "a2", "t1"),
        replied("a3", "r1", &call_block("t2"), ""),
        reminder.to_owned(),
        replied("a4", "x", &call_block("t3"), ""),
    ];
    assert_eq!(kinds(&lines), [Prompt, Reply, Meta]);
}

#[test]
fn a_clock_that_goes_back_changes_no_order() {
    let at = |uuid: &str, parent: &str, text: &str, time: &str| {
        said(uuid, parent, text).replace(r#""type""#, &format!(r#""timestamp":"{time}","type""#))
    };
    let lines = [
        at("a", "null", "one", "2026-01-02T00:00:00.000Z"),
        at("b", r#""a""#, "two", "1999-01-01T00:00:00.000Z"),
        at("c", r#""b""#, "three", "9999-99-99T99:99:99.999Z"),
    ];
    let (_dir, _, mut transcript) = transcript((lines.join("\n") + "\n").as_bytes());
    assert_eq!(texts(&mut transcript), ["one", "two", "three"]);
}

/// A pasted file of 60 MB in one line is read, searched and shown cut, without delay.
#[test]
fn a_line_of_sixty_megabytes_is_a_message_like_any_other() {
    let long = "x".repeat(60_000_000);
    let text = format!(
        "{}\n{}\n{}\n",
        said("a", "null", "one"),
        said("b", r#""a""#, &(long + " needle")),
        said("c", r#""b""#, "three")
    );
    let (_dir, file, mut transcript) = transcript(text.as_bytes());
    assert_eq!(transcript.rows(0, 9).iter().map(|row| row.kind).collect::<Vec<_>>(), [RowKind::Prompt; 3]);
    assert_eq!(texts(&mut transcript)[1].len(), 1000);
    let options = SearchOptions { pattern: "needle".into(), ..SearchOptions::default() };
    let mut hits = Vec::new();
    search(&[(SessionId::new("s"), file)], &options, &Cancel::new(), |hit| hits.push(hit)).unwrap();
    assert!(hits.len() == 1 && hits[0].text.len() <= 400);
}
