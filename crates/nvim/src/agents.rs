//! Chats with agents for Lua, by number.
//!
//! Independent of the server and of the sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use claude_ide_agent::acp::Acp;
use claude_ide_agent::stream_json::StreamJson;
use claude_ide_agent::{Backend, Chat, Command, CommandError, Event, Program, Reserved, Sink, Streamed};
use once_cell::sync::Lazy;
use serde::Deserialize;

use crate::error::Error;
use crate::logging::{self, LogOptions};
use crate::lua::AsyncHandle;
use crate::queue::{QUEUE, Queue};
use crate::wake::Ringer;
use crate::web;
use news::ChatNews;

mod news;

static CHATS: Lazy<Mutex<HashMap<u64, Chat>>> = Lazy::new(Mutex::default);
static LAST: AtomicU64 = AtomicU64::new(0);

/// The options of `agent_open`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AgentOptions {
    program: Program,
    backend: BackendOptions,
    log: LogOptions,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BackendOptions {
    StreamJson,
    Acp(Box<claude_ide_agent::acp::Options>),
}

fn chats() -> MutexGuard<'static, HashMap<u64, Chat>> {
    // Entries are only added and removed whole.
    CHATS.lock().unwrap_or_else(PoisonError::into_inner)
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
    let number = LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    let chat = Chat::open(number, options.program, backend, QUEUE.clone()).map_err(Error::Thread)?;
    chats().insert(number, chat);
    Ok(number)
}

/// Sends a command to a chat.
///
/// # Errors
/// [`Error::NoChat`], [`Error::ChatFull`]; [`Error::Thread`] if no thread can be started.
pub(crate) fn command(number: u64, command: Command) -> Result<(), Error> {
    let chats = chats();
    let chat = chats.get(&number).ok_or(Error::NoChat)?;
    chat.command(command).map_err(|error| match error {
        CommandError::NoThread(error) => Error::Thread(error),
        CommandError::Full => Error::ChatFull,
        _ => Error::NoChat,
    })
}

/// Ends a chat, whose last events are still delivered. Returns whether it existed.
pub(crate) fn close(number: u64) -> bool {
    chats().remove(&number).is_some()
}

/// Ends all chats and drops further events: Neovim exits.
pub(crate) fn stop() {
    chats().clear();
    QUEUE.disarm(Ringer::Agents);
}

impl Sink for Queue {
    fn tell(&self, chat: u64, events: Vec<Event>, reserved: Reserved) {
        // Converted here, on the chat's thread, so that Neovim only takes it.
        self.put(ChatNews::new(chat, events, reserved));
    }

    fn stream(&self, streamed: Streamed) {
        web::stream(&streamed);
    }
}
