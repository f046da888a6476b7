//! What all clients share, and the work on the disk that their requests run on a thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::follows::Follows;
use super::lock::lock;
use super::pool::Pools;
use super::request::{KeepAct, KeptOf};
use crate::agent::AgentFolders;
use crate::cancel::Cancel;
use crate::config_dir::{ConfigDir, ConfigDirs};
use crate::error::{SessionError, chain};
use crate::id::SessionId;
use crate::kept::{Kept, Left};
use crate::live::{all_live_sessions, state_of};
use crate::state::{Activity, SessionState};
use crate::store::{Scope, Store, Summary};
use crate::stored::Stored;
use crate::time::Millis;
use crate::watch::{Update, Watcher};

/// A list waits at most this long for the first look at running sessions: a hanging disk must not block it.
const FIRST_LOOK: Duration = Duration::from_secs(3);

/// A record may be so far ahead of its transcript (measured, CLI 2.1.329: the last answer was written after the record said "idle", the
/// cost after the record was gone).
const BEHIND: Duration = if cfg!(test) { Duration::from_millis(100) } else { Duration::from_secs(5) };

/// The state shared by all clients.
pub(super) struct Shared {
    dirs: ConfigDirs,
    copies: Copies,
    cache_file: PathBuf,
    /// Created on the thread of the first list, since that reads a file.
    store: Mutex<Option<Store>>,
    pub(super) agent_folders: Arc<Mutex<AgentFolders>>,
    pub(super) follows: Arc<Follows>,
    pub(super) pools: Arc<Pools>,
    pub(super) watcher: Watcher,
}

/// The copies of sessions, which get what their sessions get: as the service starts, when a turn ends, and when a list finds more.
#[derive(Clone)]
struct Copies {
    kept: Option<Kept>,
    pools: Arc<Pools>,
}

impl Copies {
    fn catch_up(&self) {
        let Some(kept) = self.kept.clone() else { return };
        // Refused as the service ends: the next one does it.
        self.pools.requests.run(move || kept.catch_up(None)).ok();
    }

    /// Copies a turn that has ended as its record says, now and once the CLI has written its last lines.
    fn take_turn(&self, id: SessionId) {
        let Some(kept) = self.kept.clone() else { return };
        let job = move || {
            if kept.copy_of(&id).is_some() {
                kept.catch_up(Some(&id));
                thread::sleep(BEHIND);
                kept.catch_up(Some(&id));
            }
        };
        self.pools.later.run(job).ok();
    }
}

impl Shared {
    pub(super) fn start(dirs: ConfigDirs, cache_file: PathBuf) -> Result<Self, SessionError> {
        let follows = Arc::<Follows>::default();
        let news = Arc::clone(&follows);
        let pools = Arc::<Pools>::default();
        let copies = Copies { kept: dirs.kept().cloned().map(Kept::at), pools: Arc::clone(&pools) };
        copies.catch_up();
        let of_turns = copies.clone();
        let watcher = Watcher::start(dirs.clone(), move |update| {
            if let Update::Live(change) = &update
                && matches!(change.session.state.activity, Activity::Idle | Activity::Gone)
            {
                of_turns.take_turn(change.session.id.clone());
            }
            news.take(update);
        })?;
        Ok(Self {
            copies,
            dirs,
            cache_file,
            store: Mutex::default(),
            agent_folders: Arc::default(),
            follows,
            pools,
            watcher,
        })
    }

    /// Reads the sessions of a running CLI's folder, too, from now on. Returns the folder, if it is known.
    pub(super) fn take_process(&self, pid: u32) -> Option<ConfigDir> {
        let dir = ConfigDir::of_process(pid)?;
        if self.dirs.add(dir.clone()) {
            self.watcher.look_again();
        }
        Some(dir)
    }

    pub(super) fn with_store<T>(&self, body: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = lock(&self.store);
        body(store.get_or_insert_with(|| Store::new(self.dirs.clone(), Some(self.cache_file.clone()))))
    }

    /// One list at a time: the second reuses what the first one read.
    pub(super) fn summaries(&self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Summary>, SessionError> {
        self.with_store(|store| {
            let summaries = store.list(scope, cancel)?;
            if let Err(error) = store.save() {
                tracing::debug!(error = %chain(&error), "could not write the session cache");
            }
            if summaries.iter().any(|summary| summary.kept.as_ref().is_some_and(|kept| kept.stale)) {
                self.copies.catch_up();
            }
            Ok(summaries)
        })
    }

    pub(super) fn list_now(&self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Summary>, SessionError> {
        let list = self.summaries(scope, cancel)?;
        // A client that resumes one of them must know whether a process runs it.
        self.watcher.wait_for_first_look(FIRST_LOOK);
        Ok(list)
    }

    pub(super) fn find_now(&self, id: &SessionId) -> Result<PathBuf, SessionError> {
        Store::new(self.dirs.clone(), None).find(id)
    }

    pub(super) fn stored_now(&self, id: &SessionId, since: Millis) -> Result<Stored, SessionError> {
        Stored::read(&self.find_now(id)?, since)
    }

    pub(super) fn summary_now(&self, file: &Path) -> Option<Summary> {
        self.with_store(|store| store.get(file)).filter(|summary| !summary.is_empty())
    }

    /// Keeps a session, removes its copy, or puts it back where the CLI looks for it. Returns the transcript.
    pub(super) fn kept_now(&self, KeptOf { file, act }: KeptOf) -> Result<PathBuf, SessionError> {
        let id = SessionId::new(&file.file_stem().unwrap_or_default().to_string_lossy());
        let Some(kept) = &self.copies.kept else { return Err(SessionError::UnknownSession { id: id.to_string() }) };
        match act {
            KeepAct::Keep => kept.keep(&file),
            KeepAct::PutBack => kept.put_back(&file),
            KeepAct::Remove => kept.remove(&id, Left::Session).map(|()| file),
            KeepAct::Delete => kept.remove(&id, Left::Nothing).map(|()| file),
        }
    }

    pub(super) fn state_now(&self, id: &SessionId, file: &Path) -> Result<SessionState, SessionError> {
        let copied_from = self.copies.kept.as_ref().and_then(|kept| kept.copy(file)).map(|copy| copy.origin);
        // A file elsewhere is of no CLI that keeps records.
        let dir = copied_from.or_else(|| ConfigDir::of_transcript(file)).unwrap_or_else(|| ConfigDir::at(file));
        state_of(&dir, id, file, &all_live_sessions(&self.dirs).0)
    }
}
