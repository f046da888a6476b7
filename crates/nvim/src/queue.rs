//! The queue between the library's threads and Neovim's main loop: events for Lua, and calls that Lua must answer.
//!
//! Invariants:
//! - A call is answered at most once, and its caller gets exactly one outcome: an answer, or that the editor is gone.
//! - It stays bounded while Neovim is busy: each source of events declares how (`waiting.rs`). A call that is cancelled
//!   before Lua took it leaves no trace.
//! - Events of one client arrive in the order in which they happened.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use claude_ide_server::EditorCall;
use claude_ide_session::Millis;
use claude_ide_system::memory::give_back;
use once_cell::sync::Lazy;
use serde_json::{Map, Value as Json};
use tokio::sync::oneshot;

use crate::lua::AsyncHandle;
use crate::value::{self, Value};
use crate::waiting::{Bound, Event, Full, Turn, Waiting};
use crate::wake::{Ringer, Wake};

/// Outlives every service, so that events of a stopping one can still be read.
pub(crate) static QUEUE: Lazy<Arc<Queue>> = Lazy::new(Arc::default);

/// Bytes of a call after which memory is given back.
const LARGE: usize = 1024 * 1024;
/// By then its windows are closed.
const OVER: Duration = Duration::from_secs(5);

/// Why a call was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The arguments nest too deep for Lua.
    TooDeep,
    /// Too much waits already.
    Full,
}

/// Lua's answer to a call.
#[derive(Debug)]
pub(crate) enum Reply {
    /// JSON, as bytes from `vim.json.encode`.
    Result(Vec<u8>),
    InvalidParams(String),
    Failed(String),
}

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
        // Every change below is complete before anything could panic, so a poisoned lock is fine.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings this handle from now on, and at once if something waits.
    pub(crate) fn arm(&self, ringer: Ringer, handle: AsyncHandle) {
        let mut state = self.lock();
        state.wake.arm(ringer, handle);
        state.ring();
    }

    /// Once this returns, no wake is sent for this service.
    pub(crate) fn disarm(&self, ringer: Ringer) {
        self.lock().wake.disarm(ringer);
    }

    /// Queues an event.
    pub(crate) fn put<E: Event>(&self, event: E) {
        if self.change(|waiting| waiting.push(event)) == Err(Full) {
            tracing::error!(event = std::any::type_name::<E>(), "the queue for Neovim is full: an event is dropped");
        }
    }

    /// Changes the queue; rings if it is not empty afterwards.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Waiting) -> T) -> T {
        let mut state = self.lock();
        let answer = change(&mut state.waiting);
        state.ring();
        answer
    }

    /// Queues a call. Dropping the [`Ticket`] cancels it.
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
        Ok(Ticket { id, weight, answer, queue: Arc::clone(self) })
    }

    /// Takes the first event, as a table for Lua.
    pub(crate) fn poll(&self) -> Option<Value> {
        let mut state = self.lock();
        state.wake.looked();
        let taken = state.waiting.pop()?;
        drop(state);
        Some(taken.into_value())
    }

    /// Answers a call that Lua has taken; `false` if it is unknown, answered, or cancelled.
    pub(crate) fn answer(&self, id: u64, reply: Reply) -> bool {
        let mut state = self.lock();
        if state.waiting.moment::<Called>(id).is_some() {
            return false;
        }
        let call = state.calls.remove(&id);
        drop(state);
        call.is_some_and(|call| call.reply.send(reply).is_ok())
    }

    /// Number of waiting events of clients.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len(Turn::Calls)
    }

    /// Number of unanswered calls, taken or not.
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

/// A call for Lua to answer.
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

/// The caller no longer waits for a call that Lua has taken.
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

/// A queued call. Dropping it unanswered cancels the call.
#[derive(Debug)]
pub(crate) struct Ticket {
    id: u64,
    weight: usize,
    answer: oneshot::Receiver<Reply>,
    queue: Arc<Queue>,
}

impl Ticket {
    /// Waits for Lua's answer; `None` if there will be none.
    pub(crate) async fn answer(mut self) -> Option<Reply> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.queue.cancel(self.id);
        if self.weight >= LARGE {
            give_back_memory();
        }
    }
}

/// Gives back what a large call used, once nothing of it is on the screen any more.
fn give_back_memory() {
    static IS_DUE: AtomicBool = AtomicBool::new(false);
    if !IS_DUE.swap(true, Ordering::Relaxed) {
        let thread = thread::Builder::new().spawn(|| {
            thread::sleep(OVER);
            IS_DUE.store(false, Ordering::Relaxed);
            give_back();
        });
        if thread.is_err() {
            IS_DUE.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
