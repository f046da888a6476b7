//! Sessions as a service. Rust calls its `async fn`s; Lua sends JSON requests through a [`Client`] and receives
//! [`News`] through a [`Sink`].
//!
//! All share the watcher, the store and a few threads. Invariants: no disk work runs on the calling thread; every
//! request is answered exactly once unless it was cancelled (a future: dropped), and then never; shutdown has a
//! deadline, so that a hanging disk does not keep the editor from quitting.

mod board;
mod client;
mod follows;
mod lives;
mod open_transcript;
mod pool;
mod reader;
mod request;
mod request_sink;
mod sink;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::agent::{Agent, AgentFolders, agents_of};
use crate::cancel::Cancel;
use crate::config_dir::ConfigDir;
use crate::error::{SessionError, chain};
use crate::id::SessionId;
use crate::live::{LiveSession, live_sessions, state_of};
use crate::state::SessionState;
use crate::store::{Scope, Store, Summary};
use crate::stored::Stored;
use crate::time::Millis;
use crate::watch::Watcher;

pub use client::Client;
pub use follows::Followed;
pub use lives::Lives;
pub use request::Request;
pub use sink::{Change, Growth, News, Sink};

use follows::Follows;
use pool::Pools;

/// A list waits at most this long for the first look at running sessions: a hanging disk must not block it.
const FIRST_LOOK: Duration = Duration::from_secs(3);

/// Why a request was refused or failed, or why the service did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// No thread could be started.
    #[error("could not start a thread: {0}")]
    Thread(#[source] io::Error),
    /// It is ending, or has ended.
    #[error("sessions are not watched any more")]
    Over,
    /// The requested transcript is not open.
    #[error("no transcript {number} is open")]
    UnknownTranscript {
        /// The transcript's number in the request.
        number: u64,
    },
    /// Too many requests are unanswered.
    #[error("too many requests about sessions are unanswered")]
    Busy,
    /// A thread did not end in time and was abandoned.
    #[error("not everything stopped in time; what did not was left behind")]
    Stuck,
    /// A bug: the job panicked.
    #[error("it could not be finished: the log file may tell more")]
    Lost,
    /// An error of the disk or the request.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The state shared by all clients.
pub struct Service {
    config: ConfigDir,
    cache_file: PathBuf,
    /// Created on the thread of the first list, since that reads a file.
    store: Mutex<Option<Store>>,
    agent_folders: Arc<Mutex<AgentFolders>>,
    clients: Mutex<Vec<Arc<Client>>>,
    follows: Arc<Follows>,
    pools: Arc<Pools>,
    watcher: Watcher,
}

/// A panic cannot leave this state half-changed, so a poisoned lock is fine.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cancels work whose future was dropped.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Service {
    /// Starts watching the running sessions of a configuration folder. Summaries are cached in `cache_file`.
    ///
    /// # Errors
    /// [`SessionError::Watcher`]; then nothing keeps running.
    pub fn start(config: ConfigDir, cache_file: PathBuf) -> Result<Arc<Self>, SessionError> {
        let follows = Arc::<Follows>::default();
        let news = Arc::clone(&follows);
        let watcher = Watcher::start(config.clone(), move |update| news.take(update))?;
        Ok(Arc::new(Self {
            config,
            cache_file,
            store: Mutex::default(),
            agent_folders: Arc::default(),
            clients: Mutex::default(),
            follows,
            pools: Arc::default(),
            watcher,
        }))
    }

    /// The running sessions.
    #[must_use]
    pub fn lives(&self) -> Arc<Lives> {
        Arc::clone(&self.follows.lives)
    }

    /// Where the transcript of a running session is, or will be after its first prompt.
    #[must_use]
    pub fn transcript_of(&self, running: &LiveSession) -> PathBuf {
        running.transcript(&self.config)
    }

    /// The sessions in a scope, newest first.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn list(self: &Arc<Self>, scope: Scope) -> Result<Vec<Summary>, ServiceError> {
        self.run(move |service, cancel| service.list_now(&scope, cancel)).await
    }

    /// Finds the transcript of a session.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn find(self: &Arc<Self>, id: SessionId) -> Result<PathBuf, ServiceError> {
        self.run(move |service, _| service.find_now(&id)).await
    }

    /// The summary of one session; `None` if its file is gone or has no message.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn summary(self: &Arc<Self>, file: PathBuf) -> Result<Option<Summary>, ServiceError> {
        self.run(move |service, _| Ok(service.summary_now(&file))).await
    }

    /// What a session is doing, also without a record.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn state(self: &Arc<Self>, id: SessionId, file: PathBuf) -> Result<SessionState, ServiceError> {
        self.run(move |service, _| service.state_now(&id, &file)).await
    }

    /// The subagents of a session.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn agents(self: &Arc<Self>, file: PathBuf) -> Result<Vec<Agent>, ServiceError> {
        self.run(move |_, _| Ok(agents_of(&file))).await
    }

    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        body: impl FnOnce(&Self, &Cancel) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let (answer, answered) = oneshot::channel();
        let cancel = CancelOnDrop(Cancel::new());
        let (service, cancelled) = (Arc::clone(self), cancel.0.clone());
        self.pools.requests.run(move || drop(answer.send(body(&service, &cancelled))))?;
        Ok(answered.await.map_err(|_| ServiceError::Lost)??)
    }

    /// Adds a client. Its sink receives replies, and the running sessions with their changes.
    pub fn join(self: &Arc<Self>, sink: Arc<dyn Sink>) -> Arc<Client> {
        let client = Client::new(Arc::downgrade(self), sink);
        lock(&self.clients).push(Arc::clone(&client));
        self.follows.listen(client.sink());
        client
    }

    /// Removes a client: closes its transcripts and silences its sink.
    pub fn leave(&self, client: &Arc<Client>) {
        client.close();
        lock(&self.clients).retain(|other| !Arc::ptr_eq(other, client));
    }

    /// Asks everything to end without waiting. The sinks fall silent, and new requests are refused.
    pub fn close(&self) {
        for client in &*lock(&self.clients) {
            client.close();
        }
        self.pools.dismiss();
    }

    /// Ends everything. Open transcripts are dropped on another thread: they may be large, and their disk may hang.
    ///
    /// # Errors
    /// [`ServiceError::Stuck`] if a thread outlived the deadline and was abandoned, [`ServiceError::Thread`].
    pub fn stop(self: Arc<Self>, deadline: Duration) -> Result<(), ServiceError> {
        self.close();
        let (alive, done) = mpsc::channel::<()>();
        let end = move || {
            let _alive = alive;
            let pools = Arc::clone(&self.pools);
            drop(self);
            pools.wait();
        };
        thread::Builder::new().spawn(end).map_err(ServiceError::Thread)?;
        match done.recv_timeout(deadline) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!("a session thread did not end in time");
                Err(ServiceError::Stuck)
            }
        }
    }

    fn with_store<T>(&self, body: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = lock(&self.store);
        body(store.get_or_insert_with(|| Store::new(self.config.clone(), Some(self.cache_file.clone()))))
    }

    /// One list at a time: the second reuses what the first one read.
    fn summaries(&self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Summary>, SessionError> {
        self.with_store(|store| {
            let summaries = store.list(scope, cancel)?;
            if let Err(error) = store.save() {
                tracing::debug!(error = %chain(&error), "could not write the session cache");
            }
            Ok(summaries)
        })
    }

    fn list_now(&self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Summary>, SessionError> {
        let list = self.summaries(scope, cancel)?;
        // A client that resumes one of them must know whether a process runs it.
        self.watcher.wait_for_first_look(FIRST_LOOK);
        Ok(list)
    }

    fn find_now(&self, id: &SessionId) -> Result<PathBuf, SessionError> {
        Store::new(self.config.clone(), None).find(id)
    }

    fn stored_now(&self, id: &SessionId, since: Millis) -> Result<Stored, SessionError> {
        Stored::read(&self.find_now(id)?, since)
    }

    fn summary_now(&self, file: &Path) -> Option<Summary> {
        self.with_store(|store| store.get(file)).filter(|summary| !summary.is_empty())
    }

    fn state_now(&self, id: &SessionId, file: &Path) -> Result<SessionState, SessionError> {
        state_of(&self.config, id, file, &live_sessions(&self.config)?)
    }
}

#[cfg(test)]
mod tests;
