//! Sessions served to pages and other clients, as a service of the runtime.
//!
//! Invariant: at most one runs. It asks the sessions' service as Neovim does, and ends without it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use claude_ide_agent::Streamed;
use claude_ide_web::{Ask, Editor, Told, Web, WebHandle};
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

/// It says goodbye within a quarter of a second; a machine that gives it no time gets some more.
const STOP_DEADLINE: Duration = Duration::from_secs(2);

static WEB: Mutex<Option<(WebHandle, Running)>> = Mutex::new(None);

/// Where sessions are served.
#[derive(Serialize)]
pub(crate) struct Served {
    host: String,
    port: u16,
    token: String,
    display: String,
}

/// It ended though nobody asked it to.
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

/// Something that a client wants done.
struct WebAsk(u64, Ask);

/// Names each ask for the queue.
static LAST_ASK: AtomicU64 = AtomicU64::new(0);

impl Event for WebAsk {
    // After what was found out before: who wrote it knew of that, and it must not go into a question that has come up since.
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::Count { events: 256, bytes: 4 * 1024 * 1024 };

    fn key(&self) -> u64 {
        self.0
    }

    fn weight(&self) -> usize {
        match &self.1 {
            Ask::Deliver { text, .. } => text.len(),
            Ask::TakeBack { .. } => 0,
            Ask::Decide { message, .. } => message.as_ref().map_or(0, String::len),
        }
    }

    fn into_value(self) -> Value {
        let ask = serde_json::to_value(self.1).unwrap_or_default();
        Value::Table(vec![("type", Value::Text("web_ask")), ("ask", Value::Json(ask))])
    }
}

/// Lua, for what clients want.
struct Wanted;

impl Editor for Wanted {
    fn ask(&self, ask: Ask) -> bool {
        let key = LAST_ASK.fetch_add(1, Ordering::Relaxed);
        QUEUE.change(|waiting| waiting.push(WebAsk(key, ask))).is_ok()
    }
}

/// Lua tells what became of something, or what waits.
///
/// # Errors
/// [`Error::NotServed`].
pub(crate) fn tell(told: Told) -> Result<(), Error> {
    handle()?.tell(told);
    Ok(())
}

/// A chat says something: for those who read it elsewhere.
pub(crate) fn stream(streamed: &Streamed) {
    let Ok(handle) = handle() else { return };
    match &streamed.event {
        Some((kind, event)) => handle.say(&streamed.session, kind, event),
        None => handle.break_off(&streamed.session),
    }
}

fn slot() -> MutexGuard<'static, Option<(WebHandle, Running)>> {
    // The slot is only ever set and taken whole.
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
    Served {
        host: address.ip().to_string(),
        port: address.port(),
        token: handle.token().reveal().to_owned(),
        display: handle.display_token().reveal().to_owned(),
    }
}

/// Begins to serve; where it is served already, that is the answer.
///
/// # Errors
/// [`Error::NoSessions`], or why nothing can be served; then nothing is left behind.
pub(crate) fn start(options: ServeOptions, wake: AsyncHandle) -> Result<Served, Error> {
    if let Ok(handle) = handle() {
        return Ok(served(&handle));
    }
    let service = sessions::service()?;
    let (web, handle) = Web::bind(options.with(Arc::new(Wanted)), &service)?;
    QUEUE.arm(Ringer::Web, wake);
    let running = RUNTIME.run(web.run(), || QUEUE.put(WebEnded)).inspect_err(|_| QUEUE.disarm(Ringer::Web))?;
    let answer = served(&handle);
    *slot() = Some((handle, running));
    Ok(answer)
}

/// Ends it: sockets are told so.
///
/// # Errors
/// [`Error::NotServed`], or [`Error::Stuck`] when the deadline passed and it was left to itself.
pub(crate) fn stop() -> Result<(), Error> {
    let (handle, running) = slot().take().ok_or(Error::NotServed)?;
    running.ask();
    handle.stop();
    let outcome = RUNTIME.wait(&running, STOP_DEADLINE);
    QUEUE.disarm(Ringer::Web);
    outcome
}

/// Where it is served.
///
/// # Errors
/// [`Error::NotServed`].
pub(crate) fn info() -> Result<Served, Error> {
    handle().map(|handle| served(&handle))
}

/// A code that lets one browser in, once.
///
/// # Errors
/// [`Error::NotServed`], or that there are no random bytes.
pub(crate) fn code() -> Result<String, Error> {
    Ok(handle()?.code()?.reveal().to_owned())
}
