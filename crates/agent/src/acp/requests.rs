//! Sends our requests to the agent, and handles the responses.

use std::time::Instant;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as schema;
use serde::Serialize;

use serde_json::{Value, json};

use super::ours::{Asked, Ours};
use super::updates::Replay;
use super::{Acp, Loaded, QUIET, Stage, TELLS_LATE, later};
use crate::backend::Output;
use crate::event::{Abilities, Answer, Event, ListedSession, SignInMethod, TurnEnd};
use crate::json::{list, text};
use crate::settings::SettingValue;

/// Limit of pages when listing sessions.
const MOST_PAGES: usize = 10;
/// Gemini and Codex accept a key in the sign-in request; the protocol has no field for it.
const API_KEY: &str = "api-key";
/// The agent requires signing in first.
const AUTH_REQUIRED: i64 = -32000;
const CANCELLED: i64 = -32800;

impl Acp {
    /// Sends a request.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: &impl Serialize,
        about: Ours,
        deadline: Option<Instant>,
        out: &mut Output,
    ) {
        match self.peer.asked.ask(method, Some(params), about.clone(), deadline) {
            Ok(line) => out.write_line(line),
            // No response will ever come.
            Err(error) => self.answered(about, Err(json!({ "message": format!("{method}: {error}") })), out),
        }
    }

    pub(super) fn initialize(&mut self, out: &mut Output) {
        let files = schema::FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
        let forms = schema::ElicitationCapabilities::new()
            .form(schema::ElicitationFormCapabilities::new())
            .url(schema::ElicitationUrlCapabilities::new());
        let options =
            schema::SessionConfigOptionsCapabilities::new().boolean(schema::BooleanConfigOptionCapabilities::new());
        let capabilities = schema::ClientCapabilities::new()
            .fs(files)
            .terminal(true)
            .session(schema::ClientSessionCapabilities::new().config_options(options))
            .auth(schema::AuthCapabilities::new().terminal(true))
            .elicitation(forms);
        let about = schema::Implementation::new("claude-ide.nvim", self.options.version.clone());
        let request =
            schema::InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities).client_info(about);
        self.ask("initialize", &request, Ours::Initialize, later(self.patience()), out);
    }

    /// Starts the requested session.
    fn begin_session(&mut self, resume: Option<String>, out: &mut Output) {
        let deadline = later(self.patience());
        let folder = self.options.cwd.clone();
        let servers = self.servers();
        let can_resume = self.capabilities.session_capabilities.resume.is_some();
        let can_load = self.capabilities.load_session;
        let Some(session) = resume.filter(|_| can_resume || can_load) else {
            if let Some(_gone) = self.options.resume.take() {
                let text = format!(
                    "{} cannot go on with a session: this is a new one, and it knows nothing of what was said before.",
                    self.options.name
                );
                out.notice(text);
            }
            let request = schema::NewSessionRequest::new(folder).mcp_servers(servers);
            return self.ask("session/new", &request, Ours::New, deadline, out);
        };
        let about = Ours::Load { session: session.clone() };
        self.session = Some(session.clone());
        // Shown messages need not come again; others can only be had by loading.
        if can_resume && (self.options.shown || !can_load) {
            let request = schema::ResumeSessionRequest::new(session, folder).mcp_servers(servers);
            return self.ask("session/resume", &request, about, deadline, out);
        }
        self.updates.replay = if self.options.shown { Replay::Hidden } else { Replay::Shown };
        let request = schema::LoadSessionRequest::new(session, folder).mcp_servers(servers);
        self.ask("session/load", &request, about, deadline, out);
    }

    /// Continues with a copy of a session. The method is not in the stable schema, so its fields are written here.
    fn fork_session(&mut self, session: &str, out: &mut Output) {
        let request = json!({ "sessionId": session, "cwd": self.options.cwd, "mcpServers": self.servers() });
        self.ask("session/fork", &request, Ours::Fork, later(self.patience()), out);
    }

    /// The MCP servers, if the agent supports HTTP.
    fn servers(&self) -> Vec<schema::McpServer> {
        if !self.capabilities.mcp_capabilities.http {
            return Vec::new();
        }
        self.options.mcp_servers.iter().filter_map(|server| serde_json::from_value(server.clone()).ok()).collect()
    }

    /// Handles a response.
    pub(super) fn answered(&mut self, ours: Ours, outcome: Result<Value, Value>, out: &mut Output) {
        match (ours, outcome) {
            (Ours::Initialize, Ok(result)) => self.greeted(&result, out),
            (Ours::New | Ours::Fork, Ok(result)) => {
                let session = result.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                match session {
                    Some(session) => self.began(session, &result, out),
                    None => self.fail(out, "began a session without a name".to_owned()),
                }
            }
            (Ours::Load { session }, Ok(result)) => {
                if self.program == TELLS_LATE && self.updates.replay != Replay::None {
                    self.loaded = Some(Loaded { session, result, complete_at: later(QUIET) });
                } else {
                    self.began(session, &result, out);
                }
            }
            (Ours::Prompt(_), outcome) => self.turn_over(outcome, out),
            (Ours::Command(asked), Ok(result)) => self.command_answered(asked, &result, out),
            (Ours::Command(asked), Err(error)) => out.answer(asked.number(), Some(message(&error))),
            (Ours::Initialize, Err(error)) => self.fail(out, format!("did not begin: {}", message(&error))),
            (Ours::New | Ours::Load { .. }, Err(error)) if code(&error) == Some(AUTH_REQUIRED) => {
                self.tell_to_sign_in(&error, out);
            }
            (Ours::New, Err(error)) => self.fail(out, format!("began no session: {}", message(&error))),
            (Ours::Fork, Err(error)) => self.fail(out, format!("copied no session: {}", message(&error))),
            (Ours::Load { .. }, Err(error)) => {
                self.updates.replay = Replay::None;
                let name = &self.options.name;
                let text = format!(
                    "{name} cannot go on with that session: {}. This is a new one, and it knows nothing of what was said before.",
                    message(&error)
                );
                out.notice(text);
                self.session = None;
                self.options.resume = None;
                self.begin_session(None, out);
            }
        }
    }

    fn greeted(&mut self, result: &Value, out: &mut Output) {
        let version = result.get("protocolVersion").and_then(Value::as_u64);
        if version != Some(1) {
            let theirs = result.get("protocolVersion").map_or("none".to_owned(), Value::to_string);
            return self.fail(out, format!("speaks version {theirs} of the protocol, and this speaks version 1"));
        }
        self.capabilities = result
            .get("agentCapabilities")
            .and_then(|caps| serde_json::from_value(caps.clone()).ok())
            .unwrap_or_default();
        self.sign_in_methods = sign_in_methods(result.get("authMethods"));
        let about = result.get("agentInfo").unwrap_or(&Value::Null);
        text(about.get("name")).unwrap_or_default().clone_into(&mut self.program);
        let version = text(about.get("version")).map(|version| format!(" {version}")).unwrap_or_default();
        let name = &self.options.name;
        let text = format!(
            "{name}{version}, by the Agent Client Protocol. It draws on the account that it is signed in with."
        );
        let sessions = &self.capabilities.session_capabilities;
        let can = Abilities {
            list: sessions.list.is_some(),
            fork: result.pointer("/agentCapabilities/sessionCapabilities/fork").is_some_and(|can| !can.is_null()),
            close: sessions.close.is_some(),
            embeds: self.capabilities.prompt_capabilities.embedded_context,
        };
        out.emit(Event::Greeted { text, can });
        if self.options.list {
            out.emit(Event::ChooseSession);
        } else {
            self.begin_session(self.options.resume.clone(), out);
        }
    }

    pub(super) fn began(&mut self, session: String, result: &Value, out: &mut Output) {
        self.updates.end_replay(out);
        self.session = Some(session.clone());
        self.options.resume = Some(session.clone());
        self.options.shown = true;
        self.stage = Stage::Ready;
        out.emit(Event::Session { id: session, is_kept: true });
        self.updates.began(result, out);
        out.emit(Event::Ready);
        self.prompt_next(out);
    }

    fn tell_to_sign_in(&self, error: &Value, out: &mut Output) {
        out.emit(Event::SignIn { reason: message(error), methods: self.sign_in_methods.clone() });
    }

    fn fail(&mut self, out: &mut Output, what: String) {
        self.stage = Stage::Failed;
        out.emit(Event::Failed { text: format!("{} {what}.", self.options.name) });
    }

    fn turn_over(&mut self, outcome: Result<Value, Value>, out: &mut Output) {
        self.is_prompted = false;
        let by_user = std::mem::take(&mut self.is_cancelled);
        self.stop_by = None;
        self.silent_at = None;
        let unanswered = self.questions.cancel_all(out);
        let reason = match &outcome {
            Ok(result) => result.get("stopReason").and_then(Value::as_str).unwrap_or("end_turn").to_owned(),
            Err(error) if code(error) == Some(CANCELLED) => "cancelled".to_owned(),
            Err(_) => "error".to_owned(),
        };
        let is_cancelled = reason == "cancelled";
        self.updates.end_turn(is_cancelled, is_cancelled && by_user, &unanswered, out);
        if let Err(error) = &outcome
            && code(error) == Some(AUTH_REQUIRED)
        {
            self.tell_to_sign_in(error, out);
        }
        let name = &self.options.name;
        let words = match (reason.as_str(), &outcome) {
            ("refusal", _) => Some(format!("{name} refused to go on.")),
            ("max_tokens", _) => Some(format!("{name} stopped: the answer reached the most tokens it may have.")),
            ("max_turn_requests", _) => {
                Some(format!("{name} stopped: it asked the model as often as it may in a turn."))
            }
            // The request to sign in says it.
            (_, Err(error)) if code(error) == Some(AUTH_REQUIRED) => Some(message(error)),
            (_, Err(error)) if reason == "error" => Some(format!("{name} failed: {}", message(error))),
            ("cancelled", _) if !by_user => Some(format!("{name} broke its turn off. You did not interrupt it.")),
            _ => None,
        };
        let outcome = match (reason.as_str(), &words) {
            (_, Some(_)) => TurnEnd::Failed,
            ("cancelled", None) => TurnEnd::Aborted,
            _ => TurnEnd::Done,
        };
        out.emit(Event::Turn { outcome, words });
        self.prompt_next(out);
    }

    /// Sends a command's request.
    pub(super) fn command_asks(&mut self, asked: Asked, method: &str, params: &Value, out: &mut Output) {
        if params.get("sessionId").is_some_and(Value::is_null) {
            return out.answer(asked.number(), Some("there is no session yet".to_owned()));
        }
        // Signing in waits for the user.
        let deadline = if matches!(asked, Asked::SignIn(_)) { None } else { later(self.patience()) };
        self.ask(method, params, Ours::Command(asked), deadline, out);
    }

    pub(super) fn set(&mut self, number: u64, setting: String, value: SettingValue, out: &mut Output) {
        let Some((method, mut params)) = self.updates.settings.request(&setting, &value) else {
            return out.answer(number, Some(format!("{} has no such setting", self.options.name)));
        };
        if let Some(params) = params.as_object_mut() {
            params.insert("sessionId".to_owned(), json!(self.session));
        }
        self.command_asks(Asked::Set { number, setting, value }, method, &params, out);
    }

    /// Asks for the first page of sessions, or for the one at the cursor.
    pub(super) fn list_sessions(&mut self, asked: Asked, cursor: Option<&str>, out: &mut Output) {
        let mut params = json!({ "cwd": self.options.cwd });
        if let (Some(cursor), Some(params)) = (cursor, params.as_object_mut()) {
            params.insert("cursor".to_owned(), json!(cursor));
        }
        self.command_asks(asked, "session/list", &params, out);
    }

    /// Starts the session that the user chose from the list.
    pub(super) fn begin_chosen_session(&mut self, session: Option<String>, fork: bool, out: &mut Output) {
        match session {
            Some(session) if fork => self.fork_session(&session, out),
            session => {
                self.options.resume.clone_from(&session);
                self.begin_session(session, out);
            }
        }
    }

    pub(super) fn sign_in(&mut self, number: u64, method: &str, key: Option<String>, out: &mut Output) {
        let mut params = json!({ "methodId": method });
        if let (Some(key), Some(params)) = (key, params.as_object_mut()) {
            params.insert("_meta".to_owned(), json!({ API_KEY: key }));
        }
        self.command_asks(Asked::SignIn(number), "authenticate", &params, out);
    }

    /// Handles the response to a command's request.
    fn command_answered(&mut self, asked: Asked, result: &Value, out: &mut Output) {
        match asked {
            Asked::Done(number) => out.answer(number, None),
            Asked::SignIn(number) => {
                out.answer(number, None);
                if self.stage == Stage::Starting {
                    self.begin_session(self.options.resume.clone(), out);
                }
            }
            Asked::Set { number, setting, value } => {
                self.updates.settings.was_set(&setting, &value, result);
                self.updates.emit_settings(out);
                out.answer(number, None);
            }
            Asked::Sessions { number, mut before, pages } => {
                before.extend(list(result.get("sessions")).filter_map(listed_session));
                match result.get("nextCursor").and_then(Value::as_str) {
                    Some(cursor) if pages < MOST_PAGES => {
                        self.list_sessions(
                            Asked::Sessions { number, before, pages: pages.saturating_add(1) },
                            Some(cursor),
                            out,
                        );
                    }
                    _ => out.emit(Event::Answer { number, answer: Some(Answer::Sessions(before)), error: None }),
                }
            }
        }
    }
}

fn listed_session(one: &Value) -> Option<ListedSession> {
    let id = text(one.get("sessionId"))?;
    Some(ListedSession { id, title: text(one.get("title")), updated: text(one.get("updatedAt")) })
}

/// Sign-in methods, without those that have no id or name.
fn sign_in_methods(reported: Option<&Value>) -> Vec<SignInMethod> {
    let texts = |value: &Value| value.as_str().map(str::to_owned);
    let method = |one: &Value| {
        let id = one.get("id")?.as_str()?.to_owned();
        let is_program = one.get("type").and_then(Value::as_str) == Some("terminal");
        let args = list(one.get("args")).filter_map(texts).collect();
        let env = one.get("env").and_then(Value::as_object).into_iter().flatten();
        Some(SignInMethod {
            name: text(one.get("name")).unwrap_or_else(|| id.clone()),
            id,
            description: text(one.get("description")),
            args: is_program.then_some(args),
            env: env.filter_map(|(name, value)| Some((name.clone(), texts(value)?))).collect(),
            takes_key: one.get("_meta").and_then(|meta| meta.get(API_KEY)).is_some_and(Value::is_object),
        })
    };
    list(reported).filter_map(method).collect()
}

fn code(error: &Value) -> Option<i64> {
    error.get("code").and_then(Value::as_i64)
}

/// An error's message, with its data if that adds something. Without a final period, since it goes into sentences.
fn message(error: &Value) -> String {
    let words = error.get("message").and_then(Value::as_str).unwrap_or("it did not say why");
    let data = error.get("data");
    let more = data.and_then(|data| {
        let nested = data.get("details").or_else(|| data.get("message")).unwrap_or(data);
        nested.as_str().map(str::to_owned)
    });
    let mut text = match more {
        Some(more) if !words.contains(&more) => format!("{words}: {more}"),
        _ => words.to_owned(),
    };
    text.truncate(text.trim_end_matches(['.', ' ', '\n']).len());
    text
}
