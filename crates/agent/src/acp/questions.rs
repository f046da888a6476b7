//! What the agent asked and nobody has answered yet.
//!
//! Invariant: an answer has the form that the schema gives it, or an error says that it had another one.

use std::collections::{BTreeMap, HashMap};

use agent_client_protocol_schema::v1 as schema;
use claude_ide_protocol::jsonrpc::{ErrorCode, ErrorObject, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::permission::{self, Offered};
use crate::ask::Ask;
use crate::backend::Output;
use crate::command::ReplyError;
use crate::event::Event;

/// The methods that are served, by the user or by Lua.
const METHODS: [&str; 9] = [
    "session/request_permission",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
    "elicitation/create",
];

pub(super) const PERMISSION: &str = "session/request_permission";
pub(super) const FORM: &str = "elicitation/create";

pub(super) type Outcome = Result<Value, ErrorObject>;

struct Question {
    /// As a value: one text may be written in several ways.
    id: Value,
    method: &'static str,
    /// That may not go on without an answer.
    call: Option<String>,
    /// The answers to a permission.
    offered: Vec<Offered>,
    answer: oneshot::Sender<Outcome>,
}

/// The open ones, by the name that Lua knows.
#[derive(Default)]
pub(super) struct Questions {
    open: HashMap<String, Question>,
    last: u64,
}

/// The name of a method, where it is one that is served.
pub(super) fn served(method: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == method)
}

impl Questions {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many wait for more than the end of a command: that may take as long as it wants.
    pub(super) fn pressing(&self) -> usize {
        self.open.values().filter(|question| question.method != "terminal/wait_for_exit").count()
    }

    /// Asks Lua; what is returned resolves with the answer.
    pub(super) fn ask(
        &mut self,
        id: &RequestId,
        method: &'static str,
        ask: Ask,
        offered: Vec<Offered>,
        out: &mut Output,
    ) -> oneshot::Receiver<Outcome> {
        self.last = self.last.saturating_add(1);
        let (answer, answered) = oneshot::channel();
        let request = format!("acp-{}", self.last);
        let call = match &ask {
            Ask::Permission(permission) => permission.call.clone(),
            _ => None,
        };
        let id = serde_json::from_str(id.as_json()).unwrap_or_default();
        self.open.insert(request.clone(), Question { id, method, call, offered, answer });
        out.emit(Event::Asks { request, ask });
        answered
    }

    /// The user lets it be done, or what they filled in is sent.
    pub(super) fn allow(&mut self, request: &str, choice: Option<&str>, changes: &BTreeMap<String, Value>) {
        self.settle(request, |question| match question.method {
            PERMISSION => permission::outcome(&question.offered, choice, true),
            _ if changes.is_empty() => json!({ "action": "accept" }),
            _ => json!({ "action": "accept", "content": changes }),
        });
    }

    pub(super) fn deny(&mut self, request: &str, choice: Option<&str>) {
        self.settle(request, |question| match question.method {
            PERMISSION => permission::outcome(&question.offered, choice, false),
            _ => json!({ "action": "decline" }),
        });
    }

    pub(super) fn unanswered(&mut self, request: &str) {
        self.settle(request, |question| match question.method {
            PERMISSION => json!({ "outcome": { "outcome": "cancelled" } }),
            _ => json!({ "action": "cancel" }),
        });
    }

    /// Answers what needs the user.
    fn settle(&mut self, request: &str, result: impl FnOnce(&Question) -> Value) {
        if !self.open.get(request).is_some_and(|question| matches!(question.method, PERMISSION | FORM)) {
            return;
        }
        if let Some(question) = self.open.remove(request) {
            let outcome = typed(question.method, result(&question));
            // The agent may have taken it back meanwhile.
            let _: Result<(), _> = question.answer.send(outcome);
        }
    }

    /// Lua answers.
    pub(super) fn reply(&mut self, request: &str, result: Option<Value>, error: Option<ReplyError>) {
        let Some(question) = self.open.remove(request) else { return };
        let outcome = match error {
            Some(error) => Err(ErrorObject { code: error.code.into(), message: error.message.into() }),
            None => typed(question.method, result.unwrap_or_default()),
        };
        // The agent may have taken it back meanwhile.
        let _: Result<(), _> = question.answer.send(outcome);
    }

    /// The agent takes a request back: it is answered as cancelled.
    pub(super) fn withdraw(&mut self, id: &Value, out: &mut Output) {
        for (request, question) in self.open.extract_if(|_, question| question.id == *id) {
            out.emit(Event::Withdrawn { request });
            let _: Result<(), _> = question.answer.send(Err(taken_back()));
        }
    }

    /// The turn is cancelled: what needed the user is answered as such. Returns the calls whose permission was not answered.
    pub(super) fn cancel_all(&mut self, out: &mut Output) -> Vec<String> {
        let mut calls = Vec::new();
        for (request, question) in self.open.extract_if(|_, question| cancelled(question.method).is_some()) {
            out.emit(Event::Withdrawn { request });
            calls.extend(question.call);
            let outcome = cancelled(question.method).unwrap_or_else(|| Err(taken_back()));
            let _: Result<(), _> = question.answer.send(outcome);
        }
        calls
    }
}

/// The answer to what is asked in a turn that is cancelled. Terminals go on: the agent ends them itself.
pub(super) fn cancelled(method: &str) -> Option<Outcome> {
    match method {
        "session/request_permission" => Some(Ok(json!({ "outcome": { "outcome": "cancelled" } }))),
        "elicitation/create" => Some(Ok(json!({ "action": "cancel" }))),
        _ if method.starts_with("terminal/") => None,
        _ => Some(Err(taken_back())),
    }
}

fn taken_back() -> ErrorObject {
    ErrorObject { code: ErrorCode::Cancelled, message: "cancelled".into() }
}

/// An answer of Lua's in the form that the method has.
fn typed(method: &str, result: Value) -> Outcome {
    match method {
        "session/request_permission" => checked::<schema::RequestPermissionResponse>(result),
        "fs/read_text_file" => checked::<schema::ReadTextFileResponse>(result),
        "fs/write_text_file" => checked::<schema::WriteTextFileResponse>(result),
        "terminal/create" => checked::<schema::CreateTerminalResponse>(result),
        "terminal/output" => checked::<schema::TerminalOutputResponse>(result),
        "terminal/wait_for_exit" => checked::<schema::WaitForTerminalExitResponse>(result),
        "terminal/kill" => checked::<schema::KillTerminalResponse>(result),
        "terminal/release" => checked::<schema::ReleaseTerminalResponse>(result),
        _ => checked::<schema::CreateElicitationResponse>(result),
    }
}

fn checked<T: DeserializeOwned + Serialize>(result: Value) -> Outcome {
    serde_json::from_value::<T>(result).and_then(serde_json::to_value).map_err(|error| {
        tracing::error!(%error, "an answer for an agent has another form than its method");
        ErrorObject { code: ErrorCode::InternalError, message: "the editor could not answer".into() }
    })
}
