//! The agent's open questions.
//!
//! Invariant: an answer has the schema's form; a malformed one is sent as an error.

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
use crate::event::Event;
use crate::reply::ReplyError;

/// The supported methods, answered by the user or by Lua.
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
    /// As a value, since a text can be spelled in several ways.
    id: Value,
    method: &'static str,
    /// The call that must not continue unanswered.
    call: Option<String>,
    /// The answers to a permission.
    offered: Vec<Offered>,
    answer: oneshot::Sender<Outcome>,
}

/// The open questions, by Lua's id.
#[derive(Default)]
pub(super) struct Questions {
    open: HashMap<String, Question>,
    last: u64,
}

/// The method, if it is supported.
pub(super) fn served(method: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == method)
}

impl Questions {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The number of open questions, without waits for a command's end, which may take any time.
    pub(super) fn pressing(&self) -> usize {
        self.open.values().filter(|question| question.method != "terminal/wait_for_exit").count()
    }

    /// Asks Lua; the returned future resolves with the answer.
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

    /// Sends the user's approval, or the filled-in form.
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
        self.settle(request, |question| cancelled(question.method).and_then(Result::ok).unwrap_or_default());
    }

    /// Answers a question to the user.
    fn settle(&mut self, request: &str, result: impl FnOnce(&Question) -> Value) {
        if !self.open.get(request).is_some_and(|question| matches!(question.method, PERMISSION | FORM)) {
            return;
        }
        if let Some(question) = self.open.remove(request) {
            let outcome = typed(question.method, result(&question));
            // The agent may have withdrawn it meanwhile.
            let _: Result<(), _> = question.answer.send(outcome);
        }
    }

    /// Sends Lua's answer.
    pub(super) fn reply(&mut self, request: &str, result: Option<Value>, error: Option<ReplyError>) {
        let Some(question) = self.open.remove(request) else { return };
        let outcome = match error {
            Some(error) => Err(ErrorObject { code: error.code.into(), message: error.message.into() }),
            None => typed(question.method, result.unwrap_or_default()),
        };
        // The agent may have withdrawn it meanwhile.
        let _: Result<(), _> = question.answer.send(outcome);
    }

    /// The agent withdraws a request: answers it as cancelled.
    pub(super) fn withdraw(&mut self, id: &Value, out: &mut Output) {
        for (request, question) in self.open.extract_if(|_, question| question.id == *id) {
            out.emit(Event::Withdrawn { request });
            let _: Result<(), _> = question.answer.send(Err(taken_back()));
        }
    }

    /// The turn is cancelled: answers all questions to the user as cancelled. Returns the calls with an unanswered
    /// permission.
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

/// The answer to a question in a cancelled turn. Terminals continue: the agent ends them itself.
pub(super) fn cancelled(method: &str) -> Option<Outcome> {
    match method {
        PERMISSION => Some(Ok(json!({ "outcome": { "outcome": "cancelled" } }))),
        FORM => Some(Ok(json!({ "action": "cancel" }))),
        _ if method.starts_with("terminal/") => None,
        _ => Some(Err(taken_back())),
    }
}

fn taken_back() -> ErrorObject {
    ErrorObject { code: ErrorCode::Cancelled, message: "cancelled".into() }
}

/// Lua's answer, checked against the method's type.
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
        tracing::error!(%error, "an answer to an agent does not match its method");
        ErrorObject { code: ErrorCode::InternalError, message: "the editor could not answer".into() }
    })
}
