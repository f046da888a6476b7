//! CLIs that are known to run and keep no record of themselves (2.0.77): which transcript each of them writes.
//!
//! Nothing says so. A CLI writes into the folder of the project that it was started in, and only when it has something to do.
//! So it is the transcript there that grew since the CLI was heard of last, and that no other CLI is known to write. Where
//! several CLIs share a folder, only one that was given a prompt takes a transcript. Invariant: a CLI stays with its
//! transcript as long as that grows after each prompt, whatever else grows beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use claude_ide_system::process::start_of;
use serde::Deserialize;

use super::worker::{is_transcript, transcripts};
use crate::config_dir::{ConfigDir, encode_folder};
use crate::id::SessionId;
use crate::live::{LiveSession, Liveness};
use crate::process::{ProcessMark, liveness};
use crate::state::infer_running;
use crate::time::Millis;

/// How much earlier than a CLI is heard of its transcript may have grown.
const SLACK: i64 = 2000;

/// A CLI that is known to run, since somebody is connected to it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cli {
    /// Its process.
    pub pid: u32,
    /// The folder that it was started in.
    pub cwd: PathBuf,
    /// Its version.
    pub version: Option<String>,
    /// Whether it was just given a prompt.
    pub prompted: bool,
}

#[derive(Debug)]
struct Entry {
    cli: Cli,
    folder: PathBuf,
    process_start: Option<String>,
    began: Millis,
    heard: Millis,
    file: Option<PathBuf>,
}

/// A transcript in a watched folder.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Its size when its folder was looked at first.
    at_first: u64,
    bytes: u64,
    modified: Millis,
}

impl Seen {
    fn grew_since(&self, heard: Millis) -> bool {
        self.bytes > self.at_first && self.modified.0 + SLACK >= heard.0
    }
}

#[derive(Debug, Default)]
pub(super) struct Unrecorded {
    entries: BTreeMap<u32, Entry>,
    /// By folder and file.
    seen: BTreeMap<PathBuf, BTreeMap<PathBuf, Seen>>,
}

impl Unrecorded {
    /// Takes note that a CLI runs now.
    pub(super) fn hear(&mut self, config: &ConfigDir, cli: Cli, now: Millis) {
        let real = cli.cwd.canonicalize().unwrap_or_else(|_| cli.cwd.clone());
        let folder = config.projects().join(encode_folder(&real.to_string_lossy()));
        if !self.seen.contains_key(&folder) {
            self.seen.insert(folder.clone(), BTreeMap::new());
            self.look_into(&folder, true);
        }
        let process_start = start_of(cli.pid);
        let before = self.entries.remove(&cli.pid).filter(|entry| {
            entry.folder == folder && (entry.process_start == process_start || process_start.is_none())
        });
        let entry = match before {
            Some(entry) => {
                let prompted = entry.cli.prompted || cli.prompted;
                Entry { cli: Cli { prompted, ..cli }, heard: now, ..entry }
            }
            None => Entry { cli, folder, process_start, began: now, heard: now, file: None },
        };
        self.entries.insert(entry.cli.pid, entry);
    }

    /// Folders that must be watched.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.seen.keys().cloned()
    }

    /// Looks at a file that changed; whether it matters.
    pub(super) fn look_at(&mut self, file: &Path) -> bool {
        let Some(folder) = file.parent().filter(|folder| is_transcript(file) && self.seen.contains_key(*folder)) else {
            return false;
        };
        self.note(folder.to_owned(), file, false);
        true
    }

    /// Looks at all of them: some changes were not told.
    pub(super) fn look_at_all(&mut self) {
        for folder in self.folders().collect::<Vec<_>>() {
            self.look_into(&folder, false);
        }
    }

    fn look_into(&mut self, folder: &Path, first: bool) {
        for name in transcripts(folder) {
            self.note(folder.to_owned(), &folder.join(name), first);
        }
    }

    fn note(&mut self, folder: PathBuf, file: &Path, first: bool) {
        let files = self.seen.entry(folder).or_default();
        let Ok(metadata) = fs::metadata(file) else {
            files.remove(file);
            return;
        };
        let bytes = metadata.len();
        let modified = metadata.modified().map_or_else(|_| Millis::now(), Millis::from_system);
        let at_first = files.get(file).map_or(if first { bytes } else { 0 }, |seen| seen.at_first.min(bytes));
        files.insert(file.to_owned(), Seen { at_first, bytes, modified });
    }

    /// The sessions of these CLIs as they are now, as far as they are known. A CLI that keeps a record is forgotten here.
    pub(super) fn sessions(&mut self, recorded: &[LiveSession], now: Millis) -> Vec<LiveSession> {
        let mut left = Vec::new();
        self.entries.retain(|pid, entry| {
            let mark = ProcessMark { pid: *pid, start: entry.process_start.as_deref(), domain: None };
            let stays = !recorded.iter().any(|session| session.pid == *pid) && liveness(mark) != Liveness::Dead;
            if !stays {
                left.extend(entry.file.take());
            }
            stays
        });
        left.iter().for_each(|file| self.leave(file));
        let entries = &self.entries;
        self.seen.retain(|folder, _| entries.values().any(|entry| entry.folder == *folder));
        self.assign(recorded);
        self.entries.values().filter_map(|entry| entry.session(now)).collect()
    }

    /// Finds out which transcript each one writes.
    fn assign(&mut self, recorded: &[LiveSession]) {
        let mut order: Vec<_> = self.entries.values().map(|entry| (entry.heard, entry.cli.pid)).collect();
        order.sort_unstable_by(|left, right| right.cmp(left));
        for (_, pid) in order {
            let Some(entry) = self.entries.get(&pid) else { continue };
            let Some(files) = self.seen.get(&entry.folder) else { continue };
            let grew = |file: &PathBuf| files.get(file).is_some_and(|seen| seen.grew_since(entry.heard));
            let beside = || self.entries.values().filter(|other| other.cli.pid != pid && other.folder == entry.folder);
            let is_clear = entry.cli.prompted || beside().next().is_none();
            if !is_clear || entry.file.as_ref().is_some_and(grew) {
                continue;
            }
            let is_free = |file: &&PathBuf| {
                let id = id_of(file);
                beside().all(|other| other.file.as_ref() != Some(*file))
                    && recorded.iter().all(|session| session.id != id)
            };
            let newest =
                files.iter().filter(|(file, _)| grew(file) && is_free(file)).max_by_key(|(_, seen)| seen.modified);
            let newest = newest.map(|(file, _)| file.clone());
            if let (Some(file), Some(entry)) = (newest, self.entries.get_mut(&pid))
                && let Some(before) = entry.file.replace(file)
            {
                self.leave(&before);
            }
        }
    }

    /// Nobody writes it any more: what was written so far is no sign of who will.
    fn leave(&mut self, file: &Path) {
        let seen = file.parent().and_then(|folder| self.seen.get_mut(folder)?.get_mut(file));
        if let Some(seen) = seen {
            seen.at_first = seen.bytes;
        }
    }
}

impl Entry {
    fn session(&self, now: Millis) -> Option<LiveSession> {
        let file = self.file.as_ref()?;
        Some(LiveSession {
            pid: self.cli.pid,
            id: id_of(file),
            cwd: self.cli.cwd.to_string_lossy().into_owned(),
            name: None,
            kind: Some("interactive".to_owned()),
            entrypoint: Some("cli".to_owned()),
            version: self.cli.version.clone(),
            started: Some(self.began),
            state: infer_running(file, now).ok()?,
            liveness: Liveness::Alive,
        })
    }
}

fn id_of(file: &Path) -> SessionId {
    SessionId::new(&file.file_stem().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests {
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
}
