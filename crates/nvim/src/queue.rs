//! What waits between the library's threads and Neovim's main loop: calls to answer, news of clients, and behind them what
//! was found out about sessions (`mailbox.rs`).
//!
//! Invariants:
//! - A call is answered at most once, and its caller hears of it exactly once: an answer, or that the editor is gone.
//! - The queue is bounded while Neovim does not look, for however long. Calls are counted and weighed; a call that is
//!   cancelled before Lua saw it leaves the queue without a trace; news of a client replaces older news of it, and a
//!   client that came and went unseen is never spoken of.
//! - Events of one client arrive in the order in which they happened.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use claude_ide_server::{ClientEvent, ClientInfo, EditorCall};
use serde_json::{Map, Value as Json};
use tokio::sync::oneshot;

use crate::lua::AsyncHandle;
use crate::mailbox::Mailbox;
use crate::value::{self, Value};
use crate::wake::{Ringer, Wake};

/// Calls that may wait for Neovim to look.
const MAX_WAITING_CALLS: usize = 16_384;

/// What the arguments of all waiting calls may weigh together, in bytes.
const MAX_WAITING_BYTES: usize = 256 * 1024 * 1024;

/// Cancelled calls that may leave a mark in the queue before it is swept.
const MAX_MARKS: usize = 1_024;

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

/// The queue and the calls that Lua has yet to answer.
#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    calls: HashMap<u64, Call>,
    last_call: u64,
    waiting_calls: usize,
    waiting_bytes: usize,
    /// Entries of calls that were cancelled before Lua saw them.
    marks: usize,
    /// What was found out about sessions: read when no entry waits.
    mail: Mailbox,
    wake: Wake,
}

#[derive(Debug)]
enum Entry {
    /// The call itself lies in `State::calls`; when it is gone from there, this is a mark.
    Call(u64),
    Cancel {
        call: u64,
        client: u64,
        name: &'static str,
    },
    Client(News),
    /// The server's thread ended though nobody asked it to.
    End,
}

#[derive(Debug)]
struct Call {
    client: u64,
    name: &'static str,
    /// Present until Lua has taken the call.
    waiting: Option<Arguments>,
    reply: oneshot::Sender<Reply>,
}

#[derive(Debug)]
struct Arguments {
    fields: Map<String, Json>,
    weight: usize,
}

/// News of one client.
#[derive(Debug)]
struct News {
    kind: NewsKind,
    client: ClientInfo,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewsKind {
    Connected,
    Ready,
    Changed,
    Disconnected,
}

impl NewsKind {
    fn event(self) -> &'static str {
        match self {
            Self::Connected => "client_connected",
            Self::Ready => "client_ready",
            Self::Changed => "client_changed",
            Self::Disconnected => "client_disconnected",
        }
    }
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
        if !state.entries.is_empty() || !state.mail.is_empty() {
            state.wake.ring();
        }
    }

    /// No wake is sent for this one any more once this returns.
    pub(crate) fn disarm(&self, ringer: Ringer) {
        self.lock().wake.disarm(ringer);
    }

    /// Changes what waits of the sessions; rings when something waits then.
    pub(crate) fn mail<T>(&self, change: impl FnOnce(&mut Mailbox) -> T) -> T {
        let mut state = self.lock();
        let answer = change(&mut state.mail);
        if !state.mail.is_empty() {
            state.wake.ring();
        }
        answer
    }

    /// Puts a call in the queue. Dropping the [`Ticket`] cancels it.
    pub(crate) fn submit(self: &Arc<Self>, call: EditorCall) -> Result<Ticket, Refusal> {
        let weight = value::measure(&call.args).ok_or(Refusal::TooDeep)?;
        let mut state = self.lock();
        let bytes = state.waiting_bytes.saturating_add(weight);
        if state.waiting_calls >= MAX_WAITING_CALLS || (state.waiting_calls > 0 && bytes > MAX_WAITING_BYTES) {
            return Err(Refusal::Full);
        }
        state.waiting_calls += 1;
        state.waiting_bytes = bytes;
        state.last_call += 1;
        let id = state.last_call;
        let (reply, answer) = oneshot::channel();
        let waiting = Some(Arguments { fields: call.args, weight });
        state.calls.insert(id, Call { client: call.client.get(), name: call.name, waiting, reply });
        state.push(Entry::Call(id));
        Ok(Ticket { id, answer, queue: Arc::clone(self) })
    }

    /// Puts news of a client in the queue.
    pub(crate) fn announce(&self, event: ClientEvent) {
        let news = match event {
            ClientEvent::Connected(client) => News { kind: NewsKind::Connected, client, reason: None },
            ClientEvent::Ready(client) => News { kind: NewsKind::Ready, client, reason: None },
            ClientEvent::Changed(client) => News { kind: NewsKind::Changed, client, reason: None },
            ClientEvent::Disconnected { client, reason } => {
                News { kind: NewsKind::Disconnected, client, reason: Some(reason) }
            }
        };
        self.lock().announce(news);
    }

    /// Puts the unexpected end of the server in the queue.
    pub(crate) fn announce_end(&self) {
        self.lock().push(Entry::End);
    }

    /// Takes the oldest event, as a table for Lua.
    pub(crate) fn poll(&self) -> Option<Value> {
        let mut state = self.lock();
        state.wake.looked();
        while let Some(entry) = state.entries.pop_front() {
            match entry {
                Entry::Call(id) => {
                    if let Some(event) = state.take(id) {
                        return Some(event);
                    }
                    state.marks = state.marks.saturating_sub(1);
                }
                Entry::Cancel { call, client, name } => return Some(call_event("cancel", call, client, name, None)),
                Entry::Client(news) => return Some(news.into_event()),
                Entry::End => return Some(Value::Table(vec![("type", Value::Text("ended"))])),
            }
        }
        state.mail.take()
    }

    /// Answers a call that Lua has taken; false when it is unknown, answered, or its caller is gone.
    pub(crate) fn answer(&self, id: u64, reply: Reply) -> bool {
        let mut state = self.lock();
        if state.calls.get(&id).is_none_or(|call| call.waiting.is_some()) {
            return false;
        }
        let call = state.calls.remove(&id);
        drop(state);
        call.is_some_and(|call| call.reply.send(reply).is_ok())
    }

    /// Events that wait for Lua to look.
    pub(crate) fn len(&self) -> usize {
        let state = self.lock();
        state.entries.len().saturating_sub(state.marks)
    }

    /// Calls that Lua has yet to answer, taken or not.
    pub(crate) fn unanswered(&self) -> usize {
        self.lock().calls.len()
    }

    fn cancel(&self, id: u64) {
        let mut state = self.lock();
        let Some(call) = state.calls.remove(&id) else { return };
        match call.waiting {
            None => state.push(Entry::Cancel { call: id, client: call.client, name: call.name }),
            Some(arguments) => {
                state.waiting_calls -= 1;
                state.waiting_bytes = state.waiting_bytes.saturating_sub(arguments.weight);
                state.marks += 1;
                state.sweep();
            }
        }
    }
}

impl State {
    fn push(&mut self, entry: Entry) {
        self.entries.push_back(entry);
        self.wake.ring();
    }

    /// The event for a waiting call, which Lua has to answer from here on.
    fn take(&mut self, id: u64) -> Option<Value> {
        let call = self.calls.get_mut(&id)?;
        let arguments = call.waiting.take()?;
        self.waiting_calls -= 1;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(arguments.weight);
        Some(call_event("call", id, call.client, call.name, Some(arguments.fields)))
    }

    fn announce(&mut self, news: News) {
        let id = news.client.id;
        let unseen = |entry: &Entry| matches!(entry, Entry::Client(old) if old.client.id == id);
        match news.kind {
            NewsKind::Connected | NewsKind::Ready => self.push(Entry::Client(news)),
            // Older news that nobody has read yet can as well tell the new state.
            NewsKind::Changed => match self.entries.iter_mut().rev().find(|entry| unseen(entry)) {
                Some(Entry::Client(old)) => old.client = news.client,
                Some(Entry::Call(_) | Entry::Cancel { .. } | Entry::End) | None => self.push(Entry::Client(news)),
            },
            NewsKind::Disconnected => {
                let mut came_unseen = false;
                self.entries.retain(|entry| match entry {
                    Entry::Client(old) if old.client.id == id => {
                        came_unseen |= old.kind == NewsKind::Connected;
                        false
                    }
                    Entry::Client(_) | Entry::Call(_) | Entry::Cancel { .. } | Entry::End => true,
                });
                if !came_unseen {
                    self.push(Entry::Client(news));
                }
            }
        }
    }

    /// Drops the marks once they are many and the greater part.
    fn sweep(&mut self) {
        if self.marks > MAX_MARKS && self.marks * 2 > self.entries.len() {
            let calls = &self.calls;
            self.entries.retain(|entry| match entry {
                Entry::Call(id) => calls.contains_key(id),
                Entry::Cancel { .. } | Entry::Client(_) | Entry::End => true,
            });
            self.marks = 0;
        }
    }
}

impl News {
    fn into_event(self) -> Value {
        let client = serde_json::to_value(&self.client).map_or(Value::Nil, Value::Json);
        let mut fields = vec![("type", Value::Text(self.kind.event())), ("client", client)];
        if let Some(reason) = self.reason {
            fields.push(("reason", Value::Json(Json::String(reason))));
        }
        Value::Table(fields)
    }
}

fn call_event(kind: &'static str, id: u64, client: u64, name: &'static str, args: Option<Map<String, Json>>) -> Value {
    let mut fields = vec![
        ("type", Value::Text(kind)),
        ("id", Value::Id(id)),
        ("client", Value::Id(client)),
        ("name", Value::Text(name)),
    ];
    if let Some(args) = args {
        fields.push(("args", Value::Object(args)));
    }
    Value::Table(fields)
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
