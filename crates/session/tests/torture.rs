//! Files as crashes, other programs and full disks leave them: what is whole is read, in bounded memory, and nothing fails.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

use std::fs;
use std::path::PathBuf;

use claude_ide_session::{Cancel, RowKind, SearchOptions, SessionId, Transcript, search};

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

/// A pasted file of 60 MB: one line, read, searched and shown cut, and over with at once.
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
