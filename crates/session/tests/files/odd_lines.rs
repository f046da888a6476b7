//! Lines that Rust's JSON parsers reject, and trees with cycles: their readable parts are read.

use std::fs;
use std::path::PathBuf;

use claude_ide_session::{
    Cancel, ConfigDir, RowKind, SearchOptions, SessionId, Store, Transcript, agents_of, live_sessions, search,
};
use serde_json::{Value, json};

struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(project.dir.path().join("projects/-p/s/subagents")).unwrap();
        fs::create_dir_all(project.dir.path().join("sessions")).unwrap();
        project
    }

    fn config(&self) -> ConfigDir {
        ConfigDir::at(self.dir.path())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("projects/-p").join(name)
    }

    fn open(&self, lines: &[&str]) -> Transcript {
        let file = self.file("s.jsonl");
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        Transcript::open(file, &Cancel::new()).unwrap()
    }
}

/// The messages as a client gets them; fails if one cannot be serialised.
fn messages(transcript: &mut Transcript) -> Vec<Value> {
    let rows = transcript.rows(0, usize::MAX);
    rows.iter().map(|row| serde_json::to_value(transcript.message(row.id, 10_000).unwrap()).unwrap()).collect()
}

fn kinds(transcript: &Transcript) -> Vec<RowKind> {
    transcript.rows(0, usize::MAX).iter().map(|row| row.kind).collect()
}

const PROMPT: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"cwd":"/p","timestamp":"2026-01-19T04:45:15.012Z","message":{"content":"cut \ud83d"}}"#;
const CALL: &str = r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","message":{"id":"m","model":"\udead","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"echo \ud83d"}}]}}"#;
const RESULT: &str = r#"{"type":"user","uuid":"u3","parentUuid":"u2","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"out \udc00"}]},"toolUseResult":{"stdout":"raw \ud83d"}}"#;

#[test]
fn half_a_character_costs_no_message() {
    let project = Project::new();
    let mut transcript = project.open(&[PROMPT, CALL, RESULT]);
    assert_eq!((kinds(&transcript), transcript.broken_lines()), (vec![RowKind::Prompt, RowKind::Reply], 0));
    let messages = messages(&mut transcript);
    assert_eq!(messages[0]["blocks"][0]["text"], json!("cut \u{fffd}"));
    let call = &messages[1]["blocks"][0];
    assert_eq!(call["input"]["command"], json!("echo \u{fffd}"));
    assert_eq!(call["result"]["content"][0]["text"], json!("out \u{fffd}"));
    assert_eq!(call["result"]["outcome"]["raw"]["stdout"], json!("raw \u{fffd}"));
}

#[test]
fn half_a_character_hides_no_session_and_no_hit() {
    let project = Project::new();
    let file = project.file("s.jsonl");
    project.open(&[PROMPT, CALL, RESULT]);
    fs::write(project.file("s/custom-title.json"), r#"{"customTitle":"name \ud83d"}"#).unwrap();
    let record = format!(r#"{{"pid":{},"sessionId":"s","cwd":"/p","name":"n \ud83d"}}"#, std::process::id());
    fs::write(project.dir.path().join("sessions/1.json"), record).unwrap();
    fs::write(project.file("s/subagents/agent-a.jsonl"), "{}\n").unwrap();
    let meta = r#"{"toolUseId":"t","description":"d \ud83d"}"#;
    fs::write(project.file("s/subagents/agent-a.meta.json"), meta).unwrap();

    let mut store = Store::new(project.config(), None);
    let summary = store.get(&file).unwrap();
    assert_eq!(summary.title.as_deref(), Some("name \u{fffd}"));
    assert_eq!(summary.first_prompt.as_deref(), Some("cut \u{fffd}"));
    assert_eq!(live_sessions(&project.config()).unwrap()[0].name.as_deref(), Some("n \u{fffd}"));
    assert_eq!(agents_of(&file)[0].description.as_deref(), Some("d \u{fffd}"));
    let options = SearchOptions { pattern: "cut|echo|out".into(), ..SearchOptions::default() };
    let mut hits = 0;
    search(&[(SessionId::new("s"), file)], &options, &Cancel::new(), |_| hits += 1).unwrap();
    assert_eq!(hits, 3);
}

/// Opening one would wait for its writer.
#[test]
fn a_pipe_in_place_of_a_file_stops_nothing() {
    let project = Project::new();
    let session = project.file("s.jsonl");
    project.open(&[PROMPT, CALL, RESULT]);
    let own = std::process::id();
    for (number, id) in [(1, "s"), (2, "pipe")] {
        let record = format!(r#"{{"pid":{own},"sessionId":"{id}","cwd":"/p"}}"#);
        fs::write(project.dir.path().join(format!("sessions/{number}.json")), record).unwrap();
    }
    let (pipe, agent) = (project.file("pipe.jsonl"), project.file("s/subagents/agent-a.jsonl"));
    let beside = [project.file("s/custom-title.json"), project.file("s/subagents/agent-b.meta.json")];
    for path in [&project.dir.path().join("sessions/3.json"), &pipe, &agent, &beside[0], &beside[1]] {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    fs::write(project.file("s/subagents/agent-b.jsonl"), "{}\n").unwrap();

    let live: Vec<_> = live_sessions(&project.config()).unwrap().into_iter().map(|live| live.id).collect();
    assert_eq!(live, [SessionId::new("s"), SessionId::new("pipe")]);
    let mut store = Store::new(project.config(), None);
    assert!(store.get(&pipe).is_none());
    assert_eq!(store.get(&session).unwrap().first_prompt.as_deref(), Some("cut \u{fffd}"));
    assert!(Transcript::open(&pipe, &Cancel::new()).is_err());
    assert_eq!(agents_of(&session).last().unwrap().description, None);
    let files = [(SessionId::new("pipe"), pipe), (SessionId::new("s"), session)];
    let (options, mut hits) = (SearchOptions { pattern: "echo".into(), ..SearchOptions::default() }, 0);
    search(&files, &options, &Cancel::new(), |_| hits += 1).unwrap();
    assert_eq!(hits, 1);
}

/// `JSON.parse` has no limit to nesting, `serde_json` has one at 128.
#[test]
fn a_value_nested_too_deep_is_shown_as_text() {
    let project = Project::new();
    let deep = format!("{}1{}", r#"{"a":["#.repeat(100), "]}".repeat(100));
    let call = CALL.replace(r#"{"command":"echo \ud83d"}"#, &deep);
    let unknown = format!(
        r#"{{"type":"user","uuid":"u4","parentUuid":"u3","message":{{"content":[{deep},{{"type":"new","x":{deep}}}]}}}}"#
    );
    let result = RESULT.replace(r#"{"stdout":"raw \ud83d"}"#, &deep);
    let mut transcript = project.open(&[PROMPT, &call, &result, &unknown]);
    let messages = messages(&mut transcript);
    assert_eq!(messages[1]["blocks"][0]["input"], json!(deep));
    assert_eq!(messages[1]["blocks"][0]["result"]["outcome"]["raw"], json!(deep));
    assert_eq!(messages[2]["blocks"][0]["raw"], json!(deep));
}

fn said(uuid: &str, parent: &str, text: &str) -> String {
    format!(r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"message":{{"content":"{text}"}}}}"#)
}

fn compaction(logical: &str) -> String {
    format!(
        r#"{{"type":"system","subtype":"compact_boundary","uuid":"c","parentUuid":null,"logicalParentUuid":{logical},"content":"Conversation compacted"}}"#
    )
}

#[test]
fn messages_before_a_compaction_stay_whatever_it_names() {
    let before = [said("u1", "null", "one"), said("u2", r#""u1""#, "two")];
    let link = r#"{"type":"attachment","uuid":"l","parentUuid":null,"attachment":{"type":"date"}}"#;
    let after = said("u3", r#""c""#, "three");
    let expected = [RowKind::Prompt, RowKind::Prompt, RowKind::Compaction, RowKind::Prompt];
    for logical in [r#""u2""#, r#""missing""#, r#""u3""#, r#""c""#, r#""l""#, "null", "7"] {
        let project = Project::new();
        let boundary = compaction(logical);
        let transcript = project.open(&[link, &before[0], &before[1], &boundary, &after]);
        assert_eq!(kinds(&transcript), expected, "{logical}");
    }
    let transcript = Project::new().open(&[&compaction(r#""missing""#), &after]);
    assert_eq!(kinds(&transcript), [RowKind::Compaction, RowKind::Prompt], "nothing was said before");
}

#[test]
fn the_last_record_needs_no_line_end_and_two_may_share_a_line() {
    let project = Project::new();
    let file = project.file("s.jsonl");
    let whole = [said("a", "null", "one"), said("b", r#""a""#, "two"), said("c", r#""b""#, "three")];
    fs::write(&file, format!("{}{}\n{}", whole[0], whole[1], whole[2])).unwrap();
    let mut transcript = Transcript::open(file.clone(), &Cancel::new()).unwrap();
    assert_eq!((transcript.len(), transcript.broken_lines()), (3, 0));
    let texts: Vec<_> = messages(&mut transcript).iter().map(|one| one["blocks"][0]["text"].clone()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    fs::write(&file, format!("{}{}\n{}{}\n", whole[0], whole[1], whole[2], said("d", r#""c""#, "four"))).unwrap();
    transcript.refresh(&Cancel::new()).unwrap();
    assert_eq!((transcript.len(), transcript.broken_lines()), (4, 0), "the next CLI goes on with the line");
}
