//! Agents that speak the Agent Client Protocol, version 1: JSON-RPC, one message per line.
//!
//! Types: `agent-client-protocol-schema` 1.15.1. A message is parsed as a plain value first, so that unknown kinds are
//! ignored instead of ending the conversation.
//!
//! Invariants: every request of the agent with an id is answered once, by Lua or here, also if the turn is cancelled,
//! the agent withdraws it, or it cannot be read. The agent has one prompt at a time; the others wait here. When a
//! session that is already shown is loaded again, its messages are not emitted twice.

mod calls;
mod content;
mod incoming;
mod moves;
mod ours;
mod permission;
mod questions;
mod requests;
mod settings;
mod updates;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{AgentCapabilities, ContentBlock};
use claude_ide_protocol::jsonrpc::{self, ErrorObject};
use claude_ide_rpc::{InFlight, Kind, Limits, Peer};
use claude_ide_session::Millis;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::backend::{Backend, Output};
use crate::command::Command;
use crate::event::{Event, SignInMethod};
use ours::{Asked, Ours};
use questions::Questions;
use updates::Updates;

/// How long an agent may continue after its turn was cancelled.
const CANCEL_PATIENCE: Duration = Duration::from_secs(10);
/// Gemini's name for itself. Against the protocol it reports a session as loaded before it has sent all of it (0.61.0):
/// late messages would be taken for an answer to the prompt.
const TELLS_LATE: &str = "gemini-cli";
/// After this much silence such an agent has sent everything.
const QUIET: Duration = Duration::from_millis(250);
/// Limits of the agent's unanswered requests: their number, the number including those that wait for a command's end,
/// and their size. Beyond them its output is not read.
const MOST_PRESSING: usize = 64;
const MOST_REQUESTS: usize = 1024;
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Limit of our open requests.
const MOST_OURS: usize = 256;

/// How to start a conversation with an agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Its name in the options.
    pub key: String,
    /// Its display name.
    pub name: String,
    /// The session's folder.
    pub cwd: PathBuf,
    /// The session to resume.
    #[serde(default)]
    pub resume: Option<String>,
    /// Whether the session's messages are already shown.
    #[serde(default)]
    pub shown: bool,
    /// Lists the agent's sessions instead of starting one: [`Command::BeginSession`] starts it.
    #[serde(default)]
    pub list: bool,
    /// MCP servers that speak HTTP.
    #[serde(default)]
    pub mcp_servers: Vec<Value>,
    /// Time in milliseconds after which a slow answer is reported.
    pub patience_ms: u64,
    /// This client's version.
    pub version: String,
}

/// The stage of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not initialised, or without a session.
    Starting,
    /// Accepts prompts.
    Ready,
    /// Failed for good.
    Failed,
}

/// What a request of the agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waits;

impl Kind for Waits {
    fn cost(self) -> usize {
        0
    }
}

/// A session that the agent reports as loaded, and may still send messages of.
#[derive(Debug)]
struct Loaded {
    session: String,
    result: Value,
    /// Time when it counts as complete, unless a message comes.
    complete_at: Option<Instant>,
}

/// A queued prompt.
#[derive(Debug)]
struct Prompt {
    id: String,
    content: Vec<Value>,
}

/// An agent.
pub struct Acp {
    options: Options,
    peer: Peer<Ours, Waits, Value, ErrorObject>,
    questions: Questions,
    updates: Updates,
    stage: Stage,
    session: Option<String>,
    loaded: Option<Loaded>,
    /// Its name for itself.
    program: String,
    capabilities: AgentCapabilities,
    sign_in_methods: Vec<SignInMethod>,
    waiting: VecDeque<Prompt>,
    /// Whether a prompt is being answered.
    is_prompted: bool,
    /// The turn was cancelled and is not over: the agent's requests until then may have crossed the cancellation.
    is_cancelled: bool,
    /// After an interrupt: when to report that it still continues.
    stop_by: Option<Instant>,
    /// During a prompt: when to report its silence.
    silent_at: Option<Instant>,
    rubbish: u64,
}

impl std::fmt::Debug for Acp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acp").field("name", &self.options.name).field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Acp {
    /// A conversation that has not started.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let limits = Limits { requests: MOST_REQUESTS, bytes: MOST_BYTES, cost: usize::MAX, batch_bytes: MOST_BYTES };
        Self {
            updates: Updates::new(&options.key),
            options,
            peer: Peer { asked: claude_ide_rpc::Asked::new(MOST_OURS), in_flight: InFlight::new(limits) },
            questions: Questions::default(),
            stage: Stage::Starting,
            session: None,
            loaded: None,
            program: String::new(),
            capabilities: AgentCapabilities::default(),
            sign_in_methods: Vec::new(),
            waiting: VecDeque::new(),
            is_prompted: false,
            is_cancelled: false,
            stop_by: None,
            silent_at: None,
            rubbish: 0,
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(self.options.patience_ms)
    }

    /// How long it may be silent while it works.
    fn silence(&self) -> Duration {
        self.patience().saturating_mul(2)
    }

    fn notify(method: &str, params: &impl serde::Serialize, out: &mut Output) {
        match jsonrpc::notification(method, Some(params)) {
            Ok(line) => out.write_line(line),
            Err(error) => tracing::error!(%error, method, "a notification cannot be written"),
        }
    }

    /// Sends the settled responses.
    fn settle(&mut self, out: &mut Output) {
        self.peer.in_flight.start_waiting();
        while let Some(settled) = self.peer.in_flight.settle_now() {
            if let Some(line) = settled {
                out.write_line(line);
            }
        }
    }

    /// The agent got an answer and continues.
    fn answered_agent(&mut self, out: &mut Output) {
        self.silent_at = if self.is_prompted { later(self.silence()) } else { None };
        self.settle(out);
    }

    /// Sends the next prompt, if the agent is ready.
    fn prompt_next(&mut self, out: &mut Output) {
        if self.stage != Stage::Ready || self.is_prompted {
            return;
        }
        let (Some(session), Some(prompt)) = (self.session.clone(), self.waiting.pop_front()) else { return };
        let takes = &self.capabilities.prompt_capabilities;
        let blocks: Vec<ContentBlock> =
            prompt.content.into_iter().filter_map(|block| content::block(block, takes)).collect();
        self.is_prompted = true;
        self.is_cancelled = false;
        self.stop_by = None;
        self.silent_at = later(self.silence());
        self.updates.begin_turn();
        out.emit(Event::Prompt { id: prompt.id.clone(), state: "started".to_owned(), at: Millis::now() });
        let request = agent_client_protocol_schema::v1::PromptRequest::new(session, blocks);
        self.ask("session/prompt", &request, Ours::Prompt(prompt.id), None, out);
    }

    /// Cancels the turn; the agent's open requests are answered as cancelled.
    fn interrupt(&mut self, out: &mut Output) {
        let Some(session) = self.session.clone().filter(|_| self.is_prompted) else { return };
        Self::notify("session/cancel", &agent_client_protocol_schema::v1::CancelNotification::new(session), out);
        self.stop_by = later(CANCEL_PATIENCE.min(self.patience()));
        self.is_cancelled = true;
        self.questions.cancel_all(out);
        self.settle(out);
    }

    /// Reports what takes too long.
    fn look_at_clock(&mut self, now: Instant, out: &mut Output) {
        let name = self.options.name.clone();
        let late: Vec<Ours> = self.peer.asked.overdue(now).into_iter().cloned().collect();
        for ours in late {
            match ours {
                Ours::Command(asked) => {
                    let number = asked.number();
                    let ours = Ours::Command(asked);
                    for id in self.peer.asked.withdraw(|other| *other == ours) {
                        Self::notify("$/cancel_request", &json!({ "requestId": id }), out);
                    }
                    out.answer(number, Some(format!("{name} does not answer")));
                }
                ours => out.tell_busy(&name, ours.doing(), self.patience()),
            }
        }
        if self.stop_by.take_if(|at| *at <= now).is_some() && self.is_prompted {
            for id in self.peer.asked.ids(|ours| matches!(ours, Ours::Prompt(_))) {
                Self::notify("$/cancel_request", &json!({ "requestId": id }), out);
            }
            out.tell_unstopped(&name);
        }
        if let Some(Loaded { session, result, .. }) = self.loaded.take_if(|loaded| loaded.complete_at <= Some(now)) {
            self.began(session, &result, out);
        }
        if self.silent_at.take_if(|at| *at <= now).is_some() && self.is_prompted && self.questions.is_empty() {
            let seconds = self.silence().as_secs();
            let text = format!(
                "{name} has said nothing for {seconds} s. It may be at work; `:Claude chat restart` ends it and starts it anew."
            );
            out.notice(text);
        }
    }

    /// Reports a line outside the protocol, only the first time.
    fn rubbish(&mut self, line: &[u8], out: &mut Output) {
        let words = String::from_utf8_lossy(line.get(..120).unwrap_or(line)).trim().to_owned();
        if words.is_empty() {
            return;
        }
        tracing::warn!(words, "an agent wrote a line that is not its protocol");
        self.rubbish = self.rubbish.saturating_add(1);
        if self.rubbish == 1 {
            let name = &self.options.name;
            let text = format!("{name} wrote a line that is not its protocol, and it was passed over: {words}");
            out.notice(text);
        }
    }
}

impl Backend for Acp {
    fn begin(&mut self, out: &mut Output) {
        self.initialize(out);
    }

    fn line(&mut self, line: &[u8], out: &mut Output) {
        if self.is_prompted && self.stop_by.is_none() {
            self.silent_at = later(self.silence());
        }
        if let Some(loaded) = &mut self.loaded {
            loaded.complete_at = later(QUIET);
        }
        self.incoming(line, out);
        self.settle(out);
    }

    fn command(&mut self, command: Command, out: &mut Output) {
        match command {
            Command::Prompt { id, content } => {
                self.waiting.push_back(Prompt { id, content });
                self.prompt_next(out);
            }
            Command::Cancel { id } => {
                self.waiting.retain(|prompt| prompt.id != id);
            }
            Command::Interrupt => self.interrupt(out),
            Command::Reply { request, result, error } => {
                self.questions.reply(&request, result, error);
                self.answered_agent(out);
            }
            Command::Set { number, setting, value } => self.set(number, setting, value, out),
            Command::ListSessions { number } => {
                self.list_sessions(Asked::Sessions { number, before: Vec::new(), pages: 1 }, None, out);
            }
            Command::BeginSession { session, fork } => self.begin_chosen_session(session, fork, out),
            Command::CloseSession { number } => {
                let params = json!({ "sessionId": self.session });
                self.command_asks(Asked::Done(number), "session/close", &params, out);
            }
            Command::SignIn { number, method, key } => self.sign_in(number, &method, key, out),
            Command::StopTask { number, .. } | Command::Rewind { number, .. } | Command::FindFiles { number, .. } => {
                out.answer(number, Some(format!("{} cannot do this", self.options.name)));
            }
            Command::Allow { request, choice, changes, .. } => {
                self.questions.allow(&request, choice.as_deref(), &changes);
                self.answered_agent(out);
            }
            Command::Deny { request, choice, .. } => {
                self.questions.deny(&request, choice.as_deref());
                self.answered_agent(out);
            }
            Command::Unanswered { request, .. } => {
                self.questions.unanswered(&request);
                self.answered_agent(out);
            }
            // The CLI's only; or converted to a `Reply` before.
            Command::GoOn { .. } | Command::ReplyWithFile { .. } => {}
        }
    }

    fn is_full(&self) -> bool {
        self.peer.in_flight.has_room(1).is_err() || self.questions.pressing() >= MOST_PRESSING
    }

    fn deadline(&self) -> Option<Instant> {
        let complete_at = self.loaded.as_ref().and_then(|loaded| loaded.complete_at);
        [self.peer.asked.next_deadline(), self.stop_by, self.silent_at, complete_at].into_iter().flatten().min()
    }

    fn overdue(&mut self, now: Instant, out: &mut Output) {
        self.look_at_clock(now, out);
    }
}

fn later(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

#[cfg(test)]
mod tests;
