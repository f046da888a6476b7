//! Following: new lines of transcripts, new transcripts, and what each running session does.
//!
//! One thread for everything. The system says which files changed (notify); where it cannot, files are polled. Events are
//! merged by file, so a flood of them costs no memory, and what was read decides, not what an event said. The thread also
//! looks at everything once a second: network file systems lose events, and a killed process leaves none.
//!
//! Invariants: each line comes once; our own reads wake nobody; the receiver is called from that thread alone.

mod inbox;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use notify::RecommendedWatcher;
use serde::Serialize;

use crate::config_dir::ConfigDir;
use crate::error::SessionError;
use crate::id::SessionId;
use crate::live::LiveChange;
use crate::tail::{Line, Tail};
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
    /// It looks again and again: the system could not be asked to tell.
    Polling,
}

/// Watches sessions until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    inbox: Arc<Inbox>,
    mode: WatchMode,
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
        let mode = if system.is_some() { WatchMode::Events } else { WatchMode::Polling };
        let worker = Worker::new(config, Arc::clone(&inbox), system, Box::new(receive));
        let thread = std::thread::Builder::new().name("claude-ide-sessions".into()).spawn(move || worker.run());
        let thread = thread.map_err(SessionError::Watcher)?;
        Ok(Self { inbox, mode, next: 1.into(), thread: Some(thread) })
    }

    /// How this watcher began; a folder that the system cannot watch is polled all the same.
    #[must_use]
    pub fn mode(&self) -> WatchMode {
        self.mode
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
        let id = FollowId(self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        self.inbox.send(Command::Follow(id, Box::new(tail)));
        Ok(id)
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

    /// Stops saying so.
    pub fn unwatch_folder(&self, folder: impl AsRef<Path>) {
        self.inbox.send(Command::UnwatchFolder(folder.as_ref().to_owned()));
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
