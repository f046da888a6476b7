//! The watcher's thread.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::inbox::{Command, Inbox, Work};
use super::{FollowId, Update};
use crate::config_dir::ConfigDir;
use crate::id::SessionId;
use crate::live::{LiveTable, is_record, live_sessions};
use crate::tail::{Tail, TailEvent};

/// How often everything is looked at, events or not.
const SWEEP: Duration = Duration::from_secs(1);
/// How often everything is looked at where there are no events.
const POLL: Duration = Duration::from_millis(100);
/// Bytes of a transcript in one update, about: the first reading of a large file must not become one huge message.
const MAX_BATCH_BYTES: u64 = 1024 * 1024;

pub(super) struct Worker {
    config: ConfigDir,
    inbox: Arc<Inbox>,
    system: Option<RecommendedWatcher>,
    receive: Box<dyn FnMut(Update) + Send>,
    follows: BTreeMap<FollowId, Tail>,
    /// Watched folders, each with the transcripts known in it.
    folders: BTreeMap<PathBuf, HashSet<OsString>>,
    /// Folders that the system watches for us.
    registered: BTreeSet<PathBuf>,
    /// Folders that matter and do not exist yet; what lies above them is watched instead.
    missing: BTreeSet<PathBuf>,
    live: LiveTable,
}

impl Worker {
    pub(super) fn new(
        config: ConfigDir,
        inbox: Arc<Inbox>,
        system: Option<RecommendedWatcher>,
        receive: Box<dyn FnMut(Update) + Send>,
    ) -> Self {
        Self {
            config,
            inbox,
            system,
            receive,
            follows: BTreeMap::new(),
            folders: BTreeMap::new(),
            registered: BTreeSet::new(),
            missing: BTreeSet::new(),
            live: LiveTable::default(),
        }
    }

    pub(super) fn run(mut self) {
        self.register();
        self.look_at_live();
        let mut next_sweep = Instant::now() + self.pause();
        loop {
            let work = self.inbox.wait(next_sweep.saturating_duration_since(Instant::now()));
            let sweep = Instant::now() >= next_sweep;
            if !self.handle(work, sweep) {
                return;
            }
            if sweep {
                next_sweep = Instant::now() + self.pause();
            }
        }
    }

    fn pause(&self) -> Duration {
        if self.system.is_some() { SWEEP } else { POLL }
    }

    /// Does what there is to do; `false` at the end.
    fn handle(&mut self, work: Work, sweep: bool) -> bool {
        let mut fresh = Vec::new();
        let commanded = !work.commands.is_empty();
        for command in work.commands {
            match command {
                Command::Follow(id, tail) => {
                    self.follows.insert(id, *tail);
                    fresh.push(id);
                }
                Command::Unfollow(id) => drop(self.follows.remove(&id)),
                Command::WatchFolder(folder, known) => drop(self.folders.entry(folder).or_insert(known)),
                Command::UnwatchFolder(folder) => drop(self.folders.remove(&folder)),
                Command::Stop => return false,
            }
        }
        if commanded || sweep {
            self.register();
        }
        let appeared = |path: &PathBuf| self.missing.iter().any(|missing| missing.starts_with(path));
        let mut all = work.all || sweep;
        if work.changed.iter().any(appeared) {
            self.register();
            all = true;
        }
        let touched = |tail: &Tail| work.changed.iter().any(|path| path.file_name() == tail.path().file_name());
        let due = self.follows.iter().filter(|(id, tail)| all || fresh.contains(id) || touched(tail));
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.read(id);
        }
        if all || work.changed.iter().any(|path| is_record(path)) {
            self.look_at_live();
        }
        for path in work.changed.iter().filter(|path| is_transcript(path)) {
            self.look_at_new(path);
        }
        if all {
            self.look_for_new();
        }
        true
    }

    /// Hands on what a follower has not seen.
    fn read(&mut self, follow: FollowId) {
        let Some(tail) = self.follows.get_mut(&follow) else { return };
        let before = tail.offset();
        let mut replaced = match tail.check() {
            Ok(event) => event == TailEvent::Replaced,
            Err(error) => {
                tracing::debug!(%error, "could not look at a transcript");
                return;
            }
        };
        let mut at = before;
        loop {
            let lines = match tail.read_lines(MAX_BATCH_BYTES) {
                Ok(lines) => lines,
                Err(error) => {
                    tracing::debug!(%error, "could not read a transcript");
                    return;
                }
            };
            let offset = tail.offset();
            if lines.is_empty() && !replaced && offset == at {
                return;
            }
            at = offset;
            (self.receive)(Update::Lines { follow, replaced, lines, offset });
            replaced = false;
        }
    }

    fn look_at_live(&mut self) {
        let sessions = match live_sessions(&self.config) {
            Ok(sessions) => sessions,
            Err(error) => {
                tracing::debug!(%error, "could not read the session records");
                return;
            }
        };
        let folder = self.config.sessions();
        let there = |pid: u32| folder.join(format!("{pid}.json")).exists();
        for change in self.live.update(sessions, there) {
            (self.receive)(Update::Live(change));
        }
    }

    /// All watched folders: what no event told of.
    fn look_for_new(&mut self) {
        let list = |folder: &PathBuf| transcripts(folder).into_iter().map(|name| folder.join(name)).collect::<Vec<_>>();
        let files: Vec<_> = self.folders.keys().flat_map(list).collect();
        files.iter().for_each(|file| self.look_at_new(file));
    }

    fn look_at_new(&mut self, file: &Path) {
        let (Some(folder), Some(name), Some(stem)) = (file.parent(), file.file_name(), file.file_stem()) else {
            return;
        };
        let is_new = self
            .folders
            .get_mut(folder)
            .is_some_and(|known| !known.contains(name) && file.exists() && known.insert(name.to_owned()));
        if is_new {
            let id = SessionId::new(&stem.to_string_lossy());
            (self.receive)(Update::Appeared { id, file: file.to_owned() });
        }
    }

    /// Asks the system to watch the folders that matter now and exist, and no others.
    fn register(&mut self) {
        let Some(system) = &mut self.system else { return };
        let parents = self.follows.values().filter_map(|tail| tail.path().parent().map(Path::to_owned));
        let wanted = parents.chain(self.folders.keys().cloned()).chain([self.config.sessions()]);
        let (mut there, missing): (BTreeSet<_>, BTreeSet<_>) = wanted.partition(|folder| folder.is_dir());
        let above = missing.iter().filter_map(|folder| folder.ancestors().find(|above| above.is_dir()));
        there.extend(above.map(Path::to_owned));
        let wanted = there;
        self.missing = missing;
        for folder in self.registered.difference(&wanted) {
            system.unwatch(folder).ok();
        }
        self.registered.retain(|folder| wanted.contains(folder));
        for folder in wanted {
            if self.registered.contains(&folder) {
                continue;
            }
            match system.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.registered.insert(folder)),
                Err(error) => tracing::debug!(folder = %folder.display(), %error, "a folder is polled, not watched"),
            }
        }
    }
}

/// Names of the transcripts in a folder.
pub(super) fn transcripts(folder: &Path) -> Vec<OsString> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name()));
    names.filter(|name| is_transcript(Path::new(name))).collect()
}

/// Whether a file is a session's transcript, by its name; a subagent's is not.
fn is_transcript(path: &Path) -> bool {
    let is_agent = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    path.extension().is_some_and(|extension| extension == "jsonl") && !is_agent
}
