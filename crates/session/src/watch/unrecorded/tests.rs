use std::fs::File;
use std::io::Write;
use std::time::{Duration, SystemTime};

use super::*;
use crate::state::Activity;

const PROMPT: &str = "{\"type\":\"user\",\"message\":{\"content\":\"do it\"}}\n";

struct Bench {
    _dir: tempfile::TempDir,
    config: ConfigDir,
    known: Unrecorded,
    /// The time that it is: it stands still, however long a test takes.
    now: SystemTime,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        let folder = config.projects().join(encode_folder("/none/p"));
        fs::create_dir_all(folder).unwrap();
        Self { _dir: dir, config, known: Unrecorded::default(), now: SystemTime::now() }
    }

    fn hear(&mut self, pid: u32, prompted: bool) {
        let cli = Cli { pid, cwd: "/none/p".into(), version: None, prompted };
        self.known.hear(&self.config, cli, Millis::from_system(self.now));
    }

    fn file(&self, id: &str) -> PathBuf {
        self.config.projects().join(encode_folder("/none/p")).join(format!("{id}.jsonl"))
    }

    fn grow(&mut self, id: &str) {
        let path = self.file(id);
        let mut file = File::options().append(true).create(true).open(&path).unwrap();
        file.write_all(PROMPT.as_bytes()).unwrap();
        file.set_modified(self.now).unwrap();
        self.known.look_at(&path);
    }

    /// As if it had been written to long ago.
    fn age(&mut self, id: &str) {
        let path = self.file(id);
        let then = self.now - Duration::from_secs(60);
        File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
        self.known.look_at(&path);
    }

    fn sessions(&mut self, recorded: &[LiveSession]) -> Vec<LiveSession> {
        self.known.sessions(recorded, Millis::from_system(self.now))
    }

    fn ids(&mut self) -> Vec<(u32, String)> {
        let sessions = self.sessions(&[]);
        sessions.into_iter().map(|session| (session.pid, session.id.to_string())).collect()
    }
}

fn own() -> u32 {
    std::process::id()
}

/// Another process that lives.
fn other() -> u32 {
    std::os::unix::process::parent_id()
}

#[test]
fn what_grows_after_the_cli_was_heard_of_is_its_transcript() {
    let mut bench = Bench::new();
    bench.grow("before");
    bench.hear(own(), false);
    assert_eq!(bench.ids(), [], "nothing was written since");
    bench.grow("mine");
    assert_eq!(bench.ids(), [(own(), "mine".to_owned())]);
    let sessions = bench.sessions(&[]);
    assert_eq!(sessions[0].state.activity, Activity::Working);
}

#[test]
fn one_that_goes_on_is_its_transcript_too() {
    let mut bench = Bench::new();
    bench.grow("resumed");
    bench.hear(own(), false);
    bench.grow("resumed");
    assert_eq!(bench.ids(), [(own(), "resumed".to_owned())]);
}

#[test]
fn a_prompt_that_was_written_before_anybody_looked_is_found() {
    let mut bench = Bench::new();
    bench.grow("old");
    bench.age("old");
    bench.grow("mine");
    bench.hear(own(), false);
    assert_eq!(bench.ids(), []);
    bench.hear(own(), true);
    assert_eq!(bench.ids(), [(own(), "mine".to_owned())]);
    let mut bench = Bench::new();
    bench.grow("old");
    bench.age("old");
    bench.hear(own(), true);
    assert_eq!(bench.ids(), []);
}

#[test]
fn what_others_write_beside_it_changes_nothing() {
    let mut bench = Bench::new();
    bench.hear(own(), true);
    bench.grow("mine");
    assert_eq!(bench.ids(), [(own(), "mine".to_owned())]);
    bench.grow("headless");
    assert_eq!(bench.ids(), [(own(), "mine".to_owned())]);
}

#[test]
fn a_prompt_that_goes_elsewhere_takes_it_along() {
    let mut bench = Bench::new();
    bench.hear(own(), true);
    bench.grow("mine");
    bench.ids();
    bench.age("mine");
    bench.hear(own(), true);
    assert_eq!(bench.ids(), [(own(), "mine".to_owned())], "until something was written");
    bench.grow("cleared");
    assert_eq!(bench.ids(), [(own(), "cleared".to_owned())]);
}

#[test]
fn of_two_in_a_folder_the_one_with_the_prompt_writes() {
    let mut bench = Bench::new();
    bench.hear(own(), false);
    bench.hear(other(), false);
    bench.grow("a");
    assert_eq!(bench.ids(), [], "it may be either's");
    bench.hear(own(), true);
    assert_eq!(bench.ids(), [(own(), "a".to_owned())]);
    bench.hear(other(), true);
    bench.grow("b");
    let both = |bench: &mut Bench| bench.ids().into_iter().collect::<BTreeMap<_, _>>();
    assert_eq!(both(&mut bench), BTreeMap::from([(own(), "a".to_owned()), (other(), "b".to_owned())]));
}

#[test]
fn what_one_that_ended_left_is_nobodys() {
    let mut bench = Bench::new();
    bench.hear(own(), false);
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    bench.hear(child.id(), true);
    bench.grow("a");
    assert_eq!(bench.ids(), [(child.id(), "a".to_owned())]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.ids(), []);
    bench.hear(own(), true);
    assert_eq!(bench.ids(), []);
    bench.grow("a");
    assert_eq!(bench.ids(), [(own(), "a".to_owned())], "until it goes on with that");
}

#[test]
fn one_with_a_record_or_without_a_process_is_not_looked_for() {
    let mut bench = Bench::new();
    bench.hear(u32::MAX, true);
    bench.grow("a");
    assert_eq!(bench.ids(), []);
    bench.hear(own(), true);
    bench.grow("a");
    let (_, id) = bench.ids().remove(0);
    let mut recorded = bench.sessions(&[]);
    recorded[0].id = SessionId::new("recorded");
    assert_eq!(id, "a");
    assert_eq!(bench.sessions(&recorded), []);
    assert_eq!(bench.known.folders().count(), 0);
}
