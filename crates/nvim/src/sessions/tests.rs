//! Requests about sessions from beginning to end, without a Neovim.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::*;
use crate::options::parse;
use crate::queue::Queue;
use crate::value::Value;

struct Lab {
    dir: TempDir,
    queue: Arc<Queue>,
    service: Arc<Service>,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("projects/-p")).unwrap();
        let queue = Arc::<Queue>::default();
        let options = json!({
            "configDir": dir.path(),
            "cacheFile": dir.path().join("cache.json"),
            "log": { "path": dir.path().join("log"), "level": "off" },
        });
        let options: SessionsOptions = parse("options", options.to_string().as_bytes()).unwrap();
        let service = Service::start(Arc::clone(&queue), options).unwrap();
        Self { dir, queue, service }
    }

    fn transcript(&self, name: &str, prompts: usize) -> PathBuf {
        let file = self.dir.path().join("projects/-p").join(name);
        for number in 0..prompts {
            self.append(&file, &format!(r#"{{"type":"user","cwd":"/p","message":{{"content":"prompt {number}"}}}}"#));
        }
        file
    }

    fn append(&self, file: &PathBuf, line: &str) {
        let mut file = fs::File::options().append(true).create(true).open(file).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn ask(&self, request: Json) -> Result<u64, Error> {
        self.service.request(parse("request", request.to_string().as_bytes())?)
    }

    /// The next event that speaks of this request.
    fn hear(&self, request: u64) -> Json {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            assert!(Instant::now() < deadline, "nothing was heard of request {request}");
            match self.queue.poll() {
                Some(Value::Table(fields)) => {
                    let json = |value| match value {
                        Value::Id(id) => json!(id),
                        Value::Text(text) => json!(text),
                        Value::Json(json) => json,
                        other => panic!("unexpected {other:?}"),
                    };
                    let event: serde_json::Map<_, _> =
                        fields.into_iter().map(|(key, value)| (key.to_owned(), json(value))).collect();
                    if event.get("id") == Some(&json!(request)) {
                        return Json::Object(event);
                    }
                }
                Some(other) => panic!("unexpected {other:?}"),
                None => thread::yield_now(),
            }
        }
    }
}

fn question(transcript: u64, epoch: u64, question: Json) -> Json {
    json!({ "ask": { "transcript": transcript, "epoch": epoch, "question": question } })
}

#[test]
fn lists_finds_and_searches() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 3);
    let list = lab.ask(json!({ "list": { "scope": "all" } })).unwrap();
    assert_eq!(lab.hear(list)["result"][0]["id"], json!("s"));
    let find = lab.ask(json!({ "find": { "id": "s" } })).unwrap();
    assert_eq!(lab.hear(find)["result"], json!(file));
    let search = json!({ "search": { "pattern": "prompt 1", "case_sensitive": null, "place": { "scope": "all" } } });
    let search = lab.ask(search).unwrap();
    let mut events = vec![lab.hear(search)];
    while events.last().unwrap()["type"] != "session_reply" {
        events.push(lab.hear(search));
    }
    assert_eq!(events[0]["hits"][0]["text"], json!("prompt 1"));
    assert_eq!(events.last().unwrap()["result"]["hits"], json!(1));
}

#[test]
fn follows_a_transcript_until_it_is_closed() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 2);
    let id = lab.ask(json!({ "open": { "file": file } })).unwrap();
    assert_eq!(lab.hear(id)["result"]["len"], json!(2));
    lab.transcript("s.jsonl", 1);
    let change = lab.hear(id);
    assert_eq!((&change["type"], &change["info"]["len"]), (&json!("session_change"), &json!(3)));
    let rows = lab.ask(question(id, 1, json!({ "rows": { "from": 2, "count": 5 } }))).unwrap();
    assert_eq!(lab.hear(rows)["result"][0]["kind"], json!("prompt"));
    assert!(lab.service.cancel(id));
    assert!(matches!(
        lab.ask(question(id, 1, json!({ "agents": {} }))),
        Err(Error::UnknownTranscript { number }) if number == id
    ));
    lab.service.crew().wait();
}

#[test]
fn a_question_of_another_epoch_is_refused() {
    let lab = Lab::new();
    let id = lab.ask(json!({ "open": { "file": lab.transcript("s.jsonl", 2) } })).unwrap();
    lab.hear(id);
    let rows = lab.ask(question(id, 7, json!({ "rows": { "from": 0, "count": 5 } }))).unwrap();
    assert_eq!(lab.hear(rows)["err"], json!("the transcript was replaced"));
    lab.service.cancel_all();
}

#[test]
fn tells_the_state_of_a_session_that_no_record_speaks_of() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 1);
    let state = lab.ask(json!({ "state": { "id": "s", "file": file } })).unwrap();
    let state = &lab.hear(state)["result"];
    assert_eq!((&state["activity"], &state["source"]), (&json!("working"), &json!("transcript")));
    let mode = lab.ask(json!({ "mode": {} })).unwrap();
    assert!(["events", "polling"].map(Json::from).contains(&lab.hear(mode)["result"]));
}

#[test]
fn what_cannot_be_opened_is_an_error() {
    let lab = Lab::new();
    let id = lab.ask(json!({ "open": { "file": "/none.jsonl" } })).unwrap();
    assert!(lab.hear(id)["err"].as_str().unwrap().starts_with("could not read /none.jsonl: "));
    assert!(matches!(lab.ask(json!({ "dance": {} })), Err(Error::Json { .. })));
    assert!(matches!(lab.ask(json!({ "find": { "id": "x", "more": 1 } })), Err(Error::Json { .. })));
}

#[test]
fn too_many_at_once_are_refused_and_forgotten() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 1);
    let open = || lab.ask(json!({ "open": { "file": file } }));
    let opened: Vec<_> = std::iter::from_fn(|| open().ok()).collect();
    assert!(matches!(open(), Err(Error::Busy)));
    lab.service.cancel_all();
    lab.service.crew().wait();
    assert!(!opened.is_empty() && open().is_ok());
    lab.service.cancel_all();
}

#[test]
fn ends_while_a_search_runs() {
    let lab = Lab::new();
    for number in 0..50 {
        lab.transcript(&format!("{number}.jsonl"), 50);
    }
    let search = json!({ "search": { "pattern": "p.*t", "case_sensitive": null, "place": { "scope": "all" } } });
    let searches: Vec<_> = (0..10).map(|_| lab.ask(search.clone()).unwrap()).collect();
    assert_eq!(searches.len(), 10);
    lab.service.cancel_all();
    lab.service.crew().wait();
}
