//! Permission requests of a CLI in a terminal, offered to clients beside the dialog in that terminal: see
//! `permission.rs`.
//!
//! Invariants: each is answered once, or dropped; if a session has several at once, none is offered, since their
//! answers in the terminal could not be told apart.

use tokio::sync::oneshot;

use super::decide::{Answer, open};
use super::{Broker, State};
use crate::editor::{Choice, Decision};
use crate::frames::Outward;

/// Limit of open requests: each holds a connection.
const MAX_HELD: usize = 8;
/// First number of these requests; the editor's count from one.
const FIRST: u64 = 1 << 40;

/// An open request of a CLI.
#[derive(Debug)]
pub(super) struct Waiting {
    session: String,
    /// Sends the answer to the CLI; `None` if it is not offered.
    answer: Option<oneshot::Sender<Answer>>,
}

/// Closes the request when dropped.
pub(crate) struct Held<'a> {
    broker: &'a Broker,
    id: u64,
    pub(crate) answer: oneshot::Receiver<Answer>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.broker.lock();
        state.held.remove(&self.id);
        close(&mut state, self.id, "closed");
    }
}

impl Broker {
    /// Offers a CLI's request to the session's writers; `None` if there are none.
    pub(crate) fn hold(
        &self,
        session: &str,
        choices: Vec<Choice>,
        about: serde_json::Map<String, serde_json::Value>,
    ) -> Option<Held<'_>> {
        self.writing.as_ref()?;
        let mut state = self.lock();
        let has_writer = state.topics.get(session).is_some_and(|topic| topic.has_writer());
        if !has_writer || state.held.len() >= MAX_HELD {
            return None;
        }
        state.last_held = state.last_held.max(FIRST) + 1;
        let id = state.last_held;
        let others: Vec<_> = state.held.iter_mut().filter(|(_, waiting)| waiting.session == session).collect();
        let is_alone = others.is_empty();
        let others: Vec<_> = others.into_iter().map(|(id, waiting)| (*id, waiting.answer = None).0).collect();
        others.into_iter().for_each(|id| close(&mut state, id, "closed"));
        let (answer, wanted) = oneshot::channel();
        state.held.insert(id, Waiting { session: session.to_owned(), answer: is_alone.then_some(answer) });
        if is_alone {
            open(&mut state, Decision { id, session: session.to_owned(), choices, about });
        }
        Some(Held { broker: self, id, answer: wanted })
    }
}

/// Sends an answer to the CLI; `false` if it no longer waits.
pub(super) fn answer(state: &mut State, id: u64, answer: Answer) -> bool {
    let sender = state.held.get_mut(&id).and_then(|waiting| waiting.answer.take());
    let outcome = if answer.choice == "reject" { "rejected" } else { "accepted" };
    let is_taken = sender.is_some_and(|sender| sender.send(answer).is_ok());
    close(state, id, if is_taken { outcome } else { "closed" });
    is_taken
}

fn close(state: &mut State, id: u64, outcome: &str) {
    let Some(decision) = state.decisions.remove(&id) else { return };
    if let Some(topic) = state.topics.get(&decision.session) {
        topic.tell(Outward::DecisionClosed { id, outcome }.text());
    }
}
