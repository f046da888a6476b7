use std::fs::{self, File};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use claude_ide_system::testing::where_sigpipe_ends;

use super::*;
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
        let watcher = if polling { Watcher::start_polling(config, receive) } else { Watcher::start(config, receive) };
        Self { dir, updates, watcher: watcher.unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("projects/p").join(name)
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = File::options().append(true).create(true).open(self.file(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until all earlier file changes were processed in a watched folder: events come in order.
    fn catch_up(&self, name: &str) {
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        // A hard link is a single event. (A move is two, of which the second may come late.)
        fs::hard_link(elsewhere.path(), self.file(name)).unwrap();
        let is_it = |update| matches!(update, Update::Appeared { file, .. } if file == self.file(name));
        while !is_it(self.next()) {}
    }

    fn next(&self) -> Update {
        self.updates.recv_timeout(DEADLINE).expect("an update")
    }

    /// The next lines of a follower, and whether the file was replaced.
    fn lines(&self) -> (Vec<String>, bool) {
        loop {
            if let Update::Lines { lines, replaced, .. } = self.next() {
                return (lines.iter().map(|line| line.raw.get().to_owned()).collect(), replaced);
            }
        }
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

/// All lines of a file up to `last`, and how often it was reported replaced.
fn lines_until(bench: &Bench, last: &str) -> (Vec<String>, usize) {
    let (mut all, mut replacements) = (Vec::new(), 0);
    while all.last().is_none_or(|line| line != last) {
        let (lines, replaced) = bench.lines();
        if replaced {
            replacements += 1;
            all.clear();
        }
        all.extend(lines);
    }
    (all, replacements)
}

fn each_line_comes_once(polling: bool) {
    let line = |n: usize| format!("{{\"n\":{n}}}");
    let bench = Bench::new(polling);
    bench.append("s.jsonl", &(line(1) + "\n"));
    bench.watcher.follow(bench.file("s.jsonl"), From::Start).unwrap();
    for n in 2..30 {
        bench.append("s.jsonl", "{\"n\"");
        bench.append("s.jsonl", &format!(":{n}}}\n"));
    }
    // Lines repeated before the last one would be among these; those after it would precede the next.
    assert_eq!(lines_until(&bench, &line(29)), ((1..30).map(line).collect(), 0));
    bench.append("s.jsonl", &(line(30) + "\n"));
    assert_eq!(lines_until(&bench, &line(30)), (vec![line(30)], 0));
    let other = bench.file("other");
    fs::write(&other, line(31) + "\n" + &line(32) + "\n").unwrap();
    fs::rename(other, bench.file("s.jsonl")).unwrap();
    assert_eq!(lines_until(&bench, &line(32)), (vec![line(31), line(32)], 1));
    bench.append("s.jsonl", &(line(33) + "\n"));
    assert_eq!(lines_until(&bench, &line(33)), (vec![line(33)], 0));
}

#[test]
fn each_line_comes_once_by_events() {
    each_line_comes_once(false);
}

#[test]
fn each_line_comes_once_by_polling() {
    each_line_comes_once(true);
}

/// Without polling, which could have found it instead.
#[cfg(target_os = "linux")]
#[test]
fn a_new_line_wakes_a_watcher_that_sleeps() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "");
    bench.watcher.follow(bench.file("s.jsonl"), From::End).unwrap();
    for n in 0..20 {
        eventually("it sleeps", || bench.watcher.mode() == WatchMode::Events && bench.watcher.sleeps());
        let line = format!("{{\"n\":{n}}}");
        bench.append("s.jsonl", &(line.clone() + "\n"));
        assert_eq!(lines_until(&bench, &line).0, [line]);
    }
}

#[test]
fn our_own_reads_wake_no_watcher() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "{\"n\":1}\n");
    bench.watcher.watch_folder(bench.file(""));
    bench.watcher.follow(bench.file("s.jsonl"), From::Start).unwrap();
    bench.lines();
    eventually("it sleeps", || bench.watcher.sleeps());
    // The next file must be found by its event, not by a listing of the folder.
    bench.catch_up("before.jsonl");
    let before = bench.watcher.wakes();
    for _ in 0..50 {
        fs::read(bench.file("s.jsonl")).unwrap();
    }
    bench.catch_up("after.jsonl");
    assert_eq!(bench.watcher.wakes() - before, 1, "what came after the reads");
}

#[test]
fn a_new_session_in_a_watched_folder_appears_and_clear_is_reported() {
    let bench = Bench::new(false);
    bench.watcher.watch_folder(bench.file(""));
    bench.record("a", "busy");
    assert_eq!(bench.live(), ("a".into(), Activity::Working, None));
    bench.append("b.jsonl", "{}\n");
    bench.record("b", "idle");
    let (mut appeared, mut cleared) = (false, false);
    while !(appeared && cleared) {
        match bench.next() {
            Update::Appeared { id, .. } => appeared = id == SessionId::new("b"),
            Update::Live(change) => cleared |= change.previous == Some(SessionId::new("a")),
            Update::Lines { .. } | Update::News { .. } => panic!("nothing is followed"),
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
    assert_eq!(bench.lines().0, [r#"{"n":1}"#]);
    bench.watcher.unfollow(follow);
}

/// A project's first session creates its folder, and the first CLI creates all of them.
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
    bench.watcher.watch_folder(bench.file(""));
    bench.watcher.follow_news(bench.file("later/s.jsonl"), 0);
    bench.append("s.jsonl", "{}\n");
    assert!(matches!(bench.next(), Update::Appeared { .. }));
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
    bench.append("s.jsonl", "{\"n\":1}\n");
    bench.watcher.follow(bench.file("s.jsonl"), From::Start).unwrap();
    assert_eq!(bench.lines().0, [r#"{"n":1}"#]);
    fs::remove_dir_all(bench.file("")).unwrap();
    fs::create_dir_all(bench.file("")).unwrap();
    bench.append("s.jsonl", "{\"n\":2}\n");
    assert_eq!(lines_until(&bench, r#"{"n":2}"#).0, [r#"{"n":2}"#]);
    bench.append("s.jsonl", "{\"n\":3}\n");
    assert_eq!(lines_until(&bench, r#"{"n":3}"#).0, [r#"{"n":3}"#]);
}

#[test]
fn news_of_a_transcript_are_its_growth_and_its_subagents_but_not_their_lines() {
    let bench = Bench::new(false);
    bench.append("s.jsonl", "{}\n");
    let follow = bench.watcher.follow_news(bench.file("s.jsonl"), 3);
    let news = || loop {
        match bench.next() {
            Update::News { follow: of } if of == follow => return,
            _ => {}
        }
    };
    bench.append("s.jsonl", "{}\n");
    news();
    fs::create_dir_all(bench.file("s/subagents")).unwrap();
    bench.append("s/subagents/agent-a.jsonl", "{}\n");
    news();
    bench.append("s/subagents/agent-a.meta.json", "{}");
    news();
    // Lets the remaining events of these changes pass.
    bench.watcher.watch_folder(bench.file(""));
    bench.catch_up("another.jsonl");
    bench.watcher.follow(bench.file("s/subagents/agent-a.jsonl"), From::End).unwrap();
    // On a busy machine, late events of the folder and its files come before the lines.
    bench.catch_up("third.jsonl");
    for n in 0..40 {
        bench.append("s/subagents/agent-a.jsonl", &format!("{{\"n\":{n}}}\n"));
    }
    let (mut lines_seen, mut news) = (0, 0);
    while lines_seen < 40 {
        match bench.next() {
            Update::Lines { lines, .. } => lines_seen += lines.len(),
            Update::News { .. } => news += 1,
            other => panic!("{other:?}"),
        }
    }
    // At most its appearance, if its folder was watched too late to report it.
    assert!(news <= 1, "{news}");
}

#[test]
fn lines_that_never_leave_cause_no_news() {
    let bench = Bench::new(false);
    bench.watcher.follow(bench.file("s.jsonl"), From::Start).unwrap();
    bench.append("s.jsonl", "{\"type\":\"api-request\",\"secret\":1}\n");
    assert_eq!(bench.lines().0, Vec::<String>::new());
    drop(bench.watcher);
    assert!(matches!(bench.updates.recv_timeout(DEADLINE), Err(RecvTimeoutError::Disconnected)));
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
        let watcher = Watcher::start_polling(ConfigDir::at(dir.path()), receive).unwrap();
        watcher.follow(dir.path().join("a"), From::Start).unwrap();
        fs::write(dir.path().join("a"), "{}\n").unwrap();
        assert_eq!(kinds.recv_timeout(DEADLINE).unwrap(), std::io::ErrorKind::BrokenPipe);
    });
}
