//! Sessions for Lua: requests run on threads of their own, what comes of them waits in the queue.
//!
//! Independent of the server: it works while none runs, and outlives one that stops. Invariants: nothing here does disk
//! work on the thread that calls; every request is answered once, unless it was cancelled, and then never; stopping has a
//! deadline, so that a disk that hangs does not keep Neovim from quitting.

mod crew;
mod pending;
mod request;
mod service;
mod transcript;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub(crate) use request::{Request, SessionsOptions};
use service::Service;

use crate::error::Error;
use crate::logging;
use crate::lua::AsyncHandle;
use crate::mailbox::Mailbox;
use crate::runtime::QUEUE;
use crate::wake::Ringer;

/// How long the threads may take to end.
const STOP_DEADLINE: Duration = Duration::from_millis(300);

static SERVICE: Mutex<Option<Arc<Service>>> = Mutex::new(None);

fn slot() -> MutexGuard<'static, Option<Arc<Service>>> {
    // The slot is only ever set and taken whole.
    SERVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn service() -> Result<Arc<Service>, Error> {
    slot().clone().ok_or(Error::NoSessions)
}

/// Begins to watch the running sessions, and to take requests; events ring `wake`. What ran before is stopped.
///
/// # Errors
/// Why nothing can be watched; then nothing is left behind.
pub(crate) fn start(options: SessionsOptions, wake: AsyncHandle) -> Result<(), Error> {
    // A new beginning need not wait for the end of what was there.
    let before = slot().take();
    if let Some(before) = before {
        before.cancel_all();
        thread::Builder::new().spawn(move || drop(before)).map_err(Error::Thread)?;
    }
    logging::configure(&options.log);
    QUEUE.mail(Mailbox::clear);
    // First of all: what is said at once must ring the new handle.
    QUEUE.arm(Ringer::Sessions, wake);
    let service = Service::start(Arc::clone(&QUEUE), options).inspect_err(|_| QUEUE.disarm(Ringer::Sessions))?;
    *slot() = Some(service);
    Ok(())
}

/// Ends everything.
///
/// # Errors
/// [`Error::NoSessions`], or [`Error::Stuck`] when the deadline passed and a thread was left to itself.
pub(crate) fn stop() -> Result<(), Error> {
    let service = slot().take().ok_or(Error::NoSessions)?;
    service.cancel_all();
    QUEUE.mail(Mailbox::clear);
    QUEUE.disarm(Ringer::Sessions);
    let (alive, done) = mpsc::channel::<()>();
    let end = move || {
        let _alive = alive;
        let crew = service.crew();
        drop(service);
        crew.wait();
    };
    thread::Builder::new().spawn(end).map_err(Error::Thread)?;
    match done.recv_timeout(STOP_DEADLINE) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(()),
        Err(RecvTimeoutError::Timeout) => {
            tracing::warn!("a thread that reads sessions did not end in time");
            Err(Error::Stuck)
        }
    }
}

/// Takes a request; the number of what will be said of it.
///
/// # Errors
/// [`Error::NoSessions`] before `start`, [`Error::Busy`] when too much is going on, [`Error::UnknownTranscript`].
pub(crate) fn request(request: Request) -> Result<u64, Error> {
    service()?.request(request)
}

/// Ends a request, or closes a transcript: nothing is said of it any more. Whether anything could still have been.
///
/// # Errors
/// [`Error::NoSessions`] before `start`.
pub(crate) fn cancel(request: u64) -> Result<bool, Error> {
    Ok(service()?.cancel(request))
}

#[cfg(test)]
mod tests;
