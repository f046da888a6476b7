//! The watcher's thread.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::exits::Exits;
use super::follow::Follow;
use super::inbox::{Command, Inbox, Work};
use super::place::reports_changes;
use super::update::{FollowId, Update};
use crate::config_dir::ConfigDirs;
use crate::live::{LiveSession, LiveTable, Liveness, all_live_sessions, is_record};
use crate::state::{Activity, QUIET, SILENT, StateSource};
use crate::tail::Identity;

/// Polling interval where the system does not report some changes.
const SWEEP: Duration = Duration::from_secs(1);
/// Polling interval where it reports none.
const POLL: Duration = Duration::from_millis(100);
pub(super) struct Worker {
    dirs: ConfigDirs,
    inbox: Arc<Inbox>,
    system: Option<RecommendedWatcher>,
    receive: Box<dyn FnMut(Update) + Send>,
    follows: BTreeMap<FollowId, Follow>,
    /// Folders watched by the system, with their identity at that time.
    registered: BTreeMap<PathBuf, Option<Identity>>,
    /// Folders that matter and do not exist yet; their parents are watched instead.
    missing: BTreeSet<PathBuf>,
    /// Existing folders that the system does not report on.
    unreported: BTreeSet<PathBuf>,
    live: LiveTable,
    exits: Exits,
    /// Whether the end of every running CLI will be reported.
    ends_are_reported: bool,
    /// Transcripts that must be read for their sessions' state, since older CLIs keep no records.
    telling: BTreeSet<PathBuf>,
    /// When the next of these sessions counts as idle after its silence.
    silent_at: Option<Instant>,
}

impl Worker {
    pub(super) fn new(
        dirs: ConfigDirs,
        inbox: Arc<Inbox>,
        system: Option<RecommendedWatcher>,
        receive: Box<dyn FnMut(Update) + Send>,
    ) -> Self {
        let exits = Exits::new(Arc::clone(&inbox));
        Self {
            dirs,
            inbox,
            system,
            receive,
            follows: BTreeMap::new(),
            registered: BTreeMap::new(),
            missing: BTreeSet::new(),
            unreported: BTreeSet::new(),
            live: LiveTable::default(),
            exits,
            ends_are_reported: true,
            telling: BTreeSet::new(),
            silent_at: None,
        }
    }

    pub(super) fn run(mut self) {
        self.register();
        #[cfg(test)]
        drop(super::BEFORE_LOOK.read());
        self.look_at_live();
        self.inbox.has_looked();
        let mut last_sweep = Instant::now();
        loop {
            let pause = self.pause();
            self.inbox.waits_for(pause);
            let next_sweep = pause.map(|pause| last_sweep + pause).into_iter().chain(self.silent_at).min();
            let work = self.inbox.wait(next_sweep.map(|next| next.saturating_duration_since(Instant::now())));
            let sweep = next_sweep.is_some_and(|next| Instant::now() >= next);
            if !self.handle(work, sweep) {
                return;
            }
            if sweep {
                last_sweep = Instant::now();
            }
        }
    }

    /// The longest wait for an event; `None` if the system reports everything that matters.
    fn pause(&self) -> Option<Duration> {
        match &self.system {
            None => Some(POLL),
            Some(_) if !self.unreported.is_empty() || !self.ends_are_reported => Some(SWEEP),
            Some(_) => None,
        }
    }

    /// Handles the work; `false` at the end.
    fn handle(&mut self, work: Work, sweep: bool) -> bool {
        let mut fresh = Vec::new();
        let (commanded, mut look_again) = (!work.commands.is_empty(), false);
        for command in work.commands {
            match command {
                Command::Follow(id, follow) => {
                    self.follows.insert(id, *follow);
                    fresh.push(id);
                }
                Command::Unfollow(id) => drop(self.follows.remove(&id)),
                Command::LookAgain => look_again = true,
                Command::Stop => return false,
            }
        }
        let mut all = work.all || sweep || look_again;
        if commanded || all {
            all |= self.register();
        }
        let appeared = |path: &PathBuf| self.missing.iter().any(|missing| missing.starts_with(path));
        // A removed folder loses its watch; a new one of the same name needs another.
        let gone: Vec<_> = work.changed.iter().filter(|path| self.registered.contains_key(*path)).cloned().collect();
        if work.changed.iter().any(appeared) || !gone.is_empty() {
            self.forget(&gone);
            self.register();
            all = true;
        }
        let mut due = Vec::new();
        for (id, follow) in &mut self.follows {
            let concerned = work.changed.iter().filter(|path| follow.concerns(path)).count() > 0;
            if concerned || all || fresh.contains(id) {
                due.push(*id);
            }
        }
        // `count` and not `any`: all of them must be looked at.
        if due.into_iter().filter(|id| self.look(*id)).count() > 0 && self.register() {
            // Its folder may have been removed too.
            for id in self.follows.keys().copied().collect::<Vec<_>>() {
                self.look(id);
            }
        }
        let tells =
            |path: &PathBuf| is_record(path) || self.telling.iter().any(|file| file.file_name() == path.file_name());
        if all || work.ended || work.changed.iter().any(tells) {
            self.look_at_live();
        }
        true
    }

    /// Notifies a follower of news; returns whether its file is missing, or its folders are others.
    fn look(&mut self, id: FollowId) -> bool {
        let Some(follow) = self.follows.get_mut(&id) else { return false };
        if follow.take() {
            (self.receive)(Update::News { follow: id });
        }
        follow.has_moved() || follow.is_missing()
    }

    fn look_at_live(&mut self) {
        let (sessions, unread) = all_live_sessions(&self.dirs);
        let pids: Vec<_> =
            sessions.iter().filter(|session| session.liveness == Liveness::Alive).map(|session| session.pid).collect();
        self.ends_are_reported = self.exits.watch(&pids);
        self.look_at_telling(&sessions);
        let there = |session: &LiveSession| unread.contains(&session.config_dir) || session.record().exists();
        for change in self.live.update(sessions, there) {
            (self.receive)(Update::Live(Box::new(change)));
        }
    }

    /// Finds the sessions whose transcripts must be watched, since only these tell their state.
    fn look_at_telling(&mut self, sessions: &[LiveSession]) {
        let by_transcript = sessions.iter().filter(|session| session.state.source == StateSource::Transcript);
        let telling: BTreeSet<_> = by_transcript.clone().map(|session| session.transcript()).collect();
        let at_work = by_transcript.clone().filter(|session| session.state.activity == Activity::Working);
        let silence = at_work.map(|session| if was_just_written(&session.transcript()) { QUIET } else { SILENT });
        self.silent_at = silence.min().map(|silence| Instant::now() + silence);
        if telling != self.telling {
            self.telling = telling;
            if self.register() {
                // One of them may have been written to before its folder was watched.
                self.inbox.process_ended();
            }
        }
    }

    /// Updates the system's watches to the folders that matter and exist. Returns whether any is new: earlier changes
    /// in it caused no event.
    fn register(&mut self) -> bool {
        let mut any = false;
        // A folder created before its parent was watched caused no event either.
        while self.register_what_is_there() {
            any = true;
        }
        any
    }

    fn register_what_is_there(&mut self) -> bool {
        let Some(system) = &mut self.system else { return false };
        let mut any = false;
        let followed = self.follows.values().flat_map(Follow::folders);
        let telling = self.telling.iter().filter_map(|file| file.parent().map(Path::to_owned));
        let wanted = followed.chain(telling).chain(self.dirs.all().into_iter().map(|dir| dir.sessions()));
        let (mut there, missing): (BTreeSet<_>, BTreeSet<_>) = wanted.partition(|folder| folder.is_dir());
        let above = missing.iter().filter_map(|folder| folder.ancestors().find(|above| above.is_dir()));
        there.extend(above.map(Path::to_owned));
        let wanted = there;
        self.missing = missing;
        self.registered.retain(|folder, identity| {
            let stays = wanted.contains(folder) && *identity == identity_of(folder);
            if !stays {
                system.unwatch(folder).ok();
            }
            stays
        });
        self.unreported.retain(|folder| wanted.contains(folder));
        for folder in wanted {
            if self.registered.contains_key(&folder) {
                continue;
            }
            let identity = identity_of(&folder);
            match system.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    any = true;
                    let is_reported = reports_changes(&folder);
                    self.registered.insert(folder.clone(), identity);
                    if is_reported {
                        self.unreported.remove(&folder)
                    } else {
                        self.unreported.insert(folder)
                    };
                }
                Err(error) => {
                    tracing::debug!(folder = %folder.display(), %error, "a folder is polled, not watched");
                    self.unreported.insert(folder);
                }
            }
        }
        any
    }

    /// Drops watches of folders that may be gone.
    fn forget(&mut self, folders: &[PathBuf]) {
        let Some(system) = &mut self.system else { return };
        for folder in folders {
            system.unwatch(folder).ok();
            self.registered.remove(folder);
        }
    }
}

/// Whether the file's last reply may still continue.
fn was_just_written(file: &Path) -> bool {
    let modified = std::fs::metadata(file).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|elapsed| elapsed < QUIET))
}

fn identity_of(folder: &Path) -> Option<Identity> {
    std::fs::metadata(folder).ok().map(|metadata| Identity::of(&metadata))
}
