//! Wakes Neovim's event loop when events wait.
//!
//! Invariant: Rust never calls Lua. Lua makes one async handle per process, whose callback drains the queue through
//! `poll()`; this only rings it. One ring suffices until the next `poll`, so a burst of events costs one.

use crate::lua::AsyncHandle;

/// A service with events for Neovim; each arms the wake for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ringer {
    Server,
    Sessions,
    Web,
    Agents,
    Checkpoints,
}

/// Rings Neovim at most once between two polls. Guarded by the queue's lock.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    handle: Option<AsyncHandle>,
    ringers: Vec<Ringer>,
    rung: bool,
}

impl Wake {
    /// Directs `ring` to this handle.
    pub(crate) fn arm(&mut self, ringer: Ringer, handle: AsyncHandle) {
        self.handle = Some(handle);
        self.rung = false;
        if !self.ringers.contains(&ringer) {
            self.ringers.push(ringer);
        }
    }

    /// Removes a ringer. After the last one `ring` does nothing: Neovim's event loop may go away.
    pub(crate) fn disarm(&mut self, ringer: Ringer) {
        self.ringers.retain(|other| *other != ringer);
        if self.ringers.is_empty() {
            self.handle = None;
        }
    }

    /// Rings Neovim, unless it was rung since its last poll.
    pub(crate) fn ring(&mut self) {
        if !self.rung
            && let Some(handle) = &self.handle
        {
            self.rung = true;
            handle.send();
        }
    }

    /// Neovim polls now: later events need a new ring.
    pub(crate) fn looked(&mut self) {
        self.rung = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::lua::testing::counting_handle;

    #[test]
    fn rings_once_until_the_next_poll() {
        let (handle, rings) = counting_handle();
        let mut wake = Wake::default();
        wake.ring();
        wake.arm(Ringer::Server, handle);
        wake.ring();
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 1);
        wake.looked();
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn does_not_ring_once_disarmed() {
        let (handle, rings) = counting_handle();
        let mut wake = Wake::default();
        wake.arm(Ringer::Server, handle);
        wake.disarm(Ringer::Server);
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn rings_until_the_last_ringer_is_done() {
        let (handle, rings) = counting_handle();
        let (same, _) = counting_handle();
        let mut wake = Wake::default();
        wake.arm(Ringer::Server, same);
        wake.arm(Ringer::Sessions, handle);
        wake.disarm(Ringer::Server);
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 1);
        wake.looked();
        wake.disarm(Ringer::Sessions);
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 1);
    }
}
