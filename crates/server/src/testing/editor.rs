//! An editor controlled by the test.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::Instant,
};

use serde_json::{Value, value::RawValue};
use tokio::sync::oneshot;

use super::DEADLINE;
use crate::{ClientEvent, Displayed, Editor, EditorCall, EditorError, EditorReply};

/// Answers as instructed, and records its calls.
#[derive(Default)]
pub struct ScriptedEditor {
    state: Mutex<Script>,
    changed: Condvar,
}

#[derive(Default)]
struct Script {
    replies: HashMap<&'static str, Result<Value, EditorError>>,
    calls: Vec<EditorCall>,
    waiting: VecDeque<(&'static str, oneshot::Sender<Result<Value, EditorError>>)>,
    /// Each with the number of events before it.
    cancelled: Vec<(EditorCall, usize)>,
    events: Vec<ClientEvent>,
    displayed: Vec<String>,
    breaks_on: Option<&'static str>,
}

impl ScriptedEditor {
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.state.lock().unwrap()
    }

    /// Replies to all calls with this name from now on. Others wait for [`Self::answer`].
    pub fn reply(&self, name: &'static str, reply: Result<Value, EditorError>) {
        self.script().replies.insert(name, reply);
    }

    /// Replies to all waiting and future calls with this name.
    pub fn release(&self, name: &'static str, reply: &Result<Value, EditorError>) {
        let mut script = self.script();
        script.replies.insert(name, reply.clone());
        let (released, waiting): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut script.waiting).into_iter().partition(|(other, _)| *other == name);
        script.waiting = waiting;
        for (_, sender) in released {
            // The caller may be gone.
            let _ = sender.send(reply.clone());
        }
    }

    /// Makes calls with this name panic from now on.
    pub fn break_on(&self, name: &'static str) {
        self.script().breaks_on = Some(name);
    }

    /// Replies to the oldest open call with this name.
    pub fn answer(&self, name: &'static str, reply: Result<Value, EditorError>) {
        self.wait(&format!("a call of {name} that waits"), |script| {
            let waits = |(waiting, sender): &(_, oneshot::Sender<_>)| *waiting == name && !sender.is_closed();
            let index = script.waiting.iter().position(waits)?;
            script.waiting.remove(index)
        })
        .1
        .send(reply)
        .expect("the call was cancelled");
    }

    /// Waits for the `number`th call with this name, counted from 1.
    pub fn wait_call(&self, name: &str, number: usize) -> EditorCall {
        self.wait(&format!("call {number} of {name}"), |script| {
            script.calls.iter().filter(|call| call.name == name).nth(number - 1).cloned()
        })
    }

    /// Waits until a call with this name was cancelled.
    pub fn wait_cancelled(&self, name: &str) -> EditorCall {
        self.wait(&format!("the cancellation of {name}"), |script| {
            script.cancelled.iter().find(|(call, _)| call.name == name).map(|(call, _)| call.clone())
        })
    }

    /// Waits until a call with this name was cancelled; returns the events before that.
    pub fn wait_events_before_cancelled(&self, name: &str) -> Vec<ClientEvent> {
        self.wait(&format!("the cancellation of {name}"), |script| {
            let (_, earlier) = script.cancelled.iter().find(|(call, _)| call.name == name)?;
            Some(script.events.iter().take(*earlier).cloned().collect())
        })
    }

    /// Waits for an event.
    pub fn wait_event<T>(&self, what: &str, pick: impl Fn(&ClientEvent) -> Option<T>) -> T {
        self.wait(what, |script| script.events.iter().find_map(&pick))
    }

    /// Waits until that many clients have disconnected.
    pub fn wait_disconnected(&self, number: usize) -> Vec<String> {
        self.wait(&format!("{number} clients to leave"), |script| {
            let reasons: Vec<_> = script
                .events
                .iter()
                .filter_map(|event| match event {
                    ClientEvent::Disconnected { reason, .. } => Some(reason.clone()),
                    _ => None,
                })
                .collect();
            (reasons.len() >= number).then_some(reasons)
        })
    }

    #[must_use]
    pub fn calls(&self) -> Vec<EditorCall> {
        self.script().calls.clone()
    }

    /// What clients showed.
    #[must_use]
    pub fn displayed(&self) -> Vec<String> {
        self.script().displayed.clone()
    }

    #[must_use]
    pub fn events(&self) -> Vec<ClientEvent> {
        self.script().events.clone()
    }

    fn wait<T>(&self, what: &str, mut pick: impl FnMut(&mut Script) -> Option<T>) -> T {
        let until = Instant::now() + DEADLINE;
        let mut script = self.script();
        loop {
            if let Some(found) = pick(&mut script) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}; events: {:?}", script.events);
            script = self.changed.wait_timeout(script, left).unwrap().0;
        }
    }
}

/// Lives as long as its call is open.
struct Waiting {
    editor: Arc<ScriptedEditor>,
    call: Option<EditorCall>,
}

impl Waiting {
    fn settled(&mut self) {
        self.call = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            let mut script = self.editor.script();
            let earlier = script.events.len();
            script.cancelled.push((call, earlier));
            drop(script);
            self.editor.changed.notify_all();
        }
    }
}

/// Implements the trait for the shared editor, so that a call can outlive the borrow.
pub struct Shared(pub Arc<ScriptedEditor>);

impl Editor for Shared {
    fn call(&self, call: EditorCall) -> EditorReply {
        let editor = Arc::clone(&self.0);
        let mut script = editor.script();
        script.calls.push(call.clone());
        if script.breaks_on == Some(call.name) {
            drop(script);
            panic!("{} breaks, as the test wants", call.name);
        }
        let scripted = script.replies.get(call.name).cloned();
        let (sender, receiver) = oneshot::channel();
        if scripted.is_none() {
            script.waiting.push_back((call.name, sender));
        }
        drop(script);
        editor.changed.notify_all();
        let mut waiting = Waiting { editor, call: Some(call) };
        Box::pin(async move {
            let reply = match scripted {
                Some(reply) => reply,
                None => receiver.await.unwrap_or(Err(EditorError::Closed)),
            };
            waiting.settled();
            reply.map(|reply| RawValue::from_string(reply.to_string()).unwrap())
        })
    }

    fn event(&self, event: ClientEvent) {
        self.0.script().events.push(event);
        self.0.changed.notify_all();
    }

    fn displayed(&self, displayed: &Displayed<'_>) {
        self.0.script().displayed.push(format!("{displayed:?}"));
    }
}
