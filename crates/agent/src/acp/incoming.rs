//! Handles a line from the agent: a request, a notification, a response, or garbage.

use std::borrow::Cow;

use agent_client_protocol_schema::v1 as schema;
use claude_ide_protocol::jsonrpc::{self, ErrorCode, ErrorObject, Incoming, RequestId};
use claude_ide_protocol::without_lone_surrogates;
use claude_ide_rpc::encode;
use serde::de::{Deserialize as _, DeserializeOwned};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::permission::{self, Offered};
use super::questions::{self, Outcome};
use super::{Acp, Waits};
use crate::ask::{Ask, Form};
use crate::backend::Output;
use crate::form;
use crate::json::list;
use crate::lenient;

/// Gemini's name for itself. It reads a file before writing it, and takes any error as a reason not to write, including
/// that the file does not exist yet (0.61.0; google-gemini/gemini-cli#17588): it could never create a file.
const READS_BEFORE_IT_CREATES: &str = "gemini-cli";

impl Acp {
    pub(super) fn incoming(&mut self, line: &[u8], out: &mut Output) {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return;
        }
        // JavaScript programs cut strings within surrogate pairs, which is no valid JSON here.
        let whole = without_lone_surrogates(&text);
        match jsonrpc::parse_with_null_ids(&whole) {
            Ok(Incoming::Request { id, .. }) if matches!(text, Cow::Owned(_)) => refuse_unread(&id, out),
            Ok(Incoming::Request { id, method, params }) => self.asked(id, &method, params, out),
            Ok(Incoming::Notification { method, params }) => self.notified(&method, params, out),
            Ok(Incoming::Response { id, outcome }) => {
                // Dropped: the request was already answered or withdrawn.
                let Some(ours) = self.peer.asked.answered(id.as_ref()) else { return };
                let outcome = outcome.map(value).map_err(value);
                self.answered(ours, outcome, out);
            }
            Err(malformed) => match malformed.id {
                Some(id) => out.write_line(encode::<Value, _>(&id, Err(malformed.error))),
                None => self.rubbish(line, out),
            },
        }
    }

    fn asked(&mut self, id: RequestId, method: &str, params: Option<&RawValue>, out: &mut Output) {
        let bytes = params.map_or(0, |params| params.get().len());
        if let Err(refusal) = self.peer.in_flight.is_free(&id) {
            return out.write_line(encode::<Value, _>(&id, Err(refusal)));
        }
        let Some(method) = questions::served(method) else {
            let message = format!("{method} is not served here").into();
            let error = ErrorObject { code: ErrorCode::MethodNotFound, message };
            return out.write_line(encode::<Value, _>(&id, Err(error)));
        };
        let order =
            params.filter(|_| method == questions::FORM).and_then(|params| form::order_in_request(params.get()));
        let Some((mut params, true)) = params.map_or(Some((Value::Null, true)), |params| lenient::read(params.get()))
        else {
            return refuse_unread(&id, out);
        };
        if method == questions::PERMISSION {
            leave_out_unknown_options(&mut params);
        }
        let is_ours = match (params.get("sessionId").and_then(Value::as_str), &self.session) {
            (Some(theirs), Some(session)) => theirs == session,
            // An agent may ask before it has named its session, and a form may belong to a request.
            _ => true,
        };
        let problem = if is_ours { wrong_params(method, &params) } else { Some("no such session".to_owned()) };
        if let Some(problem) = problem {
            let error = ErrorObject { code: ErrorCode::InvalidParams, message: problem.into() };
            return out.write_line(encode::<Value, _>(&id, Err(error)));
        }
        if method == questions::PERMISSION {
            self.updates.of_permission(&mut params, out);
        }
        if self.is_cancelled
            && let Some(outcome) = questions::cancelled(method)
        {
            return out.write_line(encode(&id, outcome));
        }
        let offered = permission::offered(&params);
        let ask = match self.ask_of(method, &params, &offered, order.as_deref()) {
            Ok(ask) => ask,
            Err(outcome) => return out.write_line(encode(&id, outcome)),
        };
        let answered = self.questions.ask(&id, method, ask, offered, out);
        let gone = || ErrorObject { code: ErrorCode::InternalError, message: "the editor could not answer".into() };
        let work = async move { answered.await.unwrap_or_else(|_| Err(gone())) };
        self.peer.in_flight.begin(id, None, bytes, Box::new(move || Box::pin(work)), Waits);
    }

    /// Converts a request to a question, or to an immediate answer.
    fn ask_of(
        &self,
        method: &str,
        params: &Value,
        offered: &[Offered],
        order: Option<&[String]>,
    ) -> Result<Ask, Outcome> {
        let string = |field: &str| params.get(field).and_then(Value::as_str).map(str::to_owned);
        let required = |field: &str| string(field).unwrap_or_default();
        let number = |field: &str| params.get(field).and_then(Value::as_u64);
        let line = |field: &str| number(field).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        Ok(match method {
            questions::PERMISSION => Ask::Permission(Box::new(permission::asked(&self.options.name, params, offered))),
            "fs/read_text_file" => Ask::ReadFile {
                path: required("path"),
                line: line("line"),
                limit: line("limit"),
                missing_is_empty: self.program == READS_BEFORE_IT_CREATES,
            },
            "fs/write_text_file" => Ask::WriteFile { path: required("path"), content: required("content") },
            "terminal/create" => {
                let texts = |value: &Value| value.as_str().map(str::to_owned);
                Ask::CreateTerminal {
                    command: required("command"),
                    args: list(params.get("args")).filter_map(texts).collect(),
                    env: list(params.get("env"))
                        .filter_map(|one| Some((texts(one.get("name")?)?, texts(one.get("value")?)?)))
                        .collect(),
                    cwd: string("cwd"),
                    output_limit: number("outputByteLimit"),
                }
            }
            "terminal/output" => Ask::TerminalOutput { terminal: required("terminalId") },
            "terminal/wait_for_exit" => Ask::WaitForExit { terminal: required("terminalId") },
            "terminal/kill" => Ask::KillTerminal { terminal: required("terminalId") },
            "terminal/release" => Ask::ReleaseTerminal { terminal: required("terminalId") },
            _ => {
                let url = string("url");
                let fields = match (string("mode").as_deref(), &url) {
                    (Some("form"), _) => form::fields(params.get("requestedSchema").unwrap_or(&Value::Null), order),
                    (Some("url"), Some(url)) if is_page(url) => Vec::new(),
                    (Some("url"), _) => {
                        let message = "only pages of http and https are opened".into();
                        return Err(Err(ErrorObject { code: ErrorCode::InvalidParams, message }));
                    }
                    _ => return Err(Ok(json!({ "action": "decline" }))),
                };
                let url = url.filter(|_| string("mode").as_deref() == Some("url"));
                Ask::Form(Form { name: self.options.name.clone(), message: required("message"), url, fields })
            }
        })
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>, out: &mut Output) {
        let params = params.map_or(Value::Null, value);
        match method {
            "session/update" => {
                let session = params.get("sessionId").and_then(Value::as_str);
                // From another session, which this client did not begin: a subagent's.
                if self.session.is_some() && session != self.session.as_deref() {
                    return;
                }
                let Value::Object(mut params) = params else { return };
                let update = params.remove("update").unwrap_or_default();
                self.updates.take(update, out);
            }
            "$/cancel_request" => {
                let id = params.get("requestId").unwrap_or(&Value::Null);
                self.questions.withdraw(id, out);
            }
            _ => tracing::debug!(method, "a notification of an agent is not known here"),
        }
    }
}

fn is_page(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}

/// Parses leniently; null if unreadable.
fn value(raw: &RawValue) -> Value {
    lenient::read(raw.get()).map_or(Value::Null, |(value, _)| value)
}

/// The user is not asked about a request that cannot be shown.
fn refuse_unread(id: &RequestId, out: &mut Output) {
    let message = "the request nests too deep or is no valid text, so it cannot be read".into();
    let error = ErrorObject { code: ErrorCode::InvalidParams, message };
    out.write_line(encode::<Value, _>(id, Err(error)));
}

/// Removes permission options of unknown kinds: their meaning is unknown, so they are not offered.
fn leave_out_unknown_options(params: &mut Value) {
    let Some(options) = params.get_mut("options").and_then(Value::as_array_mut) else { return };
    let is_known = |option: &Value| schema::PermissionOption::deserialize(option).is_ok();
    // If all are unknown, the request is refused as malformed.
    if options.iter().any(is_known) {
        options.retain(is_known);
    }
}

/// What is wrong with a request's parameters, if anything.
fn wrong_params(method: &str, params: &Value) -> Option<String> {
    fn check<T: DeserializeOwned>(params: &Value) -> Option<String> {
        T::deserialize(params).err().map(|error| format!("invalid params: {error}"))
    }
    match method {
        "session/request_permission" => check::<schema::RequestPermissionRequest>(params),
        "fs/read_text_file" => check::<schema::ReadTextFileRequest>(params),
        "fs/write_text_file" => check::<schema::WriteTextFileRequest>(params),
        "terminal/create" => check::<schema::CreateTerminalRequest>(params),
        "terminal/output" => check::<schema::TerminalOutputRequest>(params),
        "terminal/wait_for_exit" => check::<schema::WaitForTerminalExitRequest>(params),
        "terminal/kill" => check::<schema::KillTerminalRequest>(params),
        "terminal/release" => check::<schema::ReleaseTerminalRequest>(params),
        _ => check::<schema::CreateElicitationRequest>(params),
    }
}
