//! Requests from beginning to end: what the sink receives.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Condvar, Weak, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::follows::Follows;
use super::request_sink::RequestSink;
use super::*;
use crate::config_dir::ConfigDir;
use crate::live::LiveChange;
use crate::watch::Update;

const DEADLINE: Duration = Duration::from_secs(120);

/// Records what it receives, as JSON.
#[derive(Default)]
struct Recorder {
    replies: Mutex<Vec<Json>>,
    more: Condvar,
}

impl Sink for Recorder {
    fn tell(&self, news: News) {
        let replies = match news {
            News::Reply { request, outcome: Ok(result) } => json!({ "type": "reply", "id": request, "result": result }),
            News::Reply { request, outcome: Err(error) } => json!({ "type": "reply", "id": request, "err": error }),
            News::Hit { request, hit } => json!({ "type": "hit", "id": request, "hit": hit }),
            News::Change { transcript, growth: Growth { change, info } } => {
                json!({ "type": "change", "id": transcript, "delta": change, "info": info })
            }
            News::Live(change) => json!({ "type": "live", "change": change }),
        };
        lock(&self.replies).push(replies);
        self.more.notify_all();
    }

    fn forget(&self, request: u64) {
        lock(&self.replies).retain(|replies| replies["id"] != json!(request));
    }
}

impl Recorder {
    /// Waits for the first message that matches; earlier ones are dropped.
    fn next(&self, what: &str, is_it: impl Fn(&Json) -> bool) -> Json {
        let deadline = Instant::now() + DEADLINE;
        let mut replies = lock(&self.replies);
        loop {
            if let Some(at) = replies.iter().position(&is_it) {
                return replies.drain(..=at).next_back().unwrap();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "nothing was heard of {what}");
            replies = self.more.wait_timeout(replies, left).unwrap().0;
        }
    }
}

#[test]
fn a_list_comes_after_the_running_sessions() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("projects/-p")).unwrap();
    fs::create_dir_all(dir.path().join("sessions")).unwrap();
    let own = std::process::id();
    let record = dir.path().join(format!("sessions/{own}.json"));
    fs::write(&record, format!(r#"{{"pid":{own},"sessionId":"s","cwd":"/p","status":"busy"}}"#)).unwrap();
    let before_look = crate::watch::BEFORE_LOOK.write().unwrap();
    let service = Service::start(ConfigDir::at(dir.path()), dir.path().join("cache.json")).unwrap();
    let recorder = Arc::<Recorder>::default();
    let client = service.join(Arc::<Recorder>::clone(&recorder));
    let list = client.request(serde_json::from_value(json!({ "list": { "scope": "all" } })).unwrap()).unwrap();
    let find = client.request(serde_json::from_value(json!({ "find": { "id": "x" } })).unwrap()).unwrap();
    recorder.next("what needs no look", |replies| replies["id"] == json!(find));
    drop(before_look);
    recorder.next("the session that runs", |replies| replies["type"] == "live");
    recorder.next("the list", |replies| replies["id"] == json!(list));
}

/// Hears of sessions, and looks what other readers know of them by then.
struct Early(Arc<Lives>, mpsc::Sender<bool>);

impl Sink for Early {
    fn tell(&self, news: News) {
        if let News::Live(change) = news {
            let _: Result<(), _> = self.1.send(self.0.of(change.session.id.as_str()).is_some());
        }
    }

    fn forget(&self, _request: u64) {}
}

/// Otherwise a page could answer what Neovim does not know of, and its words go into a question.
#[test]
fn a_client_hears_of_a_session_before_other_readers_do() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sessions")).unwrap();
    let service = Service::start(ConfigDir::at(dir.path()), dir.path().join("cache.json")).unwrap();
    let (tell, recorder) = mpsc::channel();
    let _client = service.join(Arc::new(Early(service.lives(), tell)));
    let own = std::process::id();
    let text = format!(r#"{{"pid":{own},"sessionId":"s","cwd":"/p","status":"waiting"}}"#);
    fs::write(dir.path().join("record"), text).unwrap();
    fs::rename(dir.path().join("record"), dir.path().join(format!("sessions/{own}.json"))).unwrap();
    assert!(!recorder.recv_timeout(DEADLINE).unwrap());
}

/// Is told of a session, and does not return until it is let go.
struct Slow(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>);

impl Sink for Slow {
    fn tell(&self, _: News) {
        self.0.send(()).unwrap();
        lock(&self.1).recv().unwrap();
    }

    fn forget(&self, _request: u64) {}
}

#[test]
fn what_runs_has_each_session_that_a_client_was_told_of() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sessions")).unwrap();
    let own = std::process::id();
    let text = format!(r#"{{"pid":{own},"sessionId":"s","cwd":"/p","status":"busy"}}"#);
    fs::write(dir.path().join(format!("sessions/{own}.json")), text).unwrap();
    let session = crate::live::live_sessions(&ConfigDir::at(dir.path())).unwrap().remove(0);
    let ((told, hears), (go_on, waits)) = (mpsc::channel(), mpsc::channel());
    let sink = Arc::new(RequestSink::new(Arc::new(Slow(told, Mutex::new(waits)))));
    let follows = &Follows::default();
    follows.listen(&sink);
    std::thread::scope(|threads| {
        threads.spawn(move || follows.take(Update::Live(Box::new(LiveChange { session, previous: None }))));
        hears.recv_timeout(DEADLINE).unwrap();
        let (answer, answered) = mpsc::channel();
        threads.spawn(move || answer.send(follows.running().len()).unwrap());
        let early = answered.recv_timeout(Duration::from_millis(100));
        go_on.send(()).unwrap();
        assert_eq!(early.or_else(|_| answered.recv_timeout(DEADLINE)), Ok(1));
    });
}

/// Waits for a running session; earlier messages are dropped.
fn live(recorder: &Recorder, id: &str) -> Json {
    recorder.next("a running session", |news| {
        news["type"] == "live"
            && news["change"]["session"]["id"] == id
            && news["change"]["session"]["state"]["activity"] != "gone"
    })
}

/// The CLIs of two accounts.
#[test]
fn the_sessions_of_several_folders_are_one_list() {
    let dir = tempfile::tempdir().unwrap();
    let (home, work) = (ConfigDir::at(dir.path().join("home")), ConfigDir::at(dir.path().join("work")));
    for (dir, id) in [(&home, "private"), (&work, "paid")] {
        let file = dir.projects().join(format!("-p/{id}.jsonl"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "{\"type\":\"user\",\"cwd\":\"/p\",\"message\":{\"content\":\"a prompt\"}}\n").unwrap();
        fs::create_dir_all(dir.sessions()).unwrap();
    }
    let pid = std::process::id();
    let record = |dir: &ConfigDir, id: &str, pid: u32| {
        let text = format!(r#"{{"pid":{pid},"sessionId":"{id}","cwd":"/p","status":"idle"}}"#);
        fs::write(dir.sessions().join(format!("{pid}.json")), text).unwrap();
    };
    // A killed CLI had the number of one that runs now.
    fs::write(
        home.sessions().join(format!("{pid}.json")),
        format!(r#"{{"pid":{pid},"sessionId":"private","cwd":"/p","status":"idle","procStart":"1"}}"#),
    )
    .unwrap();
    record(&work, "paid", pid);
    let dirs: ConfigDirs = [home, work.clone()].into_iter().collect();
    let service = Service::start(dirs, dir.path().join("cache.json")).unwrap();
    let recorder = Arc::<Recorder>::default();
    let client = service.join(Arc::<Recorder>::clone(&recorder));
    assert_eq!(live(&recorder, "paid")["change"]["session"]["config_dir"], json!(work));
    let ask = |request: Json| {
        let number = client.request(serde_json::from_value(request).unwrap()).unwrap();
        recorder.next("an answer", |news| news["type"] == "reply" && news["id"] == json!(number))["result"].clone()
    };
    for scope in [
        json!({ "scope": "all" }),
        json!({ "scope": "folder", "folder": "/p" }),
        json!({ "scope": "tree", "folder": "/p" }),
    ] {
        let list = ask(json!({ "list": scope }));
        let mut found: Vec<_> =
            list.as_array().unwrap().iter().map(|one| (one["id"].as_str(), one["config_dir"].clone())).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [Some("paid"), Some("private")]);
        assert_eq!(found[0].1, json!(work));
    }
    let file = ask(json!({ "find": { "id": "paid" } }));
    assert_eq!(file, json!(work.projects().join("-p/paid.jsonl")));
    let hits = ask(json!({ "search": { "pattern": "a prompt", "place": { "scope": "all" } } }));
    assert_eq!(hits["hits"], 2);
}

/// The CLI deletes its transcripts after a month.
#[test]
fn a_kept_session_is_listed_once_and_stays_after_its_file_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let home = ConfigDir::at(dir.path().join("home"));
    let file = home.projects().join("-p/s.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::create_dir_all(home.sessions()).unwrap();
    fs::write(&file, "{\"type\":\"user\",\"cwd\":\"/p\",\"message\":{\"content\":\"a prompt\"}}\n").unwrap();
    let dirs = ConfigDirs::from(home.clone()).with_kept(ConfigDir::at(dir.path().join("kept")));
    let copy = dir.path().join("kept/projects/-p/s.jsonl");
    let service = Service::start(dirs, dir.path().join("cache.json")).unwrap();
    let recorder = Arc::<Recorder>::default();
    let client = service.join(Arc::<Recorder>::clone(&recorder));
    let ask = |request: Json| {
        let number = client.request(serde_json::from_value(request).unwrap()).unwrap();
        recorder.next("an answer", |news| news["type"] == "reply" && news["id"] == json!(number))["result"].clone()
    };
    let listed = |scope: &str| {
        let list = ask(json!({ "list": { "scope": scope, "folder": "/p" } }));
        let one = |one: &Json| (one["kept"].clone(), one["file"].clone(), one["config_dir"].clone());
        list.as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(listed("all"), [(Json::Null, json!(file), json!(home))]);
    assert_eq!(ask(json!({ "kept": { "file": file, "act": "keep" } })), json!(copy));
    for scope in ["all", "folder", "tree"] {
        assert_eq!(listed(scope), [(json!("beside"), json!(file), json!(home))], "{scope}");
    }
    // A turn that ends is copied, too, also what is written after its record.
    let mut more = fs::File::options().append(true).open(&file).unwrap();
    let mut grow = || writeln!(more, r#"{{"type":"user","cwd":"/p","message":{{"content":"another"}}}}"#).unwrap();
    let is_copied = || {
        let deadline = Instant::now() + DEADLINE;
        while fs::metadata(&copy).unwrap().len() != fs::metadata(&file).unwrap().len() {
            assert!(Instant::now() < deadline, "the copy does not grow");
            std::thread::yield_now();
        }
    };
    grow();
    let pid = std::process::id();
    let text = format!(r#"{{"pid":{pid},"sessionId":"s","cwd":"/p","status":"idle"}}"#);
    fs::write(dir.path().join("record"), text).unwrap();
    fs::rename(dir.path().join("record"), home.sessions().join(format!("{pid}.json"))).unwrap();
    is_copied();
    grow();
    is_copied();
    fs::remove_file(home.sessions().join(format!("{pid}.json"))).unwrap();
    fs::remove_file(&file).unwrap();
    for scope in ["all", "folder", "tree"] {
        assert_eq!(listed(scope), [(json!("only"), json!(copy), json!(home))], "{scope}");
    }
    assert_eq!(ask(json!({ "find": { "id": "s" } })), json!(copy));
    let hits = ask(json!({ "search": { "pattern": "another", "place": { "scope": "all" } } }));
    assert_eq!(hits["hits"], 2);
    assert_eq!(ask(json!({ "kept": { "file": copy, "act": "put_back" } })), json!(file));
    assert_eq!(listed("all"), [(json!("beside"), json!(file), json!(home))]);
    assert_eq!(ask(json!({ "find": { "id": "s" } })), json!(file));
    ask(json!({ "kept": { "file": file, "act": "remove" } }));
    assert_eq!(listed("all"), [(Json::Null, json!(file), json!(home))]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_folder_of_a_running_cli_is_read_from_then_on() {
    let lab = Lab::new();
    let work = ConfigDir::at(lab.dir.path().join("work"));
    fs::create_dir_all(work.sessions()).unwrap();
    let sleep = || {
        let mut command = std::process::Command::new("sleep");
        command.arg("600").env("CLAUDE_CONFIG_DIR", work.path()).spawn().unwrap()
    };
    let (mut cli, mut other) = (sleep(), sleep());
    let deadline = Instant::now() + DEADLINE;
    // Until it is another program, it has our environment.
    while ConfigDir::of_process(cli.id()).as_ref() != Some(&work) && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let record = |id: &str, pid: u32| {
        let text = format!(r#"{{"pid":{pid},"sessionId":"{id}","cwd":"/p","status":"idle"}}"#);
        fs::write(lab.dir.path().join("record"), text).unwrap();
        fs::rename(lab.dir.path().join("record"), work.sessions().join(format!("{pid}.json"))).unwrap();
    };
    record("first", cli.id());
    let asked = lab.ask(json!({ "process": { "pid": cli.id() } })).unwrap();
    live(&lab.recorder, "first");
    lab.client.cancel(asked);
    record("second", other.id());
    live(&lab.recorder, "second");
    let folder_of = |pid: u32| {
        let asked = lab.ask(json!({ "process": { "pid": pid } })).unwrap();
        lab.hear(asked)["result"].clone()
    };
    assert_eq!(folder_of(other.id()), json!(work));
    for child in [&mut cli, &mut other] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(folder_of(cli.id()), Json::Null, "it has ended");
}

struct Lab {
    dir: TempDir,
    recorder: Arc<Recorder>,
    client: Arc<Client>,
    service: Arc<Service>,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("projects/-p")).unwrap();
        let service = Service::start(ConfigDir::at(dir.path()), dir.path().join("cache.json")).unwrap();
        let recorder = Arc::<Recorder>::default();
        let client = service.join(Arc::<Recorder>::clone(&recorder));
        Self { dir, recorder, client, service }
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

    fn ask(&self, request: Json) -> Result<u64, ServiceError> {
        self.client.request(serde_json::from_value(request).unwrap())
    }

    /// The next message for this request; others before it are dropped.
    fn hear(&self, request: u64) -> Json {
        self.hear_any(&[request])
    }

    /// Waits for a matching message of each request.
    fn hear_each(&self, requests: &[u64], is_it: impl Fn(&Json) -> bool) {
        let mut left = requests.to_vec();
        while !left.is_empty() {
            let replies = self.hear_any(&left);
            left.retain(|request| replies["id"] != json!(request) || !is_it(&replies));
        }
    }

    fn hear_any(&self, requests: &[u64]) -> Json {
        self.recorder
            .next(&format!("{requests:?}"), |replies| requests.iter().any(|request| replies["id"] == json!(request)))
    }
}

fn question(transcript: u64, epoch: u64, question: Json) -> Json {
    json!({ "ask": { "transcript": transcript, "epoch": epoch, "question": question } })
}

#[test]
fn a_board_has_running_and_ended_sessions_and_grows_with_known_files() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 2);
    lab.transcript("old.jsonl", 1);
    fs::create_dir_all(lab.dir.path().join("sessions")).unwrap();
    let own = std::process::id();
    let records = [(own, "s"), (std::os::unix::process::parent_id(), "unwritten")];
    for (pid, id) in records {
        let text = format!(r#"{{"pid":{pid},"sessionId":"{id}","cwd":"/p","status":"busy"}}"#);
        fs::write(lab.dir.path().join("record"), text).unwrap();
        fs::rename(lab.dir.path().join("record"), lab.dir.path().join(format!("sessions/{pid}.json"))).unwrap();
        let named = format!("\"{id}\""); // the one before may be told of twice
        lab.recorder
            .next("a running session", |replies| replies["type"] == "live" && replies.to_string().contains(&named));
    }
    let board = |files: Json| {
        let options = json!({ "screen": { "width": 80 }, "ended": 10 });
        let board = json!({ "places": [{ "scope": "folder", "folder": "/p" }], "files": files, "options": options });
        let answer = lab.hear(lab.ask(json!({ "board": board })).unwrap());
        let rows = answer["result"]["rows"].as_array().unwrap().clone();
        assert_eq!(answer["result"]["more"], false);
        rows.into_iter().map(|row| (row["id"].clone(), row["lines"][1]["text"].clone())).collect::<Vec<_>>()
    };
    let mut rows = board(Json::Null);
    rows.sort_by_key(|(id, _)| id.to_string());
    assert_eq!(
        rows,
        [(json!("old"), Json::Null), (json!("s"), json!("  ❯ prompt 1")), (json!("unwritten"), json!(""))],
    );
    lab.append(&file, r#"{"type":"assistant","message":{"content":[{"type":"text","text":"done"}]}}"#);
    let grown = board(json!([file]));
    assert_eq!(grown.len(), 2, "what is not known is not looked for");
    assert!(grown.contains(&(json!("s"), json!("  done"))), "{grown:?}");
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
    while events.last().unwrap()["type"] != "reply" {
        events.push(lab.hear(search));
    }
    assert_eq!(events[0]["hit"]["text"], json!("prompt 1"));
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
    assert_eq!((&change["type"], &change["info"]["len"]), (&json!("change"), &json!(3)));
    let rows = lab.ask(question(id, 1, json!({ "rows": { "from": 2, "count": 5 } }))).unwrap();
    assert_eq!(lab.hear(rows)["result"][0]["kind"], json!("prompt"));
    assert!(lab.client.cancel(id));
    assert!(matches!(
        lab.ask(question(id, 1, json!({ "position": { "id": 0 } }))),
        Err(ServiceError::UnknownTranscript { number }) if number == id
    ));
    lab.service.shared.pools.wait();
}

#[test]
fn what_a_cli_shows_reaches_the_transcripts_of_its_session_that_want_it() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 1);
    let id = lab.ask(json!({ "open": { "file": file, "shows": true } })).unwrap();
    let plain = lab.ask(json!({ "open": { "file": file } })).unwrap();
    lab.hear_each(&[id, plain], |replies| replies["result"]["len"] == json!(1));
    let batch = |message| crate::Batch { message, index: 0, is_final: false, delta: "one\n" };
    lab.service.show("another", &batch("a"));
    lab.service.show("s", &batch("b"));
    let change = lab.hear(id);
    assert_eq!((&change["delta"]["from"], &change["info"]["len"]), (&json!(1), &json!(2)));
    let rows = lab.ask(question(id, 1, json!({ "rows": { "from": 1, "count": 5 } }))).unwrap();
    let row = lab.hear(rows)["result"][0]["id"].clone();
    let messages = lab.ask(question(id, 1, json!({ "messages": { "ids": [row], "max_text": 2 } }))).unwrap();
    assert_eq!(lab.hear(messages)["result"][0]["blocks"][0], json!({ "type": "text", "text": "on", "bytes": 4 }));
    lab.append(&file, r#"{"type":"assistant","message":{"content":[{"type":"text","text":"one\ntwo"}]}}"#);
    // Only what is recorded stays. The two may come in either order.
    lab.hear_each(&[id, plain], |news| (&news["delta"]["from"], &news["info"]["len"]) == (&json!(1), &json!(2)));
}

/// A CLI that shows something as soon as a transcript is open.
struct Hasty(Weak<Service>, mpsc::Sender<Json>);

impl Sink for Hasty {
    fn tell(&self, news: News) {
        match news {
            News::Reply { .. } => {
                let service = self.0.upgrade().unwrap();
                service.show("s", &crate::Batch { message: "a", index: 0, is_final: false, delta: "one\n" });
            }
            News::Change { growth, .. } => drop(self.1.send(growth.info)),
            _ => {}
        }
    }

    fn forget(&self, _request: u64) {}
}

#[test]
fn what_a_cli_shows_once_a_transcript_is_open_reaches_it() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 1);
    let (tell, heard) = mpsc::channel();
    let hasty = Arc::new(Hasty(Arc::downgrade(&lab.service), tell));
    let client = lab.service.join(hasty);
    let open = json!({ "open": { "file": file, "shows": true } });
    client.request(serde_json::from_value(open).unwrap()).unwrap();
    assert_eq!(heard.recv_timeout(DEADLINE).unwrap()["len"], json!(2));
}

/// A row is drawn by its number, with the one before it that shows; the rows that are too much at once are asked again.
#[test]
fn rows_are_drawn_by_their_numbers() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 1);
    let large = "word ".repeat(40_000);
    for said in ["hidden", large.as_str()] {
        let meta = said == "hidden";
        lab.append(&file, &json!({ "type": "user", "isMeta": meta, "message": { "content": said } }).to_string());
    }
    let id = lab.ask(json!({ "open": { "file": file } })).unwrap();
    assert_eq!(lab.hear(id)["result"]["len"], json!(3));
    let drawn = |rows: &[usize]| {
        let request = json!({ "rows": rows, "max_lines": 10 });
        let question = question(id, 1, json!({ "draw": { "request": request, "max_text": 100 } }));
        let answer = lab.ask(question).unwrap();
        lab.hear(answer)["result"].take()
    };
    let some = drawn(&[0, 1, 2, 9]);
    let places: Vec<_> = some.as_array().unwrap().iter().map(|one| (&one["at"], &one["row"]["kind"])).collect();
    assert_eq!(places, [(&json!(0), &json!("prompt")), (&json!(1), &json!("meta"))]);
    assert_eq!(some[0]["items"][0]["kind"], json!("heading"), "nothing precedes it");
    assert_eq!(some[1]["items"], json!([]));
    assert_eq!(drawn(&[2])[0]["items"][0]["kind"], json!("gap"), "the prompt precedes it");
    lab.service.close();
}

/// A hole in the list would be `vim.NIL` in Lua, where a message is expected.
#[test]
fn every_requested_message_comes_whatever_its_content() {
    let lab = Lab::new();
    let file = lab.dir.path().join("projects/-p/s.jsonl");
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    for input in [r#"{"command":"echo \ud83d"}"#, &deep, "1e999", r#"{"a":"\u0000"}"#] {
        lab.append(
            &file,
            &format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","input":{input}}}]}}}}"#),
        );
    }
    let id = lab.ask(json!({ "open": { "file": file } })).unwrap();
    lab.hear(id);
    let messages = json!({ "messages": { "ids": [0, 1, 2, 3], "max_text": 100 } });
    let messages = lab.ask(question(id, 1, messages)).unwrap();
    let reply = lab.hear(messages);
    let inputs: Vec<_> = (0..4).map(|at| &reply["result"][at]["blocks"][0]["input"]).collect();
    assert_eq!(inputs[0]["command"], json!("echo \u{fffd}"), "{reply}");
    assert!(inputs[1].is_string(), "{reply}");
    assert!(!inputs.contains(&&Json::Null), "{reply}");
    lab.service.close();
}

#[test]
fn a_question_of_another_epoch_is_refused() {
    let lab = Lab::new();
    let id = lab.ask(json!({ "open": { "file": lab.transcript("s.jsonl", 2) } })).unwrap();
    lab.hear(id);
    let rows = lab.ask(question(id, 7, json!({ "rows": { "from": 0, "count": 5 } }))).unwrap();
    assert_eq!(lab.hear(rows)["err"], json!("the transcript was replaced"));
    lab.service.close();
}

#[test]
fn reports_what_is_stored_of_a_session_and_how_it_watches() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 1);
    lab.append(&file, r#"{"type":"user","timestamp":"2026-01-01T00:00:01Z","message":{"content":"do it"}}"#);
    let stored = lab.ask(json!({ "stored": { "id": "s" } })).unwrap();
    assert_eq!(lab.hear(stored)["result"], json!({ "turn": true }));
    let since = lab.ask(json!({ "stored": { "id": "s", "since": 1_900_000_000_000_i64 } })).unwrap();
    assert_eq!(lab.hear(since)["result"], json!({ "turn": false }));
    let unknown = lab.ask(json!({ "stored": { "id": "t" } })).unwrap();
    assert!(lab.hear(unknown)["err"].is_string());
    let mode = lab.ask(json!({ "mode": {} })).unwrap();
    assert!(["events", "polling"].map(Json::from).contains(&lab.hear(mode)["result"]));
}

#[test]
fn an_unopenable_file_is_an_error() {
    let lab = Lab::new();
    let id = lab.ask(json!({ "open": { "file": "/none.jsonl" } })).unwrap();
    assert!(lab.hear(id)["err"].as_str().unwrap().starts_with("could not read /none.jsonl: "));
    assert!(serde_json::from_value::<Request>(json!({ "dance": {} })).is_err());
    assert!(serde_json::from_value::<Request>(json!({ "find": { "id": "x", "more": 1 } })).is_err());
}

/// Reader threads of this process, of any test.
#[cfg(target_os = "linux")]
fn readers() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok())
        .filter(|name| name.starts_with("claude-ide-read"))
        .count()
}

/// Regression: two CLIs with their subagents opened 66 transcripts, and all further ones were refused.
#[test]
fn hundreds_of_open_transcripts_refuse_no_client() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 2);
    let opened: Vec<_> = (0..300).map(|_| lab.ask(json!({ "open": { "file": file } })).unwrap()).collect();
    lab.hear_each(&opened, |event| event["result"]["len"] == json!(2));
    let rows = lab.ask(question(opened[299], 1, json!({ "rows": { "from": 0, "count": 5 } }))).unwrap();
    assert_eq!(lab.hear(rows)["result"][1]["kind"], json!("prompt"));
    lab.transcript("s.jsonl", 1);
    lab.hear_each(&opened, |event| event["info"]["len"] == json!(3));
    let list = lab.ask(json!({ "list": { "scope": "all" } })).unwrap();
    assert_eq!(lab.hear(list)["result"][0]["id"], json!("s"));
    for id in opened {
        assert!(lab.client.cancel(id));
    }
    lab.service.shared.pools.wait();
    assert_eq!(lab.service.shared.follows.followed(), 0);
    #[cfg(target_os = "linux")]
    assert!(readers() < 64, "other tests have a few");
}

#[test]
fn a_request_after_the_end_is_refused() {
    let lab = Lab::new();
    lab.service.close();
    assert!(matches!(lab.ask(json!({ "find": { "id": "s" } })), Err(ServiceError::Over)));
    assert!(matches!(lab.ask(json!({ "open": { "file": "/none" } })), Err(ServiceError::Over)));
    let Lab { client, service, .. } = lab;
    drop(service);
    assert!(matches!(client.request(Request::Mode {}), Err(ServiceError::Over)));
}

/// As an editor and a socket do: each receives its own messages, and one that leaves does not disturb the other.
#[test]
fn several_ask_side_by_side() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 2);
    let (recorder, open) = (Arc::<Recorder>::default(), json!({ "open": { "file": file } }));
    let other = lab.service.join(Arc::<Recorder>::clone(&recorder));
    let (ours, theirs) =
        (lab.ask(open.clone()).unwrap(), other.request(serde_json::from_value(open).unwrap()).unwrap());
    assert_eq!(lab.hear(ours)["result"]["len"], json!(2));
    assert_eq!(recorder.next("theirs", |replies| replies["id"] == json!(theirs))["result"]["len"], json!(2));
    assert!(!other.cancel(ours), "only the client that opened a transcript can close it");
    lab.service.leave(&other);
    lab.transcript("s.jsonl", 1);
    assert_eq!(lab.hear(ours)["info"]["len"], json!(3));
    assert!(matches!(other.request(Request::Mode {}), Err(ServiceError::Over)));
    assert!(lab.client.cancel(ours));
    lab.service.shared.pools.wait();
    assert_eq!(lab.service.shared.follows.followed(), 0);
}

#[test]
fn a_late_client_gets_the_running_sessions() {
    let lab = Lab::new();
    fs::create_dir_all(lab.dir.path().join("sessions")).unwrap();
    let pid = std::process::id();
    let record = json!({ "pid": pid, "sessionId": "s", "status": "busy" }).to_string();
    fs::write(lab.dir.path().join(format!("sessions/{pid}.json")), record).unwrap();
    let is_it = |replies: &Json| replies["type"] == "live" && replies["change"]["session"]["id"] == json!("s");
    lab.recorder.next("the session", is_it);
    let recorder = Arc::<Recorder>::default();
    lab.service.join(Arc::<Recorder>::clone(&recorder));
    assert!(is_it(&lock(&recorder.replies)[0]), "at once");
    lab.service.close();
}

/// A call drawn before its subagent is described is updated later, and the subagents are not sent with each line.
#[test]
fn subagents_are_reported_when_they_change() {
    let lab = Lab::new();
    let file = lab.dir.path().join("projects/-p/s.jsonl");
    lab.transcript("s.jsonl", 1);
    lab.append(
        &file,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Agent","input":{}}]}}"#,
    );
    let id = lab.ask(json!({ "open": { "file": file } })).unwrap();
    assert_eq!(lab.hear(id)["result"]["agents"], json!([]));
    let folder = file.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("agent-a.jsonl"), "{}\n").unwrap();
    fs::write(folder.join("agent-a.meta.json"), r#"{"toolUseId":"t1","agentType":"Explore"}"#).unwrap();
    // The file and its description are written one after the other and may be reported together.
    let linked = loop {
        let change = lab.hear(id);
        if change["info"]["agents"][0]["tool_use_id"] == json!("t1") {
            break change;
        }
    };
    assert_eq!(linked["delta"]["changed"], json!([1]), "the row of its call");
    let agent = &linked["info"]["agents"][0];
    assert_eq!((&agent["running"], &agent["agent_type"]), (&json!(true), &json!("Explore")));
    lab.transcript("s.jsonl", 1);
    let grown = loop {
        let change = lab.hear(id);
        if change["info"]["len"] == json!(3) {
            break change;
        }
    };
    assert_eq!(grown["info"].get("agents"), None, "{grown}");
    lab.service.close();
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
    lab.service.close();
    lab.service.shared.pools.wait();
}

#[tokio::test]
async fn another_reader_of_a_file_knows_when_it_changes_until_it_drops_that() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 1);
    let followed = lab.service.follow(&file);
    let mut changes = followed.changes();
    lab.append(&file, r#"{"type":"user"}"#);
    tokio::time::timeout(DEADLINE, changes.changed()).await.unwrap().unwrap();
    assert_eq!((lab.service.shared.follows.followed(), followed.readers()), (1, 1));
    drop(followed);
    assert_eq!(lab.service.shared.follows.followed(), 0);
}

#[tokio::test]
async fn rust_asks_by_types() {
    let lab = Lab::new();
    let file = lab.transcript("s.jsonl", 2);
    let (service, id) = (&lab.service, SessionId::new("s"));
    assert_eq!(service.list(Scope::All).await.unwrap().first().map(|one| one.id.clone()), Some(id.clone()));
    assert_eq!(service.find(id.clone()).await.unwrap(), file);
    assert!(matches!(
        service.find(SessionId::new("none")).await,
        Err(ServiceError::Session(SessionError::UnknownSession { .. }))
    ));
    assert_eq!(service.summary(file.clone()).await.unwrap().map(|one| one.id), Some(id.clone()));
    assert_eq!(service.state(id, file.clone()).await.unwrap().activity, crate::state::Activity::Working);
    assert!(service.agents(file).await.unwrap().is_empty());
    let lost = service.run(|_, _| -> Result<(), _> { panic!("on purpose") }).await;
    assert!(matches!(lost, Err(ServiceError::Lost)));
    service.close();
    assert!(matches!(service.list(Scope::All).await, Err(ServiceError::Over)));
}
