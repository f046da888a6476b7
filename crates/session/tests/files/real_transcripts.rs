//! Transcripts that the real CLI (2.1.329) wrote, in a terminal and headless, with its own texts removed
//! (`tests/sessions/redact.py`). They hold prompts, tool calls, an edit, a refused call, an interruption, queued prompts, a
//! subagent, a compaction, a rewind, `/clear`, a fork, an image.

use std::fs;
use std::path::{Path, PathBuf};

use claude_ide_session::{
    Activity, Block, Cancel, ConfigDir, Message, Millis, Outcome, Row, RowKind, Scope, SessionId, Store, ToolStatus,
    Transcript, agents_of, infer,
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sessions/fixtures").join(name)
}

fn open(name: &str) -> Transcript {
    Transcript::open(fixture(name), &Cancel::new()).unwrap()
}

fn rows(transcript: &Transcript) -> Vec<Row> {
    transcript.rows(0, usize::MAX)
}

fn text(message: &Message) -> String {
    let texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text(text) | Block::Thinking(text) => Some(text.text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("|")
}

/// Every row of the shown branch as a line to compare.
fn outline(transcript: &mut Transcript) -> Vec<String> {
    let line = |row: &Row, message: &Message| {
        let tools: Vec<_> = row.tools.iter().map(|tool| format!("{}={:?}", tool.name.as_str(), tool.status)).collect();
        let branch = row.branch.as_ref().map(|branch| format!(" [{}/{}]", branch.number, branch.siblings.len()));
        let text: String = text(message).chars().take(40).collect();
        format!("{:?}{} {} {}", row.kind, branch.unwrap_or_default(), tools.join(","), text.replace('\n', " "))
            .trim()
            .to_owned()
    };
    let rows = rows(transcript);
    rows.iter().map(|row| line(row, &transcript.message(row.id, 1000).unwrap())).collect()
}

#[test]
fn the_terminal_session_reads_as_people_saw_it() {
    let mut transcript = open("terminal.jsonl");
    let expected = include_str!("../terminal.outline");
    let got = outline(&mut transcript).join("\n") + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/terminal.outline"), &got).unwrap();
        return;
    }
    assert_eq!(got, expected, "UPDATE_SNAPSHOTS=1 writes it anew");
    assert_eq!(transcript.broken_lines(), 0);
}

#[test]
fn a_rewound_prompt_is_another_branch() {
    let mut transcript = open("terminal.jsonl");
    let edited = rows(&transcript).into_iter().find(|row| row.branch.is_some()).expect("a fork");
    let branch = edited.branch.unwrap();
    assert_eq!((branch.number, branch.siblings.len()), (2, 2));
    let shown = |transcript: &mut Transcript| outline(transcript).join("\n");
    assert!(shown(&mut transcript).contains("edited prompt instead"));
    transcript.show_branch(Some(branch.siblings[0])).unwrap();
    let other = shown(&mut transcript);
    assert!(other.contains("THINK with me") && !other.contains("edited prompt instead"));
    transcript.show_branch(None).unwrap();
    assert!(shown(&mut transcript).contains("edited prompt instead"));
}

#[test]
fn edits_have_hunks_and_both_texts() {
    let mut transcript = open("terminal.jsonl");
    let mut changes = Vec::new();
    for row in rows(&transcript) {
        for block in transcript.message(row.id, 1000).unwrap().blocks {
            let Block::ToolUse { id, result: Some(result), .. } = block else { continue };
            if let Some(Outcome::FileChange(change)) = &result.outcome {
                let texts = transcript.edit_texts(&id).unwrap().unwrap();
                changes.push((change.path.clone(), change.created, change.hunks.len(), texts.before, texts.after));
            }
        }
    }
    let edit = ("/home/u/proj/a.txt".into(), false, 1, Some("one\ntwo\nthree\n".into()), "one\nTWO\nthree\n".into());
    let write = ("/home/u/proj/new.txt".into(), true, 0, None, "hey\n".into());
    assert_eq!(changes, [edit, write]);
}

#[test]
fn the_subagent_belongs_to_its_call() {
    let agents = agents_of(&fixture("terminal.jsonl"));
    let [agent] = agents.as_slice() else { panic!("one subagent: {agents:?}") };
    let transcript = open("terminal.jsonl");
    let owner = transcript.message_of_tool(agent.tool_use_id.as_deref().unwrap()).expect("the call");
    assert!(rows(&transcript).iter().any(|row| row.id == owner && row.tools[0].name.as_str() == "Agent"));
    let inner = rows(&Transcript::open(&agent.file, &Cancel::new()).unwrap());
    let kinds: Vec<_> = inner.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [RowKind::Prompt, RowKind::Reply, RowKind::Reply]);
    assert_eq!(inner[1].tools[0].status, ToolStatus::Done);
}

#[test]
fn a_fork_a_cleared_and_a_headless_session_read_too() {
    let forked = outline(&mut open("forked.jsonl"));
    assert!(forked.first().unwrap().starts_with("Compaction"), "{forked:#?}");
    assert!(forked.iter().any(|row| row.contains("edited prompt instead")));
    assert!(forked.iter().any(|row| row.contains("forked hello")));
    let cleared = outline(&mut open("cleared.jsonl"));
    assert!(cleared.iter().any(|row| row == "Prompt  in new session"), "{cleared:#?}");
    let mut headless = open("headless.jsonl");
    let first = rows(&headless)[0].id;
    let image = headless.message(first, 100).unwrap().blocks.into_iter().find(|block| matches!(block, Block::Image(_)));
    assert!(matches!(image, Some(Block::Image(image)) if image.media_type == "image/png"));
}

/// A file cut within its last line reads like the file without that line, unless only its end is missing, and the rest
/// completes it.
#[test]
fn a_file_cut_at_any_byte_of_its_last_line_waits_for_the_rest() {
    let whole = fs::read(fixture("headless.jsonl")).unwrap();
    let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let last_message =
        lines.iter().rposition(|line| line.windows(18).any(|part| part == b"\"type\":\"assistant\"")).unwrap();
    let start: usize = lines[..last_message].iter().map(|line| line.len()).sum();
    let end = start + lines[last_message].len();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    fs::write(&file, &whole[..start]).unwrap();
    let without = outline(&mut Transcript::open(&file, &Cancel::new()).unwrap());
    fs::write(&file, &whole[..end]).unwrap();
    let with = outline(&mut Transcript::open(&file, &Cancel::new()).unwrap());
    assert_ne!(without, with);
    for cut in start..end {
        fs::write(&file, &whole[..cut]).unwrap();
        let mut transcript = Transcript::open(&file, &Cancel::new()).unwrap();
        let is_whole = cut + 1 == end;
        assert_eq!(outline(&mut transcript), if is_whole { &with } else { &without }[..], "cut at {cut}");
        assert_eq!(transcript.broken_lines(), 0);
        let mut rest = fs::File::options().append(true).open(&file).unwrap();
        std::io::Write::write_all(&mut rest, &whole[cut..end]).unwrap();
        let delta = transcript.refresh(&Cancel::new()).unwrap();
        assert!(!delta.reset && delta.is_empty() == is_whole, "cut at {cut}");
        assert_eq!(outline(&mut transcript), with, "cut at {cut}");
    }
}

#[test]
fn states_are_derived_from_transcripts() {
    let activity = |name: &str| infer(&fixture(name), Millis(0)).unwrap().activity;
    assert_eq!(activity("terminal.jsonl"), Activity::Gone, "it ends with the mark of a session that was left");
    assert_eq!(activity("cleared.jsonl"), Activity::Idle);
    assert_eq!(activity("headless.jsonl"), Activity::Gone);
}

#[test]
fn the_store_lists_them_with_titles_and_without_reading_all() {
    let dir = tempfile::tempdir().unwrap();
    let config = ConfigDir::at(dir.path());
    let folder = config.projects().join("-home-u-proj");
    fs::create_dir_all(&folder).unwrap();
    for name in ["terminal", "forked", "cleared", "headless"] {
        fs::copy(fixture(&format!("{name}.jsonl")), folder.join(format!("{name}.jsonl"))).unwrap();
    }
    fs::write(folder.join("agent-x.jsonl"), "{}\n").unwrap();
    fs::write(folder.join("empty.jsonl"), "{\"type\":\"mode\",\"mode\":\"normal\"}\n").unwrap();
    let other = fs::read_to_string(fixture("headless.jsonl")).unwrap().replace("/home/u/proj", "/home/u-proj");
    fs::write(folder.join("other.jsonl"), other).unwrap();

    let mut store = Store::new(config.clone(), Some(dir.path().join("cache.json")));
    let list = store.list(&Scope::Folder("/home/u/proj".into()), &Cancel::new()).unwrap();
    let mut ids: Vec<_> = list.iter().map(|summary| summary.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["cleared", "forked", "headless", "terminal"], "not the one that only shares the folder's name");

    let by_id = |id: &str| list.iter().find(|summary| summary.id == SessionId::new(id)).unwrap();
    let terminal = by_id("terminal");
    assert_eq!((terminal.title.as_deref(), terminal.named), (Some("My nice title"), true));
    assert_eq!(terminal.first_prompt.as_deref(), Some("Hello there, first prompt"));
    assert_eq!(terminal.last_prompt.as_deref(), Some("resumed hello"));
    assert_eq!(terminal.branch.as_deref(), Some("master"));
    assert_eq!(terminal.model.as_deref(), Some("claude-opus-5-5"));
    assert_eq!(terminal.cwd.as_deref(), Some(Path::new("/home/u/proj")));
    assert_eq!(by_id("headless").title.as_deref(), Some("THINK what is this"));
    assert!(by_id("forked").forked_from.is_some() && terminal.forked_from.is_none());

    let mut count = |budget: u64| {
        let counted = store.tally(&folder.join("terminal.jsonl"), &mut { budget }, &Cancel::new());
        counted.unwrap().unwrap()
    };
    let (some, is_complete) = count(1);
    assert!(!is_complete && some.messages() > 0, "the first piece: {some:?}");
    let (tally, is_complete) = count(u64::MAX);
    let counted = tally.messages();
    assert!(is_complete && counted > 15, "{counted}");
    assert!(tally.tokens() > 0 && tally.files() > 0 && tally.added > 0, "{tally:?}");
    assert_eq!((tally.words.as_str(), tally.by_user), ("Hello from the mock. MOCK-REPLY", false));
    store.save().unwrap();
    let mut again = Store::new(config.clone(), Some(dir.path().join("cache.json")));
    let found = again.list(&Scope::Folder("/home/u/proj".into()), &Cancel::new()).unwrap();
    assert_eq!(found.iter().find(|summary| summary.id.as_str() == "terminal").unwrap().messages, Some(counted));
    assert_eq!(again.find(&SessionId::new("other")).unwrap(), folder.join("other.jsonl"));
    assert!(again.find(&SessionId::new("../other")).is_err());
}
