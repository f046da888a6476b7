//! Parses the CLI's output: requests, responses and messages.

use std::borrow::Cow;

use claude_ide_protocol::without_lone_surrogates;
use claude_ide_session::{Block, Millis, Spoken, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::reports;
use super::settings::Settings;
use crate::backend::{Output, Streamed as Passed};
use crate::event::{Event, TextKind};
use crate::form;
use crate::json::text;
use crate::lenient;

/// Longer texts are cut.
const MAX_TEXT: usize = 8 * 1024 * 1024;

/// A line by its receiver.
pub(super) enum Incoming {
    Asked(Box<Asked>),
    Withdrawn(String),
    Answered { id: String, outcome: Result<Value, String> },
    Speech,
}

/// A request of the CLI.
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) subtype: String,
    pub(super) ask: Value,
    /// Whether `ask` is complete and can be shown.
    pub(super) is_whole: bool,
    /// The call's arguments, verbatim.
    pub(super) input: Option<Box<RawValue>>,
    /// The order of a form's fields.
    pub(super) order: Option<Vec<String>>,
    pub(super) suggestions: Vec<Value>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    request_id: Option<String>,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response {
    subtype: String,
    request_id: String,
    response: Option<Value>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Request {
    input: Option<Box<RawValue>>,
}

pub(super) fn parse(line: &[u8]) -> Option<Incoming> {
    let text = String::from_utf8_lossy(line);
    let envelope: Envelope<'_> = serde_json::from_str(&text).ok()?;
    match (envelope.kind.as_str(), envelope.request, envelope.response, envelope.request_id) {
        ("control_request", raw, _, Some(id)) => {
            let raw = raw.map_or("null", RawValue::get);
            // The question has no lone surrogates; the arguments go back verbatim.
            let Request { input } = serde_json::from_str(raw).unwrap_or_default();
            let (ask, is_read): (Value, bool) = lenient::read(raw).unwrap_or_default();
            let suggestions = ask.get("permission_suggestions").and_then(Value::as_array).cloned().unwrap_or_default();
            let subtype = ask.get("subtype").and_then(Value::as_str).unwrap_or_default().to_owned();
            let is_whole = is_read && matches!(text, Cow::Borrowed(_));
            let order = if subtype == "elicitation" { form::order_in_request(raw) } else { None };
            Some(Incoming::Asked(Box::new(Asked { id, subtype, ask, is_whole, input, order, suggestions })))
        }
        ("control_cancel_request", _, _, Some(id)) => Some(Incoming::Withdrawn(id)),
        ("control_response", _, Some(raw), _) => {
            let (response, _): (Response, bool) = lenient::read(raw.get())?;
            let is_success = response.subtype == "success";
            let error = response.error.map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
            let outcome = match is_success {
                true => Ok(response.response.unwrap_or(Value::Null)),
                false => Err(error.unwrap_or_else(|| "it failed".to_owned())),
            };
            Some(Incoming::Answered { id: response.request_id, outcome })
        }
        ("control_request" | "control_response" | "control_cancel_request", ..) => None,
        _ => Some(Incoming::Speech),
    }
}

/// Tracks the messages, so that streamed pieces are assigned to their blocks.
#[derive(Debug, Default)]
pub(super) struct Speech {
    /// The number of the current reply's first block, counted over all replies.
    base: u64,
    next: u64,
    pub(super) settings: Settings,
}

#[derive(Deserialize)]
struct Streamed<'a> {
    parent_tool_use_id: Option<String>,
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: &'a RawValue,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    message: Option<StartedMessage<'a>>,
    #[serde(borrow)]
    content_block: Option<StreamBlock<'a>>,
    #[serde(borrow)]
    delta: Option<StreamBlock<'a>>,
}

#[derive(Deserialize)]
struct StartedMessage<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamBlock<'a> {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    parent_tool_use_id: Option<String>,
    #[serde(rename = "isReplay")]
    is_replay: bool,
    message: SaidMessage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SaidMessage {
    model: Option<String>,
    usage: Option<SaidUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SaidUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

#[derive(Deserialize)]
struct Lifecycle {
    command_uuid: String,
    state: String,
}

/// The model's name in replies that the CLI makes up itself.
const SYNTHETIC: &str = "<synthetic>";
/// How the CLI says that the user ended a turn.
const INTERRUPTED: &str = "[Request interrupted by user";

impl Speech {
    /// Handles a line that is neither a request nor a response.
    pub(super) fn line(&mut self, line: &[u8], out: &mut Output) {
        let text = String::from_utf8_lossy(line);
        let text = without_lone_surrogates(&text);
        if !self.take(text.as_bytes(), out)
            && let Some(readable) = lenient::readable(&text)
        {
            self.take(readable.as_bytes(), out);
        }
    }

    /// Whether the line matches its kind.
    fn take(&mut self, line: &[u8], out: &mut Output) -> bool {
        let Ok(Kind { kind, subtype }) = serde_json::from_slice::<Kind>(line) else { return false };
        let known = match (kind.as_str(), subtype.as_deref()) {
            ("stream_event", _) => self.streamed(line, out),
            ("assistant" | "user", _) => said(line, &kind, out),
            ("result", _) => whole(line).map(|about| reports::turn(&about, self.settings.model.as_deref(), out)),
            ("system", Some("init")) => whole(line).map(|about| self.session(&about, out)),
            ("command_lifecycle", _) => serde_json::from_slice(line)
                .ok()
                .map(|Lifecycle { command_uuid: id, state }| out.emit(Event::Prompt { id, state, at: Millis::now() })),
            ("system", Some(subject)) => whole(line).map(|about| self.reported(subject, &about, out)),
            (other, _) => whole(line).map(|about| self.reported(other, &about, out)),
        };
        if known.is_none() {
            tracing::debug!(kind, "a line of the CLI does not match its kind");
        }
        known.is_some()
    }

    fn session(&mut self, about: &Value, out: &mut Output) {
        if let Some(id) = text(about.get("session_id")) {
            out.emit(Event::Session { id, is_kept: false });
        }
        self.settings.session(about);
        self.emit_settings(out);
    }

    pub(super) fn emit_settings(&self, out: &mut Output) {
        out.emit(Event::Settings { settings: self.settings.listed() });
    }

    fn reported(&mut self, subject: &str, about: &Value, out: &mut Output) {
        if subject == "api_retry" {
            out.emit(Event::Void);
            if let Some(session) = text(about.get("session_id")) {
                out.stream(Passed { session, event: None });
            }
        }
        if let Some(mode) = reports::mode(subject, about) {
            self.settings.mode = Some(mode);
            self.emit_settings(out);
        }
        if let Some(event) = reports::status(subject, about) {
            out.emit(event);
        }
    }

    fn streamed(&mut self, line: &[u8], out: &mut Output) -> Option<()> {
        let Streamed { parent_tool_use_id: by, session_id, event: raw } = serde_json::from_slice(line).ok()?;
        let event: StreamEvent<'_> = serde_json::from_str(raw.get()).ok()?;
        // A subagent's messages are not part of the conversation.
        if let (None, Some(session)) = (&by, session_id) {
            let event = Some((event.kind.clone(), raw.get().to_owned()));
            out.stream(Passed { session: session.into_owned(), event });
        }
        let block = self.base.saturating_add(event.index);
        match event.kind.as_str() {
            "message_start" => {
                self.base = self.next;
                let model = event.message.and_then(|message| message.model).map(Cow::into_owned);
                out.emit(Event::Begins { by, model });
            }
            "content_block_start" => {
                self.next = self.next.max(block.saturating_add(1));
                let start = event.content_block?;
                if start.kind == "tool_use" {
                    out.emit(Event::Calling { by, id: start.id?, name: start.name? });
                }
            }
            "content_block_delta" => {
                let delta = event.delta?;
                let (kind, text) = match delta.kind.as_str() {
                    "text_delta" => (TextKind::Text, delta.text?),
                    "thinking_delta" => (TextKind::Thinking, delta.thinking?),
                    _ => return Some(()),
                };
                out.emit(Event::Text { by, block, kind, text: text.into_owned() });
            }
            _ => {}
        }
        Some(())
    }
}

fn whole(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok()
}

fn said(line: &[u8], kind: &str, out: &mut Output) -> Option<()> {
    let Said { parent_tool_use_id: by, is_replay, message } = serde_json::from_slice(line).ok()?;
    let spoken = Spoken::parse(line, MAX_TEXT)?;
    if !spoken.results.is_empty() {
        out.emit(Event::Results { by: by.clone(), results: spoken.results, places: Vec::new() });
    }
    if spoken.blocks.is_empty() || is_replay {
        return Some(());
    }
    let is_own = message.model.as_deref() == Some(SYNTHETIC);
    let kind = match kind {
        "assistant" if is_own => "output",
        "assistant" => "reply",
        _ => match spoken.blocks.first() {
            Some(Block::Text(said)) if said.text.starts_with(INTERRUPTED) => "interrupted",
            Some(Block::Text(said)) if said.text.starts_with("<local-command-std") => "command_output",
            _ => "meta",
        },
    };
    let usage = message.usage.map(|usage| Usage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_write: usage.cache_creation_input_tokens,
        cache_read: usage.cache_read_input_tokens,
    });
    let model = message.model.filter(|_| !is_own);
    out.emit(Event::Said { by, kind, blocks: spoken.blocks, model, usage });
    Some(())
}
