//! Following: new lines of transcripts, new transcripts, and what each running session does.
//!
//! One thread for everything. The system says which files changed (notify) and which processes ended; without an event the
//! thread sleeps. Where the system does not tell (network file systems, a limit of watches that is reached, processes outside
//! Linux), it looks once a second, and [`Watcher::mode`] says so. Events are merged by file, so a flood of them costs no
//! memory, and what was read decides, not what an event said.
//!
//! Invariants: each line comes once; our own reads wake nobody; the receiver is called from that thread alone.

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

/// Names one follower of a [`Watcher`].
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

/// What a watcher saw.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// A followed transcript has new lines. To show them, [`crate::Transcript::refresh`] its transcript.
    Lines {
        /// The follower.
        follow: FollowId,
        /// The file was replaced before these lines: all earlier ones are void.
        replaced: bool,
        /// The new lines that may be shown; can be empty, when only bookkeeping was written.
        lines: Vec<Line>,
        /// Where following would go on.
        offset: u64,
    },
    /// A followed transcript, or what is known of its subagents, changed: see [`Watcher::follow_news`].
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
    /// A running session began, changed what it does, moved to another session (`/clear`), or ended.
    Live(LiveChange),
}

/// How a watcher learns of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchMode {
    /// The system tells.
    Events,
    /// It looks again and again, at least at something: the system does not tell of it.
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
    /// Starts watching the running sessions of a configuration folder; transcripts are added by [`Watcher::follow`].
    ///
    /// `receive` is called on the watcher's own thread and should be quick; the sessions that run now come first.
    ///
    /// # Errors
    /// [`SessionError::Watcher`] if no thread can be had.
    pub fn start(config: ConfigDir, receive: impl FnMut(Update) + Send + 'static) -> Result<Self, SessionError> {
        let inbox = Arc::new(Inbox::default());
        let events = Arc::clone(&inbox);
        let watcher = notify::recommended_watcher(move |event| events.take_event(event));
        Self::run(config, inbox, watcher.ok(), receive)
    }

    /// Like [`Watcher::start`], without asking the system for events: for file systems known to lose them.
    ///
    /// # Errors
    /// [`SessionError::Watcher`] if no thread can be had.
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
            // It wakes the one that waits for processes to end, which may have ended itself.
            block_sigpipe();
            worker.run();
        };
        let thread = std::thread::Builder::new().name("claude-ide-sessions".into()).spawn(body);
        let thread = thread.map_err(SessionError::Watcher)?;
        Ok(Self { inbox, next: 1.into(), thread: Some(thread) })
    }

    /// How it learns of changes now: that depends on where the files are, and on which CLIs run.
    #[must_use]
    pub fn mode(&self) -> WatchMode {
        if self.inbox.is_polling() { WatchMode::Polling } else { WatchMode::Events }
    }

    /// Waits until the sessions that ran at the start were told to the receiver, and no longer than that.
    pub fn wait_for_first_look(&self, at_most: Duration) {
        self.inbox.wait_for_first_look(at_most);
    }

    /// Follows a transcript, which need not exist yet. Lines that are there already come at once.
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

    /// Says when there is more of a transcript than the first `offset` bytes, and again at each change of it or of what is
    /// known of its session's subagents: for whoever reads the file himself. Costs no memory for its lines.
    pub fn follow_news(&self, file: impl Into<PathBuf>, offset: u64) -> FollowId {
        self.add(Follow::News(Box::new(News::after(file.into(), offset))))
    }

    fn add(&self, follow: Follow) -> FollowId {
        let id = FollowId(self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        self.inbox.send(Command::Follow(id, follow));
        id
    }

    /// Stops following; an update that is on its way may still come.
    pub fn unfollow(&self, follow: FollowId) {
        self.inbox.send(Command::Unfollow(follow));
    }

    /// Says which new transcripts appear in a folder: see [`crate::Store::project_folder`].
    pub fn watch_folder(&self, folder: impl AsRef<Path>) {
        let folder = folder.as_ref().to_owned();
        let known = worker::transcripts(&folder).into_iter().collect();
        self.inbox.send(Command::WatchFolder(folder, known));
    }

    /// Whether its thread waits for an event, for however long.
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
