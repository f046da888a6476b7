//! The running sessions, and the fate of those that ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use tokio::sync::watch;

use super::lock::lock;
use crate::id::SessionId;
use crate::live::{LiveChange, LiveSession};
use crate::state::Activity;

/// Limit of remembered moves, and of remembered ends.
const MAX_KNOWN: usize = 1024;

/// The running sessions.
#[derive(Default)]
pub struct Lives {
    state: Mutex<State>,
    /// Counts the changes.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    by_pid: BTreeMap<u32, LiveSession>,
    /// The session before and after each move of a process, newest last.
    moves: VecDeque<(SessionId, SessionId)>,
    /// Sessions that ended with their process, newest last.
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

    /// A counter of the changes, to wait on.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// All running sessions.
    #[must_use]
    pub fn all(&self) -> Vec<LiveSession> {
        lock(&self.state).by_pid.values().cloned().collect()
    }

    /// The process that runs a session; the most recently active one if there are several.
    #[must_use]
    pub fn of(&self, id: &str) -> Option<LiveSession> {
        let state = lock(&self.state);
        let running = state.by_pid.values().filter(|session| session.id.as_str() == id);
        running.max_by_key(|session| session.state.since).cloned()
    }

    /// The session that this one's process ran before (`/clear`).
    #[must_use]
    pub fn came_from(&self, id: &str) -> Option<SessionId> {
        let state = lock(&self.state);
        state.moves.iter().rev().find(|(_, next)| next.as_str() == id).map(|(before, _)| before.clone())
    }

    /// The session that this one's process moved on to, if none runs this one any more.
    #[must_use]
    pub fn went_on_as(&self, id: &str) -> Option<SessionId> {
        let state = lock(&self.state);
        if state.is_running(id) {
            return None;
        }
        let (_, next) = state.moves.iter().rev().find(|(before, _)| before.as_str() == id)?;
        state.is_running(next.as_str()).then(|| next.clone())
    }

    /// Whether the session ended with its process.
    #[must_use]
    pub fn has_gone(&self, id: &str) -> bool {
        lock(&self.state).gone.iter().any(|gone| gone.as_str() == id)
    }
}
