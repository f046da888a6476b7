//! The sessions that run, and what became of those that did, for whoever asks at any time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use tokio::sync::watch;

use super::lock;
use crate::id::SessionId;
use crate::live::{LiveChange, LiveSession};
use crate::state::Activity;

/// Of so many processes it is remembered which session they had before, and of so many sessions that they have ended.
const MAX_KNOWN: usize = 1024;

/// The sessions that run.
#[derive(Default)]
pub struct Lives {
    state: Mutex<State>,
    /// How often what runs has changed.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    by_pid: BTreeMap<u32, LiveSession>,
    /// Which session a process went on with, by the one before, the newest last.
    moves: VecDeque<(SessionId, SessionId)>,
    /// Sessions that a process ran and that ended with it, the newest last.
    gone: VecDeque<SessionId>,
}

impl State {
    fn is_running(&self, id: &str) -> bool {
        self.by_pid.values().any(|session| session.id.as_str() == id)
    }
}

fn push<T>(known: &mut VecDeque<T>, one: T) {
    if known.len() >= MAX_KNOWN {
        known.pop_front();
    }
    known.push_back(one);
}

impl Lives {
    pub(super) fn take(&self, LiveChange { session, previous }: LiveChange) {
        let mut state = lock(&self.state);
        if let Some(previous) = previous {
            push(&mut state.moves, (previous, session.id.clone()));
        }
        if session.state.activity == Activity::Gone {
            state.by_pid.remove(&session.pid);
            push(&mut state.gone, session.id);
        } else {
            state.gone.retain(|gone| *gone != session.id);
            state.by_pid.insert(session.pid, session);
        }
        drop(state);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Says when something that runs has changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// All that run.
    #[must_use]
    pub fn all(&self) -> Vec<LiveSession> {
        lock(&self.state).by_pid.values().cloned().collect()
    }

    /// The process that runs a session; of several, the one that was active last.
    #[must_use]
    pub fn of(&self, id: &str) -> Option<LiveSession> {
        let state = lock(&self.state);
        let running = state.by_pid.values().filter(|session| session.id.as_str() == id);
        running.max_by_key(|session| session.state.since).cloned()
    }

    /// The session that the process of this one had before (`/clear`).
    #[must_use]
    pub fn came_from(&self, id: &str) -> Option<SessionId> {
        let state = lock(&self.state);
        state.moves.iter().rev().find(|(_, next)| next.as_str() == id).map(|(before, _)| before.clone())
    }

    /// The session that the process of this one went on with, if no process runs this one any more.
    #[must_use]
    pub fn went_on_as(&self, id: &str) -> Option<SessionId> {
        let state = lock(&self.state);
        if state.is_running(id) {
            return None;
        }
        let (_, next) = state.moves.iter().rev().find(|(before, _)| before.as_str() == id)?;
        state.is_running(next.as_str()).then(|| next.clone())
    }

    /// Whether a process that ran a session has ended.
    #[must_use]
    pub fn has_gone(&self, id: &str) -> bool {
        lock(&self.state).gone.iter().any(|gone| gone.as_str() == id)
    }
}
