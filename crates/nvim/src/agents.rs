//! Chats with agents for Lua, by number, and their transcripts, which outlive a process.
//!
//! Independent of the server and of the sessions. Lua takes one event after another: each enters the transcript when
//! Lua takes it, so that messages of the editor's own keep their place.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use claude_ide_agent::acp::Acp;
use claude_ide_agent::stream_json::StreamJson;
use claude_ide_agent::{
    Backend, Chat, ChatTranscript, Command, CommandError, Event as AgentEvent, Program, Reserved, Sink, Streamed,
    TranscriptRequest,
};
use claude_ide_session::Millis;
use once_cell::sync::Lazy;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::error::Error;
use crate::logging::{self, LogOptions};
use crate::lua::AsyncHandle;
use crate::queue::{QUEUE, Queue};
use crate::value::Value;
use crate::waiting::{Bound, Event, Turn};
use crate::wake::Ringer;
use crate::web;
use inbox::Inbox;

mod inbox;

static CHATS: Lazy<Mutex<HashMap<u64, Chat>>> = Lazy::new(Mutex::default);
/// Of the chats: what Lua has not taken, and the transcript that it enters.
static INBOXES: Lazy<Mutex<HashMap<u64, (u64, Inbox)>>> = Lazy::new(Mutex::default);
static TRANSCRIPTS: Lazy<Mutex<HashMap<u64, ChatTranscript>>> = Lazy::new(Mutex::default);
static LAST: AtomicU64 = AtomicU64::new(0);

/// The options of `agent_open`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AgentOptions {
    program: Program,
    backend: BackendOptions,
    /// What the user calls the agent.
    speaker: String,
    transcript: u64,
    log: LogOptions,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BackendOptions {
    StreamJson,
    Acp(Box<claude_ide_agent::acp::Options>),
}

fn lock<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    // Entries are only added and removed whole.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next_number() -> u64 {
    LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1)
}

/// Begins an empty transcript and returns its number.
pub(crate) fn new_transcript() -> u64 {
    let number = next_number();
    lock(&TRANSCRIPTS).insert(number, ChatTranscript::default());
    number
}

/// Forgets a transcript. Returns whether it existed.
pub(crate) fn drop_transcript(number: u64) -> bool {
    lock(&TRANSCRIPTS).remove(&number).is_some()
}

/// Answers a question about a transcript.
///
/// # Errors
/// [`Error::NoChat`].
pub(crate) fn ask_transcript(number: u64, now: Millis, request: TranscriptRequest) -> Result<Json, Error> {
    let mut transcripts = lock(&TRANSCRIPTS);
    let transcript = transcripts.get_mut(&number).ok_or(Error::NoChat)?;
    transcript.set_time(now);
    Ok(transcript.answer(request))
}

/// Takes a chat's next event, which enters its transcript.
pub(crate) fn next(number: u64, now: Millis) -> Option<Json> {
    let (transcript, event, json) = {
        let mut inboxes = lock(&INBOXES);
        let (transcript, inbox) = inboxes.get_mut(&number)?;
        let (event, json) = inbox.next()?;
        let transcript = *transcript;
        if matches!(event, AgentEvent::Ended { .. }) {
            inboxes.remove(&number);
        }
        (transcript, event, json)
    };
    if let Some(transcript) = lock(&TRANSCRIPTS).get_mut(&transcript) {
        transcript.set_time(now);
        transcript.take(event);
    }
    Some(json)
}

/// Starts a chat and returns its number; its events ring `wake`.
///
/// # Errors
/// [`Error::Thread`]. A program that cannot be run is reported by the chat.
pub(crate) fn open(options: AgentOptions, wake: AsyncHandle) -> Result<u64, Error> {
    logging::configure(&options.log);
    QUEUE.arm(Ringer::Agents, wake);
    let backend: Box<dyn Backend> = match options.backend {
        BackendOptions::StreamJson => Box::new(StreamJson::new()),
        BackendOptions::Acp(options) => Box::new(Acp::new(*options)),
    };
    let number = next_number();
    if let Some(transcript) = lock(&TRANSCRIPTS).get_mut(&options.transcript) {
        transcript.begin(options.speaker);
    }
    lock(&INBOXES).insert(number, (options.transcript, Inbox::default()));
    let chat = Chat::open(number, options.program, backend, QUEUE.clone()).map_err(Error::Thread)?;
    lock(&CHATS).insert(number, chat);
    Ok(number)
}

/// Sends a command to a chat.
///
/// # Errors
/// [`Error::NoChat`], [`Error::ChatFull`]; [`Error::Thread`] if no thread can be started.
pub(crate) fn command(number: u64, command: Command) -> Result<(), Error> {
    let chats = lock(&CHATS);
    let chat = chats.get(&number).ok_or(Error::NoChat)?;
    chat.command(command).map_err(|error| match error {
        CommandError::NoThread(error) => Error::Thread(error),
        CommandError::Full => Error::ChatFull,
        _ => Error::NoChat,
    })
}

/// Ends a chat, whose last events are still delivered. Returns whether it existed.
pub(crate) fn close(number: u64) -> bool {
    lock(&CHATS).remove(&number).is_some()
}

/// Ends all chats and drops further events: Neovim exits.
pub(crate) fn stop() {
    lock(&CHATS).clear();
    lock(&INBOXES).clear();
    QUEUE.disarm(Ringer::Agents);
}

impl Sink for Queue {
    fn tell(&self, chat: u64, events: Vec<AgentEvent>, reserved: Reserved) {
        let mut inboxes = lock(&INBOXES);
        let Some((_, inbox)) = inboxes.get_mut(&chat) else { return };
        inbox.put(events, reserved);
        drop(inboxes);
        self.put(ChatNews(chat));
    }

    fn stream(&self, streamed: Streamed) {
        web::stream(&streamed);
    }
}

/// A chat has events.
struct ChatNews(u64);

impl Event for ChatNews {
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.0
    }

    fn into_value(self) -> Value {
        Value::Table(vec![("type", Value::Text("chat_news")), ("id", Value::Id(self.0))])
    }
}
