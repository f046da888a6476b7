//! Limits the waiting bytes, in either direction: when it is full, the agent's output is not read, and the agent
//! blocks.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Limit in bytes. One more line may be on its way.
const MOST: usize = 16 * 1024 * 1024;

/// Counts waiting bytes.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    /// The chat is over: no limit any more.
    over: bool,
}

/// A number of waiting bytes, until dropped.
#[derive(Debug)]
pub struct Reserved {
    gate: Arc<Gate>,
    bytes: usize,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Reserved {
        let mut state = self.lock();
        state.bytes = state.bytes.saturating_add(bytes);
        Reserved { gate: Arc::clone(self), bytes }
    }

    /// The number of waiting bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Whether the limit is exceeded.
    pub(crate) fn is_full(&self) -> bool {
        let state = self.lock();
        state.bytes > MOST && !state.over
    }

    /// Waits until the limit is no longer exceeded.
    pub(crate) fn wait(&self) {
        let mut state = self.lock();
        while state.bytes > MOST && !state.over {
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lifts the limit for good.
    pub(crate) fn end(&self) {
        self.lock().over = true;
        self.opened.notify_all();
    }
}

impl Reserved {
    /// Merges both.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut other.bytes));
        self
    }

    /// Splits off up to `bytes`.
    #[must_use]
    pub fn part(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
        Self { gate: Arc::clone(&self.gate), bytes }
    }

    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut state = self.gate.lock();
            state.bytes = state.bytes.saturating_sub(self.bytes);
            drop(state);
            self.gate.opened.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reader_waits_until_held_permits_are_dropped() {
        let gate = Arc::new(Gate::default());
        let reserved = gate.hold(MOST).and(gate.hold(1));
        assert_eq!(reserved.bytes(), MOST + 1);
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiting = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                gate.wait();
                sender.send(()).unwrap();
            })
        };
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
        drop(reserved);
        receiver.recv_timeout(Duration::from_secs(30)).unwrap();
        waiting.join().unwrap();
    }

    #[test]
    fn a_permit_is_returned_in_parts() {
        let gate = Arc::new(Gate::default());
        let mut reserved = gate.hold(10);
        let part = reserved.part(4);
        assert_eq!((part.bytes(), reserved.bytes(), gate.lock().bytes), (4, 6, 10));
        drop(part);
        assert_eq!(gate.lock().bytes, 6);
        assert_eq!(reserved.part(7).bytes(), 6);
        assert_eq!((reserved.bytes(), gate.lock().bytes), (0, 0));
    }

    #[test]
    fn an_ended_gate_blocks_no_caller() {
        let gate = Arc::new(Gate::default());
        let _reserved = gate.hold(MOST + 1);
        gate.end();
        gate.wait();
    }
}
