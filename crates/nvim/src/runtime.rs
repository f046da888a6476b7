//! The one server of this process and the thread it runs on.
//!
//! Invariants: at most one server runs. Port and token belong to the process, so a server that starts again is the
//! same one to a CLI that reconnects. Stopping has a deadline, so that nothing here can keep Neovim from quitting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use claude_ide_server::{Identity, Server, ServerError, ServerHandle};
use once_cell::sync::{Lazy, OnceCell};
use tokio::runtime::{Builder, Runtime};

use crate::editor::QueueEditor;
use crate::error::Error;
use crate::logging;
use crate::lua::AsyncHandle;
use crate::options::StartOptions;
use crate::queue::Queue;
use crate::wake::Ringer;

/// How long the server may take to send what is queued, say goodbye and remove its lock file.
const SHUTDOWN_DEADLINE: Duration = Duration::from_millis(500);

/// How long to wait for the thread to end beyond that.
const JOIN_GRACE: Duration = Duration::from_millis(250);

/// How long disk work in flight may hold up the end of the thread.
const BLOCKING_GRACE: Duration = Duration::from_millis(100);

/// Outlives the server, so that what happened while it stopped can still be read.
pub(crate) static QUEUE: Lazy<Arc<Queue>> = Lazy::new(Arc::default);

static IDENTITY: OnceCell<Identity> = OnceCell::new();

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

struct Running {
    handle: ServerHandle,
    thread: JoinHandle<()>,
    /// Disconnects when the thread is done.
    done: Receiver<()>,
    /// Whether the thread was asked to end.
    asked: Arc<AtomicBool>,
}

fn running() -> MutexGuard<'static, Option<Running>> {
    // The slot is only ever set and taken whole.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle to the running server.
///
/// # Errors
/// [`Error::NotRunning`] when there is none.
pub(crate) fn handle() -> Result<ServerHandle, Error> {
    match &*running() {
        Some(running) if !running.thread.is_finished() => Ok(running.handle.clone()),
        Some(_) | None => Err(Error::NotRunning),
    }
}

/// Binds, writes the lock file and begins to serve; events ring `wake`.
///
/// # Errors
/// [`Error::Running`], or why the server could not start; then nothing is left behind.
pub(crate) fn start(options: StartOptions, wake: AsyncHandle) -> Result<ServerHandle, Error> {
    let mut slot = running();
    if slot.as_ref().is_some_and(|running| !running.thread.is_finished()) {
        return Err(Error::Running);
    }
    logging::configure(&options.log);
    let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(Error::Thread)?;
    let identity = identity()?;
    let editor = Arc::new(QueueEditor::new(Arc::clone(&QUEUE)));
    QUEUE.arm(Ringer::Server, wake);
    let (server, handle) = {
        let _inside = runtime.enter();
        Server::bind(options.into(), identity, editor)?
    };
    let (alive, done) = mpsc::channel();
    let asked = Arc::new(AtomicBool::new(false));
    let news = TellOfEnd { asked: Arc::clone(&asked) };
    let thread = thread::Builder::new()
        .name("claude-ide".to_owned())
        .spawn(move || {
            let _alive = alive;
            let _news = news;
            serve(runtime, server);
        })
        .map_err(Error::Thread)?;
    *slot = Some(Running { handle: handle.clone(), thread, done, asked });
    Ok(handle)
}

/// Tells Lua that the thread ended though nobody asked it to: a panic ended it, say.
struct TellOfEnd {
    asked: Arc<AtomicBool>,
}

impl Drop for TellOfEnd {
    fn drop(&mut self) {
        if !self.asked.load(Ordering::Acquire) {
            QUEUE.announce_end();
        }
    }
}

fn identity() -> Result<Identity, ServerError> {
    IDENTITY.get_or_try_init(Identity::generate).cloned()
}

fn serve(runtime: Runtime, server: Server) {
    runtime.block_on(server.run());
    runtime.shutdown_timeout(BLOCKING_GRACE);
}

/// Ends the server: sends what is queued, closes the connections, removes the lock file, joins the thread.
///
/// # Errors
/// [`Error::NotRunning`], or [`Error::Stuck`] when the deadline passed and the thread was left to itself.
pub(crate) fn stop() -> Result<(), Error> {
    let Some(Running { handle, thread, done, asked }) = running().take() else {
        return Err(Error::NotRunning);
    };
    asked.store(true, Ordering::Release);
    handle.shutdown(SHUTDOWN_DEADLINE);
    let outcome = match done.recv_timeout(SHUTDOWN_DEADLINE + JOIN_GRACE) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {
            if thread.join().is_err() {
                tracing::error!("the server's thread panicked");
            }
            Ok(())
        }
        Err(RecvTimeoutError::Timeout) => {
            tracing::error!("the server's thread did not end in time");
            Err(Error::Stuck)
        }
    };
    QUEUE.disarm(Ringer::Server);
    outcome
}
