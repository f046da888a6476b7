//! Follows transcripts, new sessions, and what each running session does.
//!
//! One thread for everything. It sleeps until the system reports changed files (notify) or ended processes. Where the
//! system cannot (network file systems, a limit of watches that is reached, processes outside Linux), it polls every
//! second, and [`Watcher::mode`] says so. Events are merged by file, so a flood of them costs no memory. An event only
//! triggers a check; what is read decides.
//!
//! Invariants: each line comes once; our own reads cause no wake-up; the receiver is called from that thread only.

mod exits;
mod follow;
mod inbox;
mod place;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use claude_ide_system::signal::block_sigpipe;
use notify::RecommendedWatcher;
use serde::Serialize;

use crate::config_dir::ConfigDir;
use crate::error::SessionError;
use crate::id::SessionId;
use crate::live::LiveChange;
use crate::tail::{Line, Tail};
use follow::{Follow, News};
use inbox::{Command, Inbox};
use worker::Worker;

/// Identifies a follower of a [`Watcher`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct FollowId(u64);

/// Where following begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// At the first line.
    Start,
    /// After the last whole line.
    End,
    /// At a byte offset, which is the start of a line: see [`crate::Transcript::offset`] and [`Line::offset`].
    Offset(u64),
}

/// An update of a watcher.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// A followed transcript has new lines. [`crate::Transcript::refresh`] updates the rows.
    Lines {
        /// The follower.
        follow: FollowId,
        /// The file was replaced before these lines: all earlier ones are void.
        replaced: bool,
        /// The new lines that may be shown; empty if only bookkeeping was written.
        lines: Vec<Line>,
        /// The offset after these lines.
        offset: u64,
    },
    /// A followed transcript or its subagents changed: see [`Watcher::follow_news`].
    News {
        /// The follower.
        follow: FollowId,
    },
    /// A transcript appeared in a watched folder.
    Appeared {
        /// Its session.
        id: SessionId,
        /// The file.
        file: PathBuf,
    },
    /// A running session began, changed its activity, moved to another session (`/clear`), or ended.
    Live(LiveChange),
}

/// How a watcher detects changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchMode {
    /// The system reports them.
    Events,
    /// It polls at least some files: the system does not report their changes.
    Polling,
}

/// Watches sessions until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    inbox: Arc<Inbox>,
    next: std::sync::atomic::AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts watching the running sessions of a configuration folder; [`Watcher::follow`] adds transcripts.
    ///
    /// `receive` is called on the watcher's own thread and should be quick. The sessions running now come first.
    ///
    /// # Errors
    /// [`SessionError::Watcher`] if no thread can be started.
    pub fn start(config: ConfigDir, receive: impl FnMut(Update) + Send + 'static) -> Result<Self, SessionError> {
        let inbox = Arc::new(Inbox::default());
        let events = Arc::clone(&inbox);
        let watcher = notify::recommended_watcher(move |event| events.take_event(event));
        Self::run(config, inbox, watcher.ok(), receive)
    }

    /// Like [`Watcher::start`], but polls: for file systems known to lose events.
    ///
    /// # Errors
    /// [`SessionError::Watcher`] if no thread can be started.
    pub fn start_polling(
        config: ConfigDir,
        receive: impl FnMut(Update) + Send + 'static,
    ) -> Result<Self, SessionError> {
        Self::run(config, Arc::default(), None, receive)
    }

    fn run(
        config: ConfigDir,
        inbox: Arc<Inbox>,
        system: Option<RecommendedWatcher>,
        receive: impl FnMut(Update) + Send + 'static,
    ) -> Result<Self, SessionError> {
        inbox.waits_for(None);
        let worker = Worker::new(config, Arc::clone(&inbox), system, Box::new(receive));
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
    pub fn mode(&self) -> WatchMode {
        if self.inbox.is_polling() { WatchMode::Polling } else { WatchMode::Events }
    }

    /// Waits until the receiver got the sessions that ran at the start, at most this long.
    pub fn wait_for_first_look(&self, at_most: Duration) {
        self.inbox.wait_for_first_look(at_most);
    }

    /// Follows a transcript, which need not exist yet. Existing lines come at once.
    ///
    /// # Errors
    /// [`SessionError::Read`] if it begins at the end of a file that cannot be read.
    pub fn follow(&self, file: impl Into<PathBuf>, from: From) -> Result<FollowId, SessionError> {
        let tail = match from {
            From::Start => Tail::new(file),
            From::End => Tail::at_end(file)?,
            From::Offset(offset) => Tail::from_offset(file, offset, 1),
        };
        Ok(self.add(Follow::Lines(Box::new(tail))))
    }

    /// Notifies of changes beyond the first `offset` bytes of a transcript, and of changes of its session's subagents.
    /// For receivers that read the file themselves; lines are not held in memory.
    pub fn follow_news(&self, file: impl Into<PathBuf>, offset: u64) -> FollowId {
        self.add(Follow::News(Box::new(News::after(file.into(), offset))))
    }

    fn add(&self, follow: Follow) -> FollowId {
        let id = FollowId(self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        self.inbox.send(Command::Follow(id, follow));
        id
    }

    /// Stops following; an update already under way may still arrive.
    pub fn unfollow(&self, follow: FollowId) {
        self.inbox.send(Command::Unfollow(follow));
    }

    /// Reports new transcripts in a folder: see [`crate::Store::project_folder`].
    pub fn watch_folder(&self, folder: impl AsRef<Path>) {
        let folder = folder.as_ref().to_owned();
        let known = worker::transcripts(&folder).into_iter().collect();
        self.inbox.send(Command::WatchFolder(folder, known));
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
