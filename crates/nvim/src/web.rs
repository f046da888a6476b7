//! Sessions served to pages and other clients, as a service of the runtime.
//!
//! Invariant: at most one runs. It asks the sessions' service as Neovim does, and ends without it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use claude_ide_web::{Web, WebHandle};
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
    Served { host: address.ip().to_string(), port: address.port(), token: handle.token().reveal().to_owned() }
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
    let (web, handle) = Web::bind(options.into(), &service)?;
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
