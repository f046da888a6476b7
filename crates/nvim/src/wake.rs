//! The wake: tells Neovim's event loop that events wait.
//!
//! Invariant: Rust never calls Lua. Lua makes one async handle a process, whose callback drains the queue through
//! `poll()`; this only rings it. One ring suffices until `poll` has looked again, so a burst of events costs one.

use crate::lua::AsyncHandle;

/// Rings Neovim at most once between two looks into the queue. Guarded by the queue's lock.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    handle: Option<AsyncHandle>,
    rung: bool,
}

impl Wake {
    /// From now on `ring` reaches this handle.
    pub(crate) fn arm(&mut self, handle: AsyncHandle) {
        self.handle = Some(handle);
        self.rung = false;
    }

    /// From now on `ring` reaches nothing: Neovim's event loop may go away.
    pub(crate) fn disarm(&mut self) {
        self.handle = None;
    }

    /// Wakes Neovim unless it was woken already and has not looked yet.
    pub(crate) fn ring(&mut self) {
        if !self.rung
            && let Some(handle) = &self.handle
        {
            self.rung = true;
            handle.send();
        }
    }

    /// Neovim is about to look: what is pushed from now on needs a new ring.
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
    fn rings_once_until_somebody_looked() {
        let (handle, rings) = counting_handle();
        let mut wake = Wake::default();
        wake.ring();
        wake.arm(handle);
        wake.ring();
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 1);
        wake.looked();
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn rings_nobody_once_disarmed() {
        let (handle, rings) = counting_handle();
        let mut wake = Wake::default();
        wake.arm(handle);
        wake.disarm();
        wake.ring();
        assert_eq!(rings.load(Ordering::Relaxed), 0);
    }
}
