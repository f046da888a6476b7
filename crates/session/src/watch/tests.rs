use std::fs::{self, File};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::*;
use crate::state::Activity;

const DEADLINE: Duration = Duration::from_secs(10);

struct Bench {
    dir: tempfile::TempDir,
    updates: Receiver<(Instant, Update)>,
    watcher: Watcher,
}

impl Bench {
    fn new(polling: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        fs::create_dir_all(config.sessions()).unwrap();
        fs::create_dir_all(config.projects().join("p")).unwrap();
        let (sender, updates) = channel();
        let receive = move |update| drop(sender.send((Instant::now(), update)));
        let watcher = if polling { Watcher::start_polling(config, receive) } else { Watcher::start(config, receive) };
        Self { dir, updates, watcher: watcher.unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("projects/p").join(name)
    }

    fn append(&self, name: &str, text: &str) -> Instant {
        let mut file = File::options().append(true).create(true).open(self.file(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Instant::now()
    }

    fn next(&self) -> (Instant, Update) {
        self.updates.recv_timeout(DEADLINE).expect("an update")
    }

    /// The next lines of a follower, as text.
    fn lines(&self) -> (Instant, Vec<String>, bool) {
        loop {
            if let (at, Update::Lines { lines, replaced, .. }) = self.next() {
                return (at, lines.iter().map(|line| line.raw.get().to_owned()).collect(), replaced);
            }
        }
    }

    fn record(&self, id: &str, status: &str) {
        let json = format!(r#"{{"pid":{},"sessionId":"{id}","cwd":"/p","status":"{status}"}}"#, std::process::id());
        fs::write(self.dir.path().join(format!("sessions/{}.json", std::process::id())), json).unwrap();
    }

    fn live(&self) -> (String, Activity, Option<SessionId>) {
        loop {
            if let (_, Update::Live(change)) = self.next() {
                return (change.session.id.to_string(), change.session.state.activity, change.previous);
            }
        }
    }
}

fn each_line_comes_once(polling: bool) {
    let bench = Bench::new(polling);
    bench.append("s.jsonl", "{\"n\":1}\n");
    bench.watcher.follow(bench.file("s.jsonl"), From::Start).unwrap();
    assert_eq!(bench.lines().1, [r#"{"n":1}"#]);
    for n in 2..30 {
        bench.append("s.jsonl", "{\"n\"");
        bench.append("s.jsonl", &format!(":{n}}}\n"));
        assert_eq!(bench.lines().1, [format!("{{\"n\":{n}}}")]);
    }
    fs::write(bench.file("s.jsonl"), "{\"n\":0}\n").unwrap();
    let (_, lines, replaced) = bench.lines();
    assert!(replaced && lines == [r#"{"n":0}"#] || bench.lines().1 == [r#"{"n":0}"#]);
}

#[test]
fn each_line_comes_once_by_events() {
    each_line_comes_once(false);
}

#[test]
fn each_line_comes_once_by_polling() {
    each_line_comes_once(true);
}

#[test]
fn a_new_line_is_seen_soon_after_its_write() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "");
    bench.watcher.follow(bench.file("s.jsonl"), From::End).unwrap();
    bench.append("s.jsonl", "{\"n\":0}\n");
    bench.lines();
    let mut waits: Vec<_> =
        (1..20).map(|n| (bench.append("s.jsonl", &format!("{{\"n\":{n}}}\n")), bench.lines().0)).collect();
    waits.sort_by_key(|(written, seen)| seen.saturating_duration_since(*written));
    let (written, seen) = waits[waits.len() / 2];
    let median = seen.saturating_duration_since(written);
    assert!(median <= Duration::from_millis(20), "{median:?}");
}

#[test]
fn our_own_reads_wake_nobody() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "{\"n\":1}\n");
    bench.watcher.follow(bench.file("s.jsonl"), From::Start).unwrap();
    bench.lines();
    bench.append("s.jsonl", "{\"n\":2}\n");
    bench.lines();
    let before = bench.watcher.wakes();
    for _ in 0..50 {
        fs::read(bench.file("s.jsonl")).unwrap();
    }
    // Events come in order: when the one after the reads is here, theirs would have been.
    bench.append("s.jsonl", "{\"n\":3}\n");
    bench.lines();
    assert!(bench.watcher.wakes() - before <= 2, "{} wakes", bench.watcher.wakes() - before);
}

#[test]
fn a_new_session_in_a_watched_folder_appears_and_clear_is_told() {
    let bench = Bench::new(false);
    bench.watcher.watch_folder(bench.file(""));
    bench.record("a", "busy");
    assert_eq!(bench.live(), ("a".into(), Activity::Working, None));
    bench.append("b.jsonl", "{}\n");
    bench.record("b", "idle");
    let (mut appeared, mut cleared) = (false, false);
    while !(appeared && cleared) {
        match bench.next().1 {
            Update::Appeared { id, .. } => appeared = id == SessionId::new("b"),
            Update::Live(change) => cleared |= change.previous == Some(SessionId::new("a")),
            Update::Lines { .. } => panic!("nothing is followed"),
        }
    }
    fs::remove_file(bench.dir.path().join(format!("sessions/{}.json", std::process::id()))).unwrap();
    assert_eq!(bench.live(), ("b".into(), Activity::Gone, None));
}

#[test]
fn a_file_that_comes_later_is_followed_too() {
    let bench = Bench::new(false);
    let folder = bench.dir.path().join("projects/later");
    let follow = bench.watcher.follow(folder.join("s.jsonl"), From::Start).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("s.jsonl"), "{\"n\":1}\n").unwrap();
    assert_eq!(bench.lines().1, [r#"{"n":1}"#]);
    bench.watcher.unfollow(follow);
}

/// The first session of a project makes the project's folder, and the first CLI ever makes all of them.
#[test]
fn folders_that_come_later_are_watched_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let config = ConfigDir::at(dir.path().join("config"));
    let project = config.projects().join("p");
    let (sender, updates) = channel();
    let watcher = Watcher::start(config, move |update| drop(sender.send(update))).unwrap();
    watcher.watch_folder(&project);
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("s.jsonl"), "{}\n").unwrap();
    let update = updates.recv_timeout(DEADLINE).expect("an update");
    assert!(matches!(update, Update::Appeared { id, .. } if id == SessionId::new("s")));
}

#[test]
fn nothing_is_said_of_what_never_leaves() {
    let bench = Bench::new(false);
    bench.watcher.follow(bench.file("s.jsonl"), From::Start).unwrap();
    bench.append("s.jsonl", "{\"type\":\"api-request\",\"secret\":1}\n");
    assert_eq!(bench.lines().1, Vec::<String>::new());
    drop(bench.watcher);
    assert!(matches!(bench.updates.recv_timeout(DEADLINE), Err(RecvTimeoutError::Disconnected)));
}
