//! Code Mode: the model has one tool, `REPL`, whose scripts call the others. The transcript is made after the code of CLI 2.1.329, which
//! writes those calls after the result of the script's, each marked `isVirtual`; it offers the mode to few accounts, so none was recorded.

use std::fs;
use std::path::PathBuf;

use claude_ide_session::{Block, Cancel, ConfigDir, Millis, RowKind, Scope, Store, Transcript};

const LINES: &str = r#"{"type":"repl-mode","replMode":true,"sessionId":"s"}
{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-11-01T10:00:00.000Z","cwd":"/p","sessionId":"s","message":{"role":"user","content":"change it"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-11-01T10:00:01.000Z","message":{"id":"m1","model":"claude-x-1","content":[{"type":"text","text":"I shall."}],"usage":{"input_tokens":100,"output_tokens":5}}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","timestamp":"2026-11-01T10:00:02.000Z","message":{"id":"m1","model":"claude-x-1","content":[{"type":"tool_use","id":"t0","name":"REPL","input":{"code":"await edit(f, 'one', 'ONE')\nawait $`make`"}}],"usage":{"input_tokens":100,"output_tokens":20}}}
{"type":"user","uuid":"r1","parentUuid":"a2","timestamp":"2026-11-01T10:00:05.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":"done"}]},"toolUseResult":{"output":"done"}}
{"type":"assistant","uuid":"x1","parentUuid":"r1","timestamp":"2026-11-01T10:00:05.001Z","isVirtual":true,"message":{"id":"v1","model":"<synthetic>","content":[{"type":"tool_use","id":"e1","name":"Edit","input":{"file_path":"/p/a.txt","old_string":"one","new_string":"ONE"}}],"usage":{"input_tokens":0,"output_tokens":0}}}
{"type":"user","uuid":"y1","parentUuid":"x1","timestamp":"2026-11-01T10:00:05.002Z","isVirtual":true,"turnCompanion":true,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"e1","content":"","is_error":false}]},"permissionDecision":{"source":"config","reasonType":"mode"},"toolUseResult":{"filePath":"/p/a.txt","oldString":"one","newString":"ONE","originalFile":"one\n","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-one","+ONE"]}],"userModified":false,"replaceAll":false}}
{"type":"assistant","uuid":"x2","parentUuid":"y1","timestamp":"2026-11-01T10:00:05.003Z","isVirtual":true,"message":{"id":"v2","model":"<synthetic>","content":[{"type":"tool_use","id":"b1","name":"Bash","input":{"command":"make"}}],"usage":{"input_tokens":0,"output_tokens":0}}}
{"type":"user","uuid":"y2","parentUuid":"x2","timestamp":"2026-11-01T10:00:05.004Z","isVirtual":true,"turnCompanion":true,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b1","content":"failed","is_error":true}]}}
{"type":"assistant","uuid":"a3","parentUuid":"y2","timestamp":"2026-11-01T10:00:07.000Z","message":{"id":"m2","model":"claude-x-1","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":120,"output_tokens":3}}}
"#;

fn written() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("projects/-p/s.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, LINES).unwrap();
    (dir, file)
}

#[test]
fn the_calls_of_a_script_belong_to_the_reply_that_made_it() {
    let (_dir, file) = written();
    let mut transcript = Transcript::open(&file, &Cancel::new()).unwrap();
    let rows = transcript.rows(0, 10);
    let kinds: Vec<_> = rows.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [RowKind::Prompt, RowKind::Reply, RowKind::Reply]);
    let names: Vec<_> = rows[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["REPL", "Edit", "Bash"]);
    assert_eq!(rows[1].model.as_ref().unwrap().as_str(), "claude-x-1");
    assert_eq!(rows[1].usage.unwrap().output, 20);
    assert!(rows[2].branch.is_none());
    let blocks = transcript.message(rows[1].id, 1000).unwrap().blocks;
    let calls: Vec<_> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolUse { name, inner, result, .. } => Some((name.as_str(), *inner, result.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [("REPL", false, true), ("Edit", true, true), ("Bash", true, true)]);
    assert_eq!(transcript.total_usage().output, 23);
}

#[test]
fn the_edits_of_a_script_are_changes_like_others() {
    let (_dir, file) = written();
    let mut transcript = Transcript::open(&file, &Cancel::new()).unwrap();
    let found = transcript.ended_calls(0, Millis::default(), &Cancel::new()).unwrap();
    let changes: Vec<_> =
        found.calls.iter().filter_map(|call| Some((call.id.as_str(), call.change.as_ref()?.path.as_str()))).collect();
    assert_eq!(changes, [("e1", "/p/a.txt")]);
    let texts: Vec<_> = found.texts.iter().map(|(id, texts)| (id.as_str(), texts.after.as_str())).collect();
    assert_eq!(texts, [("e1", "ONE\n")]);
    let places: Vec<_> = found.calls.iter().filter_map(|call| call.location.as_ref()).collect();
    assert_eq!(places.iter().map(|place| place.path.as_str()).collect::<Vec<_>>(), ["/p/a.txt"]);
    assert_eq!(places[0].said.as_deref(), Some("I shall."));
}

#[test]
fn they_are_counted_and_no_messages_of_their_own() {
    let (dir, file) = written();
    let mut store = Store::new(ConfigDir::at(dir.path()), None);
    let (summary,) = (store.list(&Scope::All, &Cancel::new()).unwrap().remove(0),);
    assert_eq!((summary.messages, summary.model.as_deref()), (Some(3), Some("claude-x-1")));
    let (tally, _) = store.tally(&file, &mut 1_000_000, &Cancel::new()).unwrap().unwrap();
    assert_eq!((tally.messages(), tally.added, tally.removed, tally.files()), (3, 1, 1, 1));
    assert_eq!(tally.tokens(), 120 + 123);
    assert_eq!((tally.words.as_str(), tally.call()), ("Done.", None));
}
