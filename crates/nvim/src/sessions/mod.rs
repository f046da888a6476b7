//! Sessions for Lua: the one service of this process, and Neovim as one who asks it.
//!
//! Independent of the server: it works while none runs, and outlives one that stops.

mod events;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use claude_ide_session::{Client, ConfigDir, Request, Service};

use crate::error::Error;
use crate::logging;
use crate::lua::AsyncHandle;
use crate::options::SessionsOptions;
use crate::queue::QUEUE;
use crate::wake::Ringer;

/// How long the threads may take to end.
const STOP_DEADLINE: Duration = Duration::from_millis(300);

static SESSIONS: Mutex<Option<Sessions>> = Mutex::new(None);

struct Sessions {
    service: Arc<Service>,
    client: Arc<Client>,
}

fn slot() -> MutexGuard<'static, Option<Sessions>> {
    // The slot is only ever set and taken whole.
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn client() -> Result<Arc<Client>, Error> {
    slot().as_ref().map(|sessions| Arc::clone(&sessions.client)).ok_or(Error::NoSessions)
}

/// The service, for others who ask it.
///
/// # Errors
/// [`Error::NoSessions`] before `start`.
pub(crate) fn service() -> Result<Arc<Service>, Error> {
    slot().as_ref().map(|sessions| Arc::clone(&sessions.service)).ok_or(Error::NoSessions)
}

/// Begins to watch the running sessions, and to take requests; events ring `wake`. What ran before is stopped.
///
/// # Errors
/// Why nothing can be watched; then nothing is left behind.
pub(crate) fn start(options: SessionsOptions, wake: AsyncHandle) -> Result<(), Error> {
    // A new beginning need not wait for the end of what was there.
    let before = slot().take();
    if let Some(before) = before {
        before.service.close();
        thread::Builder::new().spawn(move || drop(before)).map_err(Error::Thread)?;
    }
    logging::configure(&options.log);
    QUEUE.change(events::clear);
    // First of all: what is said at once must ring the new handle.
    QUEUE.arm(Ringer::Sessions, wake);
    let service = Service::start(ConfigDir::at(options.config_dir), options.cache_file);
    let service = service.inspect_err(|_| QUEUE.disarm(Ringer::Sessions))?;
    let client = service.join(QUEUE.clone());
    *slot() = Some(Sessions { service, client });
    Ok(())
}

/// Ends everything.
///
/// # Errors
/// [`Error::NoSessions`], or that the deadline passed and a thread was left to itself.
pub(crate) fn stop() -> Result<(), Error> {
    let Sessions { service, client } = slot().take().ok_or(Error::NoSessions)?;
    service.close();
    QUEUE.change(events::clear);
    QUEUE.disarm(Ringer::Sessions);
    // What it had open is the service's to drop.
    drop(client);
    Ok(service.stop(STOP_DEADLINE)?)
}

/// Takes a request; the number of what will be said of it.
///
/// # Errors
/// [`Error::NoSessions`] before `start`, or why it is not taken.
pub(crate) fn request(request: Request) -> Result<u64, Error> {
    Ok(client()?.request(request)?)
}

/// Ends a request, or closes a transcript: nothing is said of it any more. Whether anything could still have been.
///
/// # Errors
/// [`Error::NoSessions`] before `start`.
pub(crate) fn cancel(request: u64) -> Result<bool, Error> {
    Ok(client()?.cancel(request))
}
