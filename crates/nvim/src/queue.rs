//! What passes between the library's threads and Neovim's main loop: events that wait for Lua to look, and the calls that it
//! has yet to answer.
//!
//! Invariants:
//! - A call is answered at most once, and its caller hears of it exactly once: an answer, or that the editor is gone.
//! - It is bounded while Neovim does not look: each source of events declares how (`waiting.rs`). A call that is cancelled
//!   before Lua saw it leaves without a trace.
//! - Events of one client arrive in the order in which they happened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use claude_ide_server::EditorCall;
use claude_ide_session::Millis;
use once_cell::sync::Lazy;
use serde_json::{Map, Value as Json};
use tokio::sync::oneshot;

use crate::lua::AsyncHandle;
use crate::value::{self, Value};
use crate::waiting::{Bound, Event, Full, Turn, Waiting};
use crate::wake::{Ringer, Wake};

/// Outlives every service, so that what happened while one stopped can still be read.
pub(crate) static QUEUE: Lazy<Arc<Queue>> = Lazy::new(Arc::default);

/// Why a call was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The arguments nest deeper than Lua values may here.
    TooDeep,
    /// Too much waits already.
    Full,
}

/// What Lua answered to a call.
#[derive(Debug)]
pub(crate) enum Reply {
    /// JSON, as bytes from `vim.json.encode`.
    Result(Vec<u8>),
    InvalidParams(String),
    Failed(String),
}

/// The events that wait, and the calls that Lua has yet to answer.
#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) waiting: Waiting,
    calls: HashMap<u64, Call>,
    last_call: u64,
    wake: Wake,
}

#[derive(Debug)]
struct Call {
    client: u64,
    name: &'static str,
    reply: oneshot::Sender<Reply>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change below is complete before anything that could panic, so a poisoned state is still a sound one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes go to this handle from now on, the first at once when something waits.
    pub(crate) fn arm(&self, ringer: Ringer, handle: AsyncHandle) {
        let mut state = self.lock();
        state.wake.arm(ringer, handle);
        state.ring();
    }

    /// No wake is sent for this one any more once this returns.
    pub(crate) fn disarm(&self, ringer: Ringer) {
        self.lock().wake.disarm(ringer);
    }

    /// Puts an event in the queue.
    pub(crate) fn put<E: Event>(&self, event: E) {
        if self.change(|waiting| waiting.push(event)) == Err(Full) {
            tracing::error!(event = std::any::type_name::<E>(), "too much waits for Neovim: an event is lost");
        }
    }

    /// Changes what waits; rings when something waits then.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Waiting) -> T) -> T {
        let mut state = self.lock();
        let answer = change(&mut state.waiting);
        state.ring();
        answer
    }

    /// Puts a call in the queue. Dropping the [`Ticket`] cancels it.
    pub(crate) fn submit(self: &Arc<Self>, call: EditorCall) -> Result<Ticket, Refusal> {
        let EditorCall { client, name, args, progress } = call;
        let weight = value::measure(&args).ok_or(Refusal::TooDeep)?;
        let client = client.get();
        let mut state = self.lock();
        let id = state.last_call + 1;
        state
            .waiting
            .push(Called { id, client, name, at: Millis::now(), args, progress, weight })
            .map_err(|Full| Refusal::Full)?;
        state.last_call = id;
        let (reply, answer) = oneshot::channel();
        state.calls.insert(id, Call { client, name, reply });
        state.ring();
        Ok(Ticket { id, answer, queue: Arc::clone(self) })
    }

    /// Takes the oldest event, as a table for Lua.
    pub(crate) fn poll(&self) -> Option<Value> {
        let mut state = self.lock();
        state.wake.looked();
        let taken = state.waiting.pop()?;
        drop(state);
        Some(taken.into_value())
    }

    /// Answers a call that Lua has taken; false when it is unknown, answered, or its caller is gone.
    pub(crate) fn answer(&self, id: u64, reply: Reply) -> bool {
        let mut state = self.lock();
        if state.waiting.moment::<Called>(id).is_some() {
            return false;
        }
        let call = state.calls.remove(&id);
        drop(state);
        call.is_some_and(|call| call.reply.send(reply).is_ok())
    }

    /// Events of clients that wait for Lua to look.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len(Turn::Calls)
    }

    /// Calls that Lua has yet to answer, taken or not.
    pub(crate) fn unanswered(&self) -> usize {
        self.lock().calls.len()
    }

    fn cancel(&self, id: u64) {
        let mut state = self.lock();
        let Some(Call { client, name, .. }) = state.calls.remove(&id) else { return };
        if !state.waiting.remove::<Called>(id) {
            drop(state);
            self.put(Cancelled { id, client, name });
        }
    }
}

impl State {
    fn ring(&mut self) {
        if !self.waiting.is_empty() {
            self.wake.ring();
        }
    }
}

/// A call that Lua has to answer once it has taken it.
struct Called {
    id: u64,
    client: u64,
    name: &'static str,
    at: Millis,
    args: Map<String, Json>,
    progress: Option<Json>,
    weight: usize,
}

impl Event for Called {
    const TURN: Turn = Turn::Calls;
    const BOUND: Bound = Bound::Count { events: 16_384, bytes: 256 * 1024 * 1024 };

    fn key(&self) -> u64 {
        self.id
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn into_value(self) -> Value {
        let mut fields = call_event("call", self.id, self.client, self.name);
        fields.push(("at", Value::Json(self.at.0.into())));
        fields.push(("args", Value::Object(self.args)));
        if let Some(progress) = self.progress {
            fields.push(("progress", Value::Json(progress)));
        }
        Value::Table(fields)
    }
}

/// Nobody waits any more for the answer to a call that Lua has taken.
struct Cancelled {
    id: u64,
    client: u64,
    name: &'static str,
}

impl Event for Cancelled {
    const TURN: Turn = Turn::Calls;
    /// Lua took the call before.
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.id
    }

    fn into_value(self) -> Value {
        Value::Table(call_event("cancel", self.id, self.client, self.name))
    }
}

fn call_event(kind: &'static str, id: u64, client: u64, name: &'static str) -> Vec<(&'static str, Value)> {
    vec![("type", Value::Text(kind)), ("id", Value::Id(id)), ("client", Value::Id(client)), ("name", Value::Text(name))]
}

/// A call on its way. Dropping it unanswered cancels the call.
#[derive(Debug)]
pub(crate) struct Ticket {
    id: u64,
    answer: oneshot::Receiver<Reply>,
    queue: Arc<Queue>,
}

impl Ticket {
    /// Waits for Lua's answer; nothing when there will be none.
    pub(crate) async fn answer(mut self) -> Option<Reply> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.queue.cancel(self.id);
    }
}

#[cfg(test)]
mod tests;
