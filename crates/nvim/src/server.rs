//! The one server of this process, a service of the runtime.
//!
//! Invariants: at most one server runs. Port and token belong to the process, so a reconnecting CLI finds a restarted
//! server unchanged.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use claude_ide_server::{Identity, Server, ServerError, ServerHandle};
use once_cell::sync::OnceCell;

use crate::clients::ServerEnded;
use crate::editor::QueueEditor;
use crate::error::Error;
use crate::logging;
use crate::lua::AsyncHandle;
use crate::options::StartOptions;
use crate::queue::QUEUE;
use crate::runtime::{RUNTIME, Running};
use crate::wake::Ringer;

/// Time for the server to send its queue, close connections and remove its lock file.
const SHUTDOWN_DEADLINE: Duration = Duration::from_millis(500);

/// Extra time to wait on a busy machine: a lock file that is removed late is better than one that stays.
const JOIN_GRACE: Duration = Duration::from_secs(2);

static IDENTITY: OnceCell<Identity> = OnceCell::new();

static SERVER: Mutex<Option<(ServerHandle, Running)>> = Mutex::new(None);

fn slot() -> MutexGuard<'static, Option<(ServerHandle, Running)>> {
    // The slot is only set and taken whole.
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle to the running server.
///
/// # Errors
/// [`Error::NotRunning`].
pub(crate) fn handle() -> Result<ServerHandle, Error> {
    match &*slot() {
        Some((handle, running)) if !running.is_over() => Ok(handle.clone()),
        Some(_) | None => Err(Error::NotRunning),
    }
}

/// Binds, writes the lock file and starts serving; events ring `wake`.
///
/// # Errors
/// [`Error::Running`], or why the server could not start; then nothing is left behind.
pub(crate) fn start(options: StartOptions, wake: AsyncHandle) -> Result<ServerHandle, Error> {
    let mut slot = slot();
    if slot.as_ref().is_some_and(|(_, running)| !running.is_over()) {
        return Err(Error::Running);
    }
    logging::configure(&options.log);
    let identity = identity()?;
    let editor = Arc::new(QueueEditor::new(Arc::clone(&QUEUE)));
    QUEUE.arm(Ringer::Server, wake);
    let (server, handle) = Server::bind(options.into(), identity, editor)?;
    let running = RUNTIME.run(server.run(), || QUEUE.put(ServerEnded))?;
    *slot = Some((handle.clone(), running));
    Ok(handle)
}

fn identity() -> Result<Identity, ServerError> {
    IDENTITY.get_or_try_init(Identity::generate).cloned()
}

/// Ends the server: sends its queue, closes the connections, removes the lock file.
///
/// # Errors
/// [`Error::NotRunning`], or [`Error::Stuck`] if the deadline passed and it was abandoned.
pub(crate) fn stop(is_exiting: bool) -> Result<(), Error> {
    let (handle, running) = slot().take().ok_or(Error::NotRunning)?;
    running.ask();
    match is_exiting {
        true => handle.exit(SHUTDOWN_DEADLINE),
        false => handle.shutdown(SHUTDOWN_DEADLINE),
    }
    let outcome = RUNTIME.wait(&running, SHUTDOWN_DEADLINE + JOIN_GRACE);
    QUEUE.disarm(Ringer::Server);
    if is_exiting {
        handle.hold_port();
    }
    outcome
}
