use std::fs::File;
use std::io::Write;

use serde_json::Value;

use super::*;

const ALL: usize = usize::MAX;

struct Lab {
    dir: tempfile::TempDir,
    feed: Feed,
}

impl Lab {
    fn new(lines: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let feed = Feed::new(dir.path().join("s.jsonl"));
        let lab = Self { dir, feed };
        lab.append(lines);
        lab
    }

    fn append(&self, lines: &[&str]) {
        let path = self.dir.path().join("s.jsonl");
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
    }

    fn advance(&mut self) -> Vec<String> {
        texts(&self.feed.advance(ALL).unwrap().page)
    }
}

fn texts(page: &FeedPage) -> Vec<String> {
    let mut start = 0;
    let line = |end: &usize| {
        let text = String::from_utf8(page.text[start..*end].to_vec()).unwrap();
        start = *end;
        text
    };
    page.ends.iter().map(line).collect()
}

fn user(uuid: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(r#"{{"parentUuid":{parent},"type":"user","uuid":"{uuid}","message":{{"parentUuid":"inner"}}}}"#)
}

#[test]
fn only_listed_lines_come_out_verbatim() {
    let shown = [
        r#"{"type":"user","a":[1,  2]}"#,
        r#"{"type":"queue-operation","operation":"dequeue"}"#,
        r#"{"type":"summary","summary":"x"}"#,
    ];
    let mut lab = Lab::new(&[
        r#"{"type":"api-request-blob","message":"secret"}"#,
        r#"{ "type": "api-request"}"#,
        shown[0],
        r#"{"type":"attachment","rendered":"secret"}"#,
        r#"{"type":"custom-title","customTitle":"t"}"#,
        r#"{"type":"a-new-kind"}"#,
        r#"{"type":"user","type":"api-request","message":"secret"}"#,
        r#"{"type":"user","#,
        "",
        shown[1],
        shown[2],
    ]);
    assert_eq!(lab.advance(), shown);
    assert_eq!(lab.advance(), [""; 0], "each once");
    assert_eq!(texts(&lab.feed.page(0, ALL, ALL).unwrap()), shown, "and again when asked for");
}

/// As CLI 2.1.329 writes what a user types while Claude works.
#[test]
fn a_prompt_typed_while_claude_worked_comes_as_an_ordinary_one() {
    let queued = |uuid: &str, parent: &str, more: &str| {
        format!(
            r#"{{"parentUuid":"{parent}","attachment":{{"type":"queued_command","prompt":"and \"this\"","note":"secret"{more}}},"type":"attachment","uuid":"{uuid}","timestamp":"t","rendered":[{{"content":"secret"}}],"sessionId":"s"}}"#
        )
    };
    let mut lab = Lab::new(&[
        &user("a", ""),
        r#"{"type":"attachment","uuid":"b","parentUuid":"a"}"#,
        &queued("c", "b", r#","humanTurn":true"#),
        // What the CLI tells itself: the end of a task.
        &queued("d", "c", ""),
        &queued("e", "c", r#","humanTurn":true"#),
        &user("f", "d"),
    ]);
    let prompt = |uuid: &str, parent: &str| {
        format!(
            r#"{{"parentUuid":"{parent}","type":"user","message":{{"role":"user","content":"and \"this\""}},"uuid":"{uuid}","timestamp":"t","sessionId":"s"}}"#
        )
    };
    let expected = [user("a", ""), prompt("c", "a"), prompt("e", "c"), user("f", "c")];
    assert_eq!(lab.advance(), expected);
    assert_eq!(texts(&lab.feed.page(0, ALL, ALL).unwrap()), expected, "and again when asked for");
    assert_eq!(lab.feed.find("c"), Some(1));
}

#[test]
fn a_skipped_line_leaves_no_hole_in_the_tree() {
    let mut lab = Lab::new(&[
        &user("a", ""),
        r#"{"type":"attachment","uuid":"b","parentUuid":"a"}"#,
        r#"{"type":"attachment","uuid":"c","parentUuid":"b"}"#,
        &user("d", "c"),
        r#"{"type":"attachment","uuid":"first","parentUuid":null}"#,
        &user("e", "first"),
        r#"{"type":"system","subtype":"compact_boundary","uuid":"f","parentUuid":null,"logicalParentUuid":"c"}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"g","parentUuid":null,"logicalParentUuid":"d"}"#,
    ]);
    let parents = |texts: Vec<String>| -> Vec<Value> {
        let lines = texts.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
        lines.map(|line| line["parentUuid"].clone()).collect()
    };
    let expected = [Value::Null, "a".into(), Value::Null, "a".into(), "d".into()];
    assert_eq!(parents(lab.advance()), expected);
    assert_eq!(parents(texts(&lab.feed.page(0, ALL, ALL).unwrap())), expected);
    let inner: Value = serde_json::from_str(&texts(&lab.feed.page(1, 2, ALL).unwrap())[0]).unwrap();
    assert_eq!(inner["message"]["parentUuid"], "inner", "what lies deeper is not touched");
}

#[test]
fn pages_are_cut_by_bytes_and_found_by_uuid() {
    let lines: Vec<_> = (0..50).map(|n| user(&format!("u{n}"), "")).collect();
    let mut lab = Lab::new(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    lab.append(&[r#"{"type":"attachment","fill":"....................................................."}"#]);
    lab.append(&[&user("last", "u49")]);
    let mut seen = Vec::new();
    loop {
        let advance = lab.feed.advance(100).unwrap();
        assert_eq!(advance.page.from, seen.len());
        seen.extend(texts(&advance.page));
        if advance.at_end {
            break;
        }
    }
    assert_eq!((seen.len(), lab.feed.len()), (51, 51));
    let mut again = Vec::new();
    while again.len() < seen.len() {
        let page = lab.feed.page(again.len(), ALL, 100).unwrap();
        assert!(page.text.len() < 400 && page.from == again.len());
        again.extend(texts(&page));
    }
    assert_eq!(again, seen);
    assert_eq!(lab.feed.find("u7"), Some(7));
    assert_eq!(lab.feed.find("unknown"), None);
    assert_eq!(texts(&lab.feed.page(7, 9, ALL).unwrap()), seen[7..9]);
    assert_eq!(lab.feed.page(999, ALL, ALL).unwrap().ends, [0; 0]);
}

#[test]
fn a_file_that_is_replaced_begins_the_next_epoch() {
    let mut lab = Lab::new(&[&user("a", ""), &user("b", "a")]);
    assert_eq!(lab.advance().len(), 2);
    let other = lab.dir.path().join("other");
    std::fs::write(&other, user("a", "") + "\n" + &user("c", "") + "\n").unwrap();
    std::fs::rename(&other, lab.dir.path().join("s.jsonl")).unwrap();
    let advance = lab.feed.advance(ALL).unwrap();
    assert!(advance.replaced && advance.page.from == 0 && advance.page.ends.len() == 2);
    assert_eq!((lab.feed.epoch(), lab.feed.find("b"), lab.feed.find("c")), (1, None, Some(1)));
    assert_eq!(lab.feed.resume(0, 2), Some(1), "a was told and is there: c is new");
    assert_eq!(lab.feed.resume(0, 0), None);
    assert_eq!(lab.feed.resume(1, 2), None, "that is no number of the epoch before");
}

#[test]
fn a_file_that_is_not_there_yet_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let mut feed = Feed::new(dir.path().join("s.jsonl"));
    assert!(feed.advance(ALL).unwrap().at_end && feed.is_empty());
}
