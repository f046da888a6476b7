//! Wakes the watcher's thread: collects commands and changed files, merged by name.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use notify::EventKind;
use notify::event::{AccessKind, AccessMode};

use super::follow::Follow;
use super::update::FollowId;

/// Beyond this many changed files, everything is checked.
const MAX_CHANGED: usize = 4096;

/// A command of the watcher's owner.
#[derive(Debug)]
pub(super) enum Command {
    Follow(FollowId, Box<Follow>),
    Unfollow(FollowId),
    /// There is another folder to look at.
    LookAgain,
    Stop,
}

/// What there is to do.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) commands: Vec<Command>,
    pub(super) changed: BTreeSet<PathBuf>,
    /// Events were lost: check everything.
    pub(super) all: bool,
    /// A process ended.
    pub(super) ended: bool,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.changed.is_empty() && !self.all && !self.ended
    }
}

#[derive(Debug, Default)]
pub(super) struct Inbox {
    work: Mutex<Work>,
    wake: Condvar,
    polling: AtomicBool,
    looked: Mutex<bool>,
    first_look: Condvar,
    #[cfg(test)]
    wakes: std::sync::atomic::AtomicU64,
    #[cfg(test)]
    sleeps: AtomicBool,
}

impl Inbox {
    pub(super) fn send(&self, command: Command) {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).commands.push(command);
        self.wake.notify_one();
    }

    /// Reports the end of a watched process.
    pub(super) fn process_ended(&self) {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.wake.notify_one();
    }

    /// Records the polling interval; `None` if the thread only waits for events.
    pub(super) fn waits_for(&self, pause: Option<Duration>) {
        self.polling.store(pause.is_some(), Ordering::Relaxed);
    }

    pub(super) fn is_polling(&self) -> bool {
        self.polling.load(Ordering::Relaxed)
    }

    /// The first look is done, or the thread is gone.
    pub(super) fn has_looked(&self) {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.first_look.notify_all();
    }

    /// Waits for the first look, at most this long.
    pub(super) fn wait_for_first_look(&self, at_most: Duration) {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.first_look.wait_timeout_while(looked, at_most, |looked| !*looked));
    }

    /// Takes an event of the system. Reads are ignored: our own would wake the thread.
    pub(super) fn take_event(&self, event: notify::Result<notify::Event>) {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Ok(event) if is_only_reading(event.kind) => return,
            Ok(event) if !event.need_rescan() && work.changed.len() < MAX_CHANGED => work.changed.extend(event.paths),
            Ok(_) | Err(_) => work.all = true,
        }
        drop(work);
        self.wake.notify_one();
    }

    /// Waits until there is work, or until the time is over; then there may be none.
    pub(super) fn wait(&self, at_most: Option<Duration>) -> Work {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(test)]
        self.sleeps.store(at_most.is_none() && work.is_empty(), Ordering::Relaxed);
        let mut work = match at_most {
            Some(at_most) => {
                let waited = self.wake.wait_timeout_while(work, at_most, |work| work.is_empty());
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.wake.wait_while(work, |work| work.is_empty()).unwrap_or_else(PoisonError::into_inner),
        };
        #[cfg(test)]
        self.sleeps.store(false, Ordering::Relaxed);
        #[cfg(test)]
        if !work.changed.is_empty() || work.all {
            self.wakes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        std::mem::take(&mut *work)
    }

    #[cfg(test)]
    pub(super) fn sleeps(&self) -> bool {
        self.sleeps.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(super) fn wakes(&self) -> u64 {
        self.wakes.load(std::sync::atomic::Ordering::Relaxed)
    }
}

fn is_only_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => false,
    }
}
