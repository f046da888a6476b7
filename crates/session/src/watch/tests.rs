use std::fs::{self, File};
use std::io::Write;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use claude_ide_system::testing::where_sigpipe_ends;

use super::*;
use crate::config_dir::ConfigDir;
use crate::id::SessionId;
use crate::state::Activity;

const DEADLINE: Duration = Duration::from_secs(120);

struct Bench {
    dir: tempfile::TempDir,
    updates: Receiver<Update>,
    watcher: Watcher,
}

impl Bench {
    fn new(polling: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        fs::create_dir_all(config.sessions()).unwrap();
        fs::create_dir_all(config.projects().join("p")).unwrap();
        let (sender, updates) = channel();
        let receive = move |update| drop(sender.send(update));
        let watcher = if polling {
            Watcher::start_polling(config.into(), receive)
        } else {
            Watcher::start(config.into(), receive)
        };
        Self { dir, updates, watcher: watcher.unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("projects/p").join(name)
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = File::options().append(true).create(true).open(self.file(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn follow(&self, name: &str) -> FollowId {
        self.watcher.follow(self.file(name), 0)
    }

    /// A file appears, which is a single event. (A move is two, of which the second may come late.)
    fn link(&self, name: &str) {
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        fs::hard_link(elsewhere.path(), self.file(name)).unwrap();
    }

    fn next(&self) -> Update {
        self.updates.recv_timeout(DEADLINE).expect("an update")
    }

    /// Waits for news of a follower; returns how often another one had news meanwhile.
    fn news_of(&self, follow: FollowId, other: Option<FollowId>) -> usize {
        let mut count = 0;
        loop {
            match self.next() {
                Update::News { follow: of } if of == follow => return count,
                Update::News { follow: of } => count += usize::from(Some(of) == other),
                Update::Live(_) => {}
            }
        }
    }

    fn news(&self, follow: FollowId) {
        self.news_of(follow, None);
    }

    fn record(&self, id: &str, status: &str) {
        let json = format!(r#"{{"pid":{},"sessionId":"{id}","cwd":"/p","status":"{status}"}}"#, std::process::id());
        fs::write(self.dir.path().join(format!("sessions/{}.json", std::process::id())), json).unwrap();
    }

    fn live(&self) -> (String, Activity, Option<SessionId>) {
        loop {
            if let Update::Live(change) = self.next() {
                return (change.session.id.to_string(), change.session.state.activity, change.previous);
            }
        }
    }
}

fn changes_are_news(polling: bool) {
    let bench = Bench::new(polling);
    bench.append("s.jsonl", "{}\n");
    let follow = bench.follow("s.jsonl");
    bench.news(follow);
    for _ in 0..5 {
        bench.append("s.jsonl", "{}\n");
        bench.news(follow);
    }
    let other = bench.file("other");
    fs::copy(bench.file("s.jsonl"), &other).unwrap();
    fs::rename(other, bench.file("s.jsonl")).unwrap();
    bench.news(follow);
    bench.append("s.jsonl", "{}\n");
    bench.news(follow);
    bench.watcher.unfollow(follow);
}

#[test]
fn changes_are_news_by_events() {
    changes_are_news(false);
}

#[test]
fn changes_are_news_by_polling() {
    changes_are_news(true);
}

/// Without polling, which could have found it instead.
#[cfg(target_os = "linux")]
#[test]
fn a_new_line_wakes_a_watcher_that_sleeps() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "");
    let follow = bench.follow("s.jsonl");
    for n in 0..20 {
        eventually("it sleeps", || bench.watcher.mode() == WatchMode::Events && bench.watcher.sleeps());
        bench.append("s.jsonl", &format!("{{\"n\":{n}}}\n"));
        bench.news(follow);
    }
}

#[test]
fn our_own_reads_wake_no_watcher() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "{\"n\":1}\n");
    let follow = bench.follow("s.jsonl");
    let (before, after) = (bench.follow("before.jsonl"), bench.follow("after.jsonl"));
    bench.news(follow);
    eventually("it sleeps", || bench.watcher.sleeps());
    // Found by its event: earlier ones were processed.
    bench.link("before.jsonl");
    bench.news(before);
    let wakes = bench.watcher.wakes();
    for _ in 0..50 {
        fs::read(bench.file("s.jsonl")).unwrap();
    }
    bench.link("after.jsonl");
    bench.news(after);
    assert_eq!(bench.watcher.wakes() - wakes, 1, "what came after the reads");
}

#[test]
fn clear_is_reported() {
    let bench = Bench::new(false);
    bench.record("a", "busy");
    assert_eq!(bench.live(), ("a".into(), Activity::Working, None));
    bench.record("b", "idle");
    while bench.live().2 != Some(SessionId::new("a")) {}
    fs::remove_file(bench.dir.path().join(format!("sessions/{}.json", std::process::id()))).unwrap();
    while bench.live().1 != Activity::Gone {}
}

/// A project's first session creates its folder, and the first CLI creates all of them.
#[test]
fn files_and_folders_that_come_later_are_watched_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let config = ConfigDir::at(dir.path().join("config"));
    let project = config.projects().join("p");
    let (sender, updates) = channel();
    let watcher = Watcher::start(config.into(), move |update| drop(sender.send(update))).unwrap();
    let follow = watcher.follow(project.join("s.jsonl"), 0);
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("s.jsonl"), "{}\n").unwrap();
    let update = updates.recv_timeout(DEADLINE).expect("an update");
    assert!(matches!(update, Update::News { follow: of } if of == follow));
}

/// Waits until the condition holds once the watcher's thread has settled.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn there_is_no_polling_where_the_system_sends_events() {
    let bench = Bench::new(false);
    bench.record("a", "busy");
    bench.live();
    bench.follow("later/s.jsonl");
    let follow = bench.follow("s.jsonl");
    bench.append("s.jsonl", "{}\n");
    bench.news(follow);
    eventually("it sleeps", || bench.watcher.mode() == WatchMode::Events && bench.watcher.sleeps());
    let polling = Bench::new(true);
    eventually("it polls", || polling.watcher.mode() == WatchMode::Polling);
}

#[cfg(unix)]
#[test]
fn a_killed_process_is_gone_at_once_though_its_record_stays() {
    let bench = Bench::new(false);
    let mut process = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let json = format!(r#"{{"pid":{},"sessionId":"killed","cwd":"/p","status":"busy"}}"#, process.id());
    fs::write(bench.dir.path().join(format!("sessions/{}.json", process.id())), json).unwrap();
    assert_eq!(bench.live(), ("killed".into(), Activity::Working, None));
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(bench.live(), ("killed".into(), Activity::Gone, None));
}

#[test]
fn a_session_whose_record_has_no_state_is_followed_by_its_transcript() {
    let bench = Bench::new(false);
    let project = bench.dir.path().join("projects/-p");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("old.jsonl"), "{\"type\":\"user\",\"message\":{\"content\":\"do it\"}}\n").unwrap();
    let json = format!(r#"{{"pid":{},"sessionId":"old","cwd":"/p"}}"#, std::process::id());
    fs::write(bench.dir.path().join("sessions/1.json"), json).unwrap();
    assert_eq!(bench.live().1, Activity::Working);
    let answer = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n";
    let mut file = File::options().append(true).open(project.join("old.jsonl")).unwrap();
    file.write_all(answer.as_bytes()).unwrap();
    assert_eq!(bench.live().1, Activity::Idle);
}

#[test]
fn a_folder_that_goes_and_comes_back_is_watched_again() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "{}\n");
    let follow = bench.follow("s.jsonl");
    bench.news(follow);
    fs::remove_dir_all(bench.file("")).unwrap();
    fs::create_dir_all(bench.file("")).unwrap();
    for _ in 0..2 {
        bench.append("s.jsonl", "{}\n");
        bench.news(follow);
    }
}

#[test]
fn news_of_a_transcript_are_its_growth_and_its_subagents_but_not_their_lines() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "{}\n");
    let follow = bench.watcher.follow(bench.file("s.jsonl"), 3);
    bench.append("s.jsonl", "{}\n");
    bench.news(follow);
    fs::create_dir_all(bench.file("s/subagents")).unwrap();
    bench.append("s/subagents/agent-a.jsonl", "{}\n");
    bench.news(follow);
    bench.append("s/subagents/agent-a.meta.json", "{}");
    bench.news(follow);
    let (agent, first, last) =
        (bench.follow("s/subagents/agent-a.jsonl"), bench.follow("first.jsonl"), bench.follow("last.jsonl"));
    bench.news(agent);
    // Lets the remaining events of these changes pass: events come in order.
    bench.link("first.jsonl");
    bench.news(first);
    for n in 0..40 {
        bench.append("s/subagents/agent-a.jsonl", &format!("{{\"n\":{n}}}\n"));
    }
    bench.link("last.jsonl");
    let news = bench.news_of(last, Some(follow));
    // At most its appearance, if its folder was watched too late to report it.
    assert!(news <= 1, "{news}");
}

#[test]
fn a_write_of_its_thread_without_a_reader_ends_no_process() {
    where_sigpipe_ends("watch::tests::a_write_of_its_thread_without_a_reader_ends_no_process", || {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "").unwrap();
        let (sender, kinds) = channel();
        let receive = move |_| {
            let (reader, mut writer) = std::io::pipe().unwrap();
            drop(reader);
            sender.send(writer.write_all(b"x").unwrap_err().kind()).ok();
        };
        let watcher = Watcher::start_polling(ConfigDir::at(dir.path()).into(), receive).unwrap();
        watcher.follow(dir.path().join("a"), 0);
        fs::write(dir.path().join("a"), "{}\n").unwrap();
        assert_eq!(kinds.recv_timeout(DEADLINE).unwrap(), std::io::ErrorKind::BrokenPipe);
    });
}
