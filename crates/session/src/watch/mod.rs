//! Reports which transcripts changed, and what each running session does. Readers read their files themselves.
//!
//! One thread for everything. It sleeps until the system reports changed files (notify) or ended processes. Where the
//! system cannot (network file systems, a limit of watches that is reached, processes outside Linux), it polls every
//! second, and [`Watcher::mode`] says so. Events are merged by file, so a flood of them costs no memory. An event only
//! triggers a check; what is read decides.
//!
//! Invariants: our own reads cause no wake-up; the receiver is called from that thread only.

mod exits;
mod follow;
mod inbox;
mod place;
mod update;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use claude_ide_system::signal::block_sigpipe;
use notify::RecommendedWatcher;
use serde::Serialize;

use crate::config_dir::ConfigDirs;
use crate::error::SessionError;
use follow::Follow;
use inbox::{Command, Inbox};
pub(crate) use update::{FollowId, Update};
use worker::Worker;

/// The first look at the running sessions waits for this lock: a test decides how long it takes.
#[cfg(test)]
pub(crate) static BEFORE_LOOK: std::sync::RwLock<()> = std::sync::RwLock::new(());

/// How a watcher detects changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WatchMode {
    /// The system reports them.
    Events,
    /// It polls at least some files: the system does not report their changes.
    Polling,
}

/// Watches sessions until it is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    inbox: Arc<Inbox>,
    next: std::sync::atomic::AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts watching the running sessions of configuration folders; [`Watcher::follow`] adds transcripts.
    ///
    /// `receive` is called on the watcher's own thread and should be quick. The sessions running now come first.
    ///
    /// # Errors
    /// [`SessionError::Watcher`] if no thread can be started.
    pub(crate) fn start(dirs: ConfigDirs, receive: impl FnMut(Update) + Send + 'static) -> Result<Self, SessionError> {
        let inbox = Arc::new(Inbox::default());
        let events = Arc::clone(&inbox);
        let watcher = notify::recommended_watcher(move |event| events.take_event(event));
        Self::run(dirs, inbox, watcher.ok(), receive)
    }

    /// Like [`Watcher::start`], but polls: for file systems known to lose events.
    #[cfg(test)]
    pub(crate) fn start_polling(
        dirs: ConfigDirs,
        receive: impl FnMut(Update) + Send + 'static,
    ) -> Result<Self, SessionError> {
        Self::run(dirs, Arc::default(), None, receive)
    }

    fn run(
        dirs: ConfigDirs,
        inbox: Arc<Inbox>,
        system: Option<RecommendedWatcher>,
        receive: impl FnMut(Update) + Send + 'static,
    ) -> Result<Self, SessionError> {
        inbox.waits_for(None);
        let worker = Worker::new(dirs, Arc::clone(&inbox), system, Box::new(receive));
        let body = move || {
            // It writes to the pipe of the thread that waits for processes, which may have ended.
            block_sigpipe();
            worker.run();
        };
        let thread = std::thread::Builder::new().name("claude-ide-sessions".into()).spawn(body);
        let thread = thread.map_err(SessionError::Watcher)?;
        Ok(Self { inbox, next: 1.into(), thread: Some(thread) })
    }

    /// How it detects changes now; depends on where the files are, and on the running CLIs.
    #[must_use]
    pub(crate) fn mode(&self) -> WatchMode {
        if self.inbox.is_polling() { WatchMode::Polling } else { WatchMode::Events }
    }

    /// Waits until the receiver got the sessions that ran at the start, at most this long.
    pub(crate) fn wait_for_first_look(&self, at_most: Duration) {
        self.inbox.wait_for_first_look(at_most);
    }

    /// Notifies of changes beyond the first `offset` bytes of a transcript, which need not exist yet, and of changes of its
    /// session's subagents.
    pub(crate) fn follow(&self, file: impl Into<PathBuf>, offset: u64) -> FollowId {
        let id = FollowId(self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        self.inbox.send(Command::Follow(id, Box::new(Follow::after(file.into(), offset))));
        id
    }

    /// Looks at folders that were added since.
    pub(crate) fn look_again(&self) {
        self.inbox.send(Command::LookAgain);
    }

    /// Stops following; an update already under way may still arrive.
    pub(crate) fn unfollow(&self, follow: FollowId) {
        self.inbox.send(Command::Unfollow(follow));
    }

    /// Whether its thread waits for an event without a timeout.
    #[cfg(test)]
    fn sleeps(&self) -> bool {
        self.inbox.sleeps()
    }

    #[cfg(test)]
    fn wakes(&self) -> u64 {
        self.inbox.wakes()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.inbox.send(Command::Stop);
        let own = self.thread.as_ref().is_some_and(|thread| thread.thread().id() == std::thread::current().id());
        if let Some(thread) = self.thread.take().filter(|_| !own) {
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests;
