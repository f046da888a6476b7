//! Sessions as a service. Rust calls its `async fn`s; Lua sends JSON requests through a [`Client`] and receives
//! [`News`] through a [`Sink`].
//!
//! All share the watcher, the store and a few threads. Invariants: no disk work runs on the calling thread; every
//! request is answered exactly once unless it was cancelled (a future: dropped), and then never; the end is not waited
//! for, so that neither a hanging disk nor a large transcript keeps the editor from quitting.

mod board;
mod client;
mod error;
mod followed;
mod follows;
mod lives;
mod lock;
mod open_transcript;
mod pool;
mod reader;
mod request;
mod request_sink;
mod shared;
mod sink;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::agent::{Agent, agents_of};
use crate::cancel::Cancel;
use crate::config_dir::ConfigDirs;
use crate::error::SessionError;
use crate::id::SessionId;
use crate::state::SessionState;
use crate::store::{Scope, Summary};
use crate::transcript::Batch;

pub use client::Client;
pub use error::ServiceError;
pub use followed::Followed;
pub use lives::Lives;
pub use request::Request;
pub use sink::{Change, Growth, News, Sink};

use lock::lock;
use shared::Shared;

/// Sessions, for any number of clients.
pub struct Service {
    shared: Arc<Shared>,
    clients: Mutex<Vec<Arc<Client>>>,
}

/// Cancels work whose future was dropped.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Service {
    /// Starts watching the running sessions of configuration folders. Summaries are cached in `cache_file`.
    ///
    /// # Errors
    /// [`SessionError::Watcher`]; then nothing keeps running.
    pub fn start(dirs: impl Into<ConfigDirs>, cache_file: PathBuf) -> Result<Arc<Self>, SessionError> {
        let shared = Arc::new(Shared::start(dirs.into(), cache_file)?);
        Ok(Arc::new(Self { shared, clients: Mutex::default() }))
    }

    /// The running sessions.
    #[must_use]
    pub fn lives(&self) -> Arc<Lives> {
        Arc::clone(&self.shared.follows.lives)
    }

    /// The sessions in a scope, newest first.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn list(self: &Arc<Self>, scope: Scope) -> Result<Vec<Summary>, ServiceError> {
        self.run(move |shared, cancel| shared.list_now(&scope, cancel)).await
    }

    /// Finds the transcript of a session.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn find(self: &Arc<Self>, id: SessionId) -> Result<PathBuf, ServiceError> {
        self.run(move |shared, _| shared.find_now(&id)).await
    }

    /// The summary of one session; `None` if its file is gone or has no message.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn summary(self: &Arc<Self>, file: PathBuf) -> Result<Option<Summary>, ServiceError> {
        self.run(move |shared, _| Ok(shared.summary_now(&file))).await
    }

    /// What a session is doing, also without a record.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn state(self: &Arc<Self>, id: SessionId, file: PathBuf) -> Result<SessionState, ServiceError> {
        self.run(move |shared, _| shared.state_now(&id, &file)).await
    }

    /// The subagents of a session.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub async fn agents(self: &Arc<Self>, file: PathBuf) -> Result<Vec<Agent>, ServiceError> {
        self.run(move |_, _| Ok(agents_of(&file))).await
    }

    /// Passes on what the CLI of a session shows, to open transcripts of it. Does not block.
    pub fn show(&self, session: &str, batch: &Batch<'_>) {
        self.shared.follows.show(session, batch);
    }

    /// Follows a file from its start.
    #[must_use]
    pub fn follow(self: &Arc<Self>, file: &Path) -> Followed {
        Followed::new(&self.shared, file)
    }

    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        body: impl FnOnce(&Shared, &Cancel) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let (answer, answered) = oneshot::channel();
        let cancel = CancelOnDrop(Cancel::new());
        let (shared, cancelled) = (Arc::clone(&self.shared), cancel.0.clone());
        self.shared.pools.requests.run(move || drop(answer.send(body(&shared, &cancelled))))?;
        Ok(answered.await.map_err(|_| ServiceError::Lost)??)
    }

    /// Adds a client. Its sink receives replies, and the running sessions with their changes.
    pub fn join(self: &Arc<Self>, sink: Arc<dyn Sink>) -> Arc<Client> {
        let client = Client::new(Arc::downgrade(&self.shared), sink);
        lock(&self.clients).push(Arc::clone(&client));
        self.shared.follows.listen(client.sink());
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
        self.shared.pools.dismiss();
    }
}

#[cfg(test)]
mod tests;
