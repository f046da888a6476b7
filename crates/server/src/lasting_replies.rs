//! Replies of the editor that hold on: how it answered last, until something may have changed.
//!
//! The editor says what holds while it waits for the person, and takes it back at the first thing that happens there
//! (`lua/claude-ide/tools/lasting_replies.lua`). Two things end it here: a call that was put to the editor since, which may change
//! what the reply tells of, and time, for what changes outside of the editor and is told by nobody.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::editor::ClientId;

/// Of the process: a number that an earlier server gave is none of this one's.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// What the editor keeps, by the name of the call.
#[derive(Debug)]
pub(crate) struct LastingReplies {
    /// How long a reply is believed.
    max_age: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What was put to the editor last: a reply that is older than that holds no more.
    asked: u64,
    /// Who put it. The editor knows who asked it last, so another one has to ask.
    client: Option<ClientId>,
    replies: HashMap<Box<str>, Box<RawValue>>,
    since: Option<Instant>,
}

/// What the editor says of its replies.
#[derive(Deserialize)]
struct Told {
    /// The number that came with the call that it answered last.
    asked: u64,
    /// None at all: nothing holds any more.
    #[serde(default)]
    replies: HashMap<Box<str>, Box<RawValue>>,
}

impl LastingReplies {
    pub(crate) fn new(max_age: Duration) -> Self {
        Self { max_age, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client puts something to the editor: what that said before holds no more. Returns the number of this.
    pub(crate) fn ask(&self, client: ClientId) -> u64 {
        let mut state = self.state();
        state.asked = NUMBERS.fetch_add(1, Ordering::Relaxed);
        state.client = Some(client);
        state.replies.clear();
        state.asked
    }

    /// The editor says what holds from now on.
    pub(crate) fn tell(&self, params: &RawValue) {
        let told = serde_json::from_str::<Told>(params.get());
        let mut state = self.state();
        state.replies.clear();
        match told {
            Ok(Told { asked, replies }) if asked == state.asked => {
                state.replies = replies;
                state.since = Some(Instant::now());
            }
            // It does not know yet what it was asked since.
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "what the editor keeps cannot be read"),
        }
    }

    /// The editor's last reply to a call, if it holds for this client.
    pub(crate) fn recall(&self, client: ClientId, call: &str) -> Option<Box<RawValue>> {
        let state = self.state();
        let holds = state.client == Some(client) && state.since.is_some_and(|since| since.elapsed() <= self.max_age);
        state.replies.get(call).filter(|_| holds).cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::to_raw_value};

    use super::*;

    const ONE: ClientId = ClientId::new(1);
    const LONG: Duration = Duration::from_secs(3600);

    fn told(kept: &LastingReplies, asked: u64) {
        kept.tell(&to_raw_value(&json!({ "asked": asked, "replies": { "call": [1] } })).unwrap());
    }

    fn recalled(kept: &LastingReplies) -> Option<String> {
        kept.recall(ONE, "call").map(|reply| reply.get().to_owned())
    }

    #[test]
    fn what_the_editor_keeps_is_recalled_as_often_as_asked() {
        let kept = LastingReplies::new(LONG);
        told(&kept, kept.ask(ONE));
        assert_eq!(recalled(&kept).as_deref(), Some("[1]"));
        assert_eq!(recalled(&kept).as_deref(), Some("[1]"));
        assert!(kept.recall(ONE, "another").is_none());
    }

    #[test]
    fn what_was_asked_since_ends_it_also_where_the_editor_is_late_to_know() {
        let kept = LastingReplies::new(LONG);
        let first = kept.ask(ONE);
        told(&kept, first);
        let second = kept.ask(ONE);
        assert_eq!(recalled(&kept), None);
        told(&kept, first);
        assert_eq!(recalled(&kept), None, "it did not know of the second yet");
        told(&kept, second);
        assert!(recalled(&kept).is_some());
    }

    #[test]
    fn another_client_has_to_ask() {
        let kept = LastingReplies::new(LONG);
        told(&kept, kept.ask(ONE));
        assert!(kept.recall(ClientId::new(2), "call").is_none());
    }

    #[test]
    fn what_is_taken_back_or_too_old_is_not_recalled() {
        let kept = LastingReplies::new(LONG);
        let asked = kept.ask(ONE);
        told(&kept, asked);
        kept.tell(&to_raw_value(&json!({ "asked": asked })).unwrap());
        assert_eq!(recalled(&kept), None);
        told(&kept, asked);
        assert!(recalled(&kept).is_some());
        kept.state().since = Instant::now().checked_sub(LONG * 2);
        assert_eq!(recalled(&kept), None);
    }
}
