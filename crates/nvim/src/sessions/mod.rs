//! Sessions for Lua: the one service of this process, and Neovim as its client.
//!
//! Independent of the server.

mod events;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use claude_ide_session::{Batch, Client, ConfigDir, ConfigDirs, EditTexts, Request, Service};

use crate::error::Error;
use crate::logging;
use crate::lua::AsyncHandle;
use crate::options::SessionsOptions;
use crate::queue::QUEUE;
use crate::wake::Ringer;

static SESSIONS: Mutex<Option<Sessions>> = Mutex::new(None);

struct Sessions {
    service: Arc<Service>,
    client: Arc<Client>,
}

fn slot() -> MutexGuard<'static, Option<Sessions>> {
    // The slot is only set and taken whole.
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn client() -> Result<Arc<Client>, Error> {
    slot().as_ref().map(|sessions| Arc::clone(&sessions.client)).ok_or(Error::NoSessions)
}

/// The service, for other clients.
///
/// # Errors
/// [`Error::NoSessions`] before `start`.
pub(crate) fn service() -> Result<Arc<Service>, Error> {
    slot().as_ref().map(|sessions| Arc::clone(&sessions.service)).ok_or(Error::NoSessions)
}

/// Passes on what the CLI of a session shows, to its open transcripts.
pub(crate) fn show(session: &str, batch: &Batch<'_>) {
    if let Ok(service) = service() {
        service.show(session, batch);
    }
}

/// Starts watching sessions and accepting requests; events ring `wake`. Stops a previous service.
///
/// # Errors
/// Why nothing can be watched; then nothing is left behind.
pub(crate) fn start(options: SessionsOptions, wake: AsyncHandle) -> Result<(), Error> {
    // The start need not wait for the end of the previous service.
    let before = slot().take();
    if let Some(before) = before {
        before.service.close();
        thread::Builder::new().spawn(move || drop(before)).map_err(Error::Thread)?;
    }
    logging::configure(&options.log);
    QUEUE.change(events::clear);
    // First of all: the service's first events must ring the new handle.
    QUEUE.arm(Ringer::Sessions, wake);
    let dirs = options.config_dirs.into_iter().map(ConfigDir::at).collect::<ConfigDirs>();
    let service = Service::start(dirs.with_kept(ConfigDir::at(options.kept_dir)), options.cache_file);
    let service = service.inspect_err(|_| QUEUE.disarm(Ringer::Sessions))?;
    let client = service.join(QUEUE.clone());
    *slot() = Some(Sessions { service, client });
    Ok(())
}

/// Silences the service as Neovim exits. It stays where it is: to free a transcript of 1 GB took 300 ms, and a disk may hang.
///
/// # Errors
/// [`Error::NoSessions`].
pub(crate) fn stop() -> Result<(), Error> {
    service()?.close();
    QUEUE.change(events::clear);
    QUEUE.disarm(Ringer::Sessions);
    Ok(())
}

/// Sends a request; returns its number.
///
/// # Errors
/// [`Error::NoSessions`] before `start`, or why it was refused.
pub(crate) fn request(request: Request) -> Result<u64, Error> {
    Ok(client()?.request(request)?)
}

/// Cancels a request or closes a transcript. Returns whether it was still open.
///
/// # Errors
/// [`Error::NoSessions`] before `start`.
pub(crate) fn cancel(request: u64) -> Result<bool, Error> {
    Ok(client()?.cancel(request))
}

/// The texts of a change that a transcript has told last.
pub(crate) fn take_texts(transcript: u64, call: &str) -> Option<EditTexts> {
    client().ok()?.take_texts(transcript, call)
}
