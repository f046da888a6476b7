//! What this client asks of the agent, and what it makes of the answers.

use std::time::Instant;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as schema;
use serde::Serialize;
use serde::de::{Deserialize as _, DeserializeOwned};
use serde_json::{Map, Value, json};

use super::updates::Replay;
use super::{Acp, Loaded, QUIET, Stage, TELLS_LATE, later};
use crate::backend::Output;
use crate::told::Told;

/// The agent wants the user to sign in first.
const AUTH_REQUIRED: i64 = -32000;
const CANCELLED: i64 = -32800;

/// A request of ours, as long as its answer is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ours {
    Initialize,
    New,
    /// Goes on with a session, whose messages come once more or do not.
    Load {
        session: String,
    },
    /// Goes on with a copy of a session.
    Fork,
    Prompt(String),
    Asked {
        number: u64,
        subject: String,
    },
}

impl Ours {
    /// What the agent is doing for it, in words.
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Self::Initialize => "starting",
            Self::New => "beginning a session",
            Self::Load { .. } => "loading the session",
            Self::Fork => "copying the session",
            Self::Prompt(_) => "working",
            Self::Asked { .. } => "asked for something",
        }
    }
}

/// A block of a prompt as the agent takes it. The chat has them as the CLI does.
pub(super) fn block(block: Value, takes: &schema::PromptCapabilities) -> Option<schema::ContentBlock> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    match block.get("type").and_then(Value::as_str)? {
        "image" if !takes.image => Some("(an image that this agent does not take)".into()),
        "image" => {
            let source = block.get("source")?;
            let data = source.get("data").and_then(Value::as_str)?;
            let kind = source.get("media_type").and_then(Value::as_str)?;
            Some(schema::ContentBlock::Image(schema::ImageContent::new(data, kind)))
        }
        "resource" if !takes.embedded_context => {
            let resource = block.get("resource")?;
            let content = resource.get("text").and_then(Value::as_str)?;
            Some(content.into())
        }
        "text" => text("text").map(Into::into),
        _ => serde_json::from_value(block).ok(),
    }
}

/// Answers of a permission that are of no kind known here: what they would mean is not known, so they are not offered.
pub(super) fn leave_out_unknown_options(params: &mut Value) {
    let Some(options) = params.get_mut("options").and_then(Value::as_array_mut) else { return };
    let is_known = |option: &Value| schema::PermissionOption::deserialize(option).is_ok();
    // Where none is known the request is refused, with what is wrong.
    if options.iter().any(is_known) {
        options.retain(is_known);
    }
}

/// What is wrong with the parameters of a request of the agent's.
pub(super) fn wrong_params(method: &str, params: &Value) -> Option<String> {
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

impl Acp {
    /// Asks the agent.
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
            // Nobody else will ever answer.
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

    /// Begins the session that was asked for.
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
                out.tell_problem(text);
            }
            let request = schema::NewSessionRequest::new(folder).mcp_servers(servers);
            return self.ask("session/new", &request, Ours::New, deadline, out);
        };
        let about = Ours::Load { session: session.clone() };
        self.session = Some(session.clone());
        // What is on the screen need not be said again; what is not can only be had by loading.
        if can_resume && (self.options.shown || !can_load) {
            let request = schema::ResumeSessionRequest::new(session, folder).mcp_servers(servers);
            return self.ask("session/resume", &request, about, deadline, out);
        }
        self.updates.replay = if self.options.shown { Replay::Hidden } else { Replay::Shown };
        let request = schema::LoadSessionRequest::new(session, folder).mcp_servers(servers);
        self.ask("session/load", &request, about, deadline, out);
    }

    /// Goes on with a copy of a session. The method is not of the stable schema: its fields are written here.
    fn fork_session(&mut self, session: &str, out: &mut Output) {
        let request = json!({ "sessionId": session, "cwd": self.options.cwd, "mcpServers": self.servers() });
        self.ask("session/fork", &request, Ours::Fork, later(self.patience()), out);
    }

    /// The servers of tools, where the agent reaches servers by HTTP.
    fn servers(&self) -> Vec<schema::McpServer> {
        if !self.capabilities.mcp_capabilities.http {
            return Vec::new();
        }
        self.options.mcp_servers.iter().filter_map(|server| serde_json::from_value(server.clone()).ok()).collect()
    }

    /// The answer to a request of ours.
    pub(super) fn answered(&mut self, ours: Ours, outcome: Result<Value, Value>, out: &mut Output) {
        match (ours, outcome) {
            (Ours::Initialize, Ok(result)) => self.greeted(&result, out),
            (about @ (Ours::New | Ours::Fork), Ok(result)) => {
                let session = result.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                match session {
                    Some(session) => self.began(session, &result, about == Ours::New, out),
                    None => self.fail(out, "began a session without a name".to_owned()),
                }
            }
            (Ours::Load { session }, Ok(result)) => {
                if self.program == TELLS_LATE && self.updates.replay != Replay::None {
                    self.loaded = Some(Loaded { session, result, told_at: later(QUIET) });
                } else {
                    self.began(session, &result, false, out);
                }
            }
            (Ours::Prompt(_), outcome) => self.turn_over(outcome, out),
            (Ours::Asked { number, subject }, Ok(result)) => {
                out.tell(Told::Answer { number, result: Some(result), error: None });
                if subject == "authenticate" && self.stage == Stage::Starting {
                    self.begin_session(self.options.resume.clone(), out);
                }
            }
            (Ours::Asked { number, .. }, Err(error)) => {
                out.tell(Told::Answer { number, result: None, error: Some(message(&error)) });
            }
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
                out.tell_problem(text);
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
        self.auth_methods = result.get("authMethods").cloned().unwrap_or_default();
        let program = result.get("agentInfo").and_then(|about| about.get("name")).and_then(Value::as_str);
        program.unwrap_or_default().clone_into(&mut self.program);
        let about = json!({
            "agent": result.get("agentInfo"),
            "capabilities": result.get("agentCapabilities"),
            "auth_methods": self.auth_methods,
        });
        out.tell(Told::Status { subject: "greeted".to_owned(), about });
        if self.options.list {
            out.tell(Told::Status { subject: "choose_session".to_owned(), about: json!({}) });
        } else {
            self.begin_session(self.options.resume.clone(), out);
        }
    }

    pub(super) fn began(&mut self, session: String, result: &Value, is_new: bool, out: &mut Output) {
        self.updates.end_replay(out);
        self.session = Some(session.clone());
        self.options.resume = Some(session.clone());
        self.options.shown = true;
        self.stage = Stage::Ready;
        let about = json!({
            "session_id": session,
            "is_new": is_new,
            "modes": result.get("modes"),
            "models": result.get("models"),
            "config_options": result.get("configOptions"),
        });
        out.tell(Told::Session { about });
        out.tell(Told::Ready { about: json!({ "commands": self.updates.commands }) });
        self.prompt_next(out);
    }

    fn tell_to_sign_in(&self, error: &Value, out: &mut Output) {
        let about = json!({ "methods": self.auth_methods, "text": message(error) });
        out.tell(Told::Status { subject: "auth".to_owned(), about });
    }

    fn fail(&mut self, out: &mut Output, what: String) {
        self.stage = Stage::Failed;
        let about = json!({ "text": format!("{} {what}.", self.options.name) });
        out.tell(Told::Status { subject: "failed".to_owned(), about });
    }

    fn turn_over(&mut self, outcome: Result<Value, Value>, out: &mut Output) {
        self.is_prompted = false;
        self.is_cancelled = false;
        self.stop_by = None;
        self.silent_at = None;
        let unanswered = self.questions.cancel_all(out);
        let reason = match &outcome {
            Ok(result) => result.get("stopReason").and_then(Value::as_str).unwrap_or("end_turn").to_owned(),
            Err(error) if code(error) == Some(CANCELLED) => "cancelled".to_owned(),
            Err(_) => "error".to_owned(),
        };
        self.updates.end_turn(reason == "cancelled", &unanswered, out);
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
            (_, Err(error)) if reason == "error" => Some(format!("{name} failed: {}", message(error))),
            _ => None,
        };
        let about = json!({
            "terminal_reason": if reason == "cancelled" { "aborted" } else { reason.as_str() },
            "is_error": words.is_some(),
            "result": words,
        });
        out.tell(Told::Turn { about });
        self.prompt_next(out);
    }

    /// Lua asks for something of the agent.
    pub(super) fn ask_for_lua(
        &mut self,
        number: u64,
        subject: &str,
        fields: impl IntoIterator<Item = (String, Value)>,
        out: &mut Output,
    ) {
        let mut params: Map<String, Value> = fields.into_iter().collect();
        if subject == "session" {
            // Which of the sessions that were listed; none: a new one.
            let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
            match session {
                Some(session) if params.get("fork") == Some(&Value::Bool(true)) => self.fork_session(&session, out),
                session => {
                    self.options.resume.clone_from(&session);
                    self.begin_session(session, out);
                }
            }
            return out.tell(Told::Answer { number, result: Some(json!({})), error: None });
        }
        let method = match subject {
            "authenticate" => "authenticate",
            "logout" => "logout",
            "list" => "session/list",
            "close" => "session/close",
            "set_mode" => "session/set_mode",
            "set_model" => "session/set_model",
            "set_config_option" => "session/set_config_option",
            _ => {
                let error = Some(format!("{} is not asked for {subject}", self.options.name));
                return out.tell(Told::Answer { number, result: None, error });
            }
        };
        if !matches!(subject, "authenticate" | "logout" | "list") {
            let Some(session) = self.session.clone() else {
                let error = Some("there is no session yet".to_owned());
                return out.tell(Told::Answer { number, result: None, error });
            };
            params.insert("sessionId".to_owned(), Value::String(session));
        }
        // Signing in waits for a user.
        let deadline = if subject == "authenticate" { None } else { later(self.patience()) };
        let about = Ours::Asked { number, subject: subject.to_owned() };
        self.ask(method, &params, about, deadline, out);
    }
}

fn code(error: &Value) -> Option<i64> {
    error.get("code").and_then(Value::as_i64)
}

/// What an error says, with its data where that says more. No full stop ends it: it goes into sentences.
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
