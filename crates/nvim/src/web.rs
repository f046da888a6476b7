//! The web page's server, as a service of the runtime.
//!
//! Invariant: at most one runs. It is a client of the sessions' service and can end without it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use claude_ide_agent::Streamed;
use claude_ide_session::Batch;
use claude_ide_web::{Ask, Editor, Report, Web, WebHandle};
use serde::Serialize;

use crate::error::Error;
use crate::lua::AsyncHandle;
use crate::options::ServeOptions;
use crate::queue::QUEUE;
use crate::runtime::{RUNTIME, Running};
use crate::sessions;
use crate::value::Value;
use crate::waiting::{Bound, Event, Turn};
use crate::wake::Ringer;

/// The server closes within a quarter of a second; a busy machine gets some more.
const STOP_DEADLINE: Duration = Duration::from_secs(2);

static WEB: Mutex<Option<(WebHandle, Running)>> = Mutex::new(None);

/// The page's address.
#[derive(Serialize)]
pub(crate) struct Served {
    host: String,
    port: u16,
    token: String,
}

/// The server ended unrequested.
struct WebEnded;

impl Event for WebEnded {
    const TURN: Turn = Turn::Calls;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        0
    }

    fn into_value(self) -> Value {
        Value::Table(vec![("type", Value::Text("web_ended"))])
    }
}

/// A request of a client to Neovim.
struct WebAsk(u64, Ask);

/// Queue keys of requests.
static LAST_ASK: AtomicU64 = AtomicU64::new(0);

impl Event for WebAsk {
    // After earlier news: the client had seen it, and the request must not answer a question that came up since.
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::Count { events: 256, bytes: 4 * 1024 * 1024 };

    fn key(&self) -> u64 {
        self.0
    }

    fn weight(&self) -> usize {
        match &self.1 {
            Ask::Deliver { text, .. } => text.len(),
            Ask::TakeBack { .. } | Ask::Interrupt { .. } => 0,
            Ask::Decide { message: words, .. } | Ask::Comment { words, .. } => words.as_ref().map_or(0, String::len),
        }
    }

    fn into_value(self) -> Value {
        let ask = serde_json::to_value(self.1).unwrap_or_default();
        Value::Table(vec![("type", Value::Text("web_ask")), ("ask", Value::Json(ask))])
    }
}

/// Passes clients' requests to Lua.
struct Wanted;

impl Editor for Wanted {
    fn ask(&self, ask: Ask) -> bool {
        let key = LAST_ASK.fetch_add(1, Ordering::Relaxed);
        QUEUE.change(|waiting| waiting.push(WebAsk(key, ask))).is_ok()
    }
}

/// Passes on Lua's outcome of a request, or an open question.
///
/// # Errors
/// [`Error::NotServed`].
pub(crate) fn tell(report: Report) -> Result<(), Error> {
    handle()?.tell(report);
    Ok(())
}

/// Passes a chat's output to the page's clients.
pub(crate) fn stream(streamed: &Streamed) {
    let Ok(handle) = handle() else { return };
    match &streamed.event {
        Some((kind, event)) => handle.say(&streamed.session, kind, event),
        None => handle.break_off(&streamed.session),
    }
}

/// A CLI in a terminal shows something: likewise.
pub(crate) fn show(session: &str, batch: &Batch<'_>) {
    let Ok(handle) = handle() else { return };
    handle.display(session, batch);
}

fn slot() -> MutexGuard<'static, Option<(WebHandle, Running)>> {
    // The slot is only set and taken whole.
    WEB.lock().unwrap_or_else(PoisonError::into_inner)
}

fn handle() -> Result<WebHandle, Error> {
    match &*slot() {
        Some((handle, running)) if !running.is_over() => Ok(handle.clone()),
        Some(_) | None => Err(Error::NotServed),
    }
}

fn served(handle: &WebHandle) -> Served {
    let address = handle.address();
    Served { host: address.ip().to_string(), port: address.port(), token: handle.token().reveal().to_owned() }
}

/// Starts the server; returns the address of a running one.
///
/// # Errors
/// [`Error::NoSessions`], or why the server could not start; then nothing is left behind.
pub(crate) fn start(options: ServeOptions, wake: AsyncHandle) -> Result<Served, Error> {
    if let Ok(handle) = handle() {
        return Ok(served(&handle));
    }
    let service = sessions::service()?;
    let options = options.with(Arc::new(Wanted));
    let (web, handle) = Web::bind(options, &service)?;
    QUEUE.arm(Ringer::Web, wake);
    let running = RUNTIME.run(web.run(), || QUEUE.put(WebEnded)).inspect_err(|_| QUEUE.disarm(Ringer::Web))?;
    let answer = served(&handle);
    *slot() = Some((handle, running));
    Ok(answer)
}

/// Ends the server and closes its sockets.
///
/// # Errors
/// [`Error::NotServed`], or [`Error::Stuck`] if the deadline passed and it was abandoned.
pub(crate) fn stop() -> Result<(), Error> {
    let (handle, running) = slot().take().ok_or(Error::NotServed)?;
    running.ask();
    handle.stop();
    let outcome = RUNTIME.wait(&running, STOP_DEADLINE);
    QUEUE.disarm(Ringer::Web);
    outcome
}

/// The page's address.
///
/// # Errors
/// [`Error::NotServed`].
pub(crate) fn info() -> Result<Served, Error> {
    handle().map(|handle| served(&handle))
}

/// A code that signs in one browser, once.
///
/// # Errors
/// [`Error::NotServed`], or that there are no random bytes.
pub(crate) fn code() -> Result<String, Error> {
    Ok(handle()?.code()?.reveal().to_owned())
}
