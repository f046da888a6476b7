//! Sessions as a service: whoever has a [`Sink`] becomes a [`Client`], asks, and is told.
//!
//! All clients share the watcher, the store and a few threads. Invariants: nothing here does disk work on the thread that
//! calls; every request is answered once, unless it was cancelled, and then never; ending has a deadline, so that a disk that
//! hangs keeps nobody from quitting.

mod client;
mod crew;
mod desk;
mod error;
mod follows;
mod outlet;
mod pending;
mod reader;
mod request;
mod sink;

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::agent::AgentFolders;
use crate::cancel::Cancel;
use crate::config_dir::ConfigDir;
use crate::error::{SessionError, chain};
use crate::store::{Scope, Store, Summary};
use crate::watch::Watcher;

pub use client::Client;
pub use error::ServiceError;
pub use request::Request;
pub use sink::{Change, Growth, News, Sink};

use crew::Crew;
use follows::Follows;

/// What goes on for sessions, whoever asked for it.
pub struct Service {
    config: ConfigDir,
    cache_file: PathBuf,
    /// Made on the thread of the first list: it reads a file.
    store: Mutex<Option<Store>>,
    agent_folders: Arc<Mutex<AgentFolders>>,
    clients: Mutex<Vec<Arc<Client>>>,
    follows: Arc<Follows>,
    crew: Arc<Crew>,
    watcher: Watcher,
}

/// Nothing that is locked so is ever left half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// Begins to watch the running sessions of a configuration folder. What was read of each session is remembered in
    /// `cache_file`.
    ///
    /// # Errors
    /// [`SessionError::Watcher`]; then nothing is left behind.
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
            crew: Arc::default(),
            watcher,
        }))
    }

    /// Whoever asks from now on, and is told what comes of it, and of the sessions that run.
    pub fn join(self: &Arc<Self>, sink: Arc<dyn Sink>) -> Arc<Client> {
        let client = Client::new(Arc::downgrade(self), sink);
        lock(&self.clients).push(Arc::clone(&client));
        self.follows.listen(client.outlet());
        client
    }

    /// A client is told nothing any more, and what it had open is closed.
    pub fn leave(&self, client: &Arc<Client>) {
        client.close();
        lock(&self.clients).retain(|other| !Arc::ptr_eq(other, client));
    }

    /// Asks everything that goes on to end, and waits for none of it: nothing is said and nothing new is taken.
    pub fn close(&self) {
        for client in &*lock(&self.clients) {
            client.close();
        }
        self.crew.dismiss();
    }

    /// Ends everything. What is open is dropped on another thread: it may be large, and its disk may hang.
    ///
    /// # Errors
    /// [`ServiceError::Stuck`] when the deadline passed and a thread was left to itself, [`ServiceError::Thread`].
    pub fn stop(self: Arc<Self>, deadline: Duration) -> Result<(), ServiceError> {
        self.close();
        let (alive, done) = mpsc::channel::<()>();
        let end = move || {
            let _alive = alive;
            let crew = Arc::clone(&self.crew);
            drop(self);
            crew.wait();
        };
        thread::Builder::new().spawn(end).map_err(ServiceError::Thread)?;
        match done.recv_timeout(deadline) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!("a thread that reads sessions did not end in time");
                Err(ServiceError::Stuck)
            }
        }
    }

    fn with_store<T>(&self, body: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = lock(&self.store);
        body(store.get_or_insert_with(|| Store::new(self.config.clone(), Some(self.cache_file.clone()))))
    }

    /// One list at a time: the second one finds what the first one read.
    fn list(&self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Summary>, String> {
        self.with_store(|store| {
            let summaries = store.list(scope, cancel).map_err(|error| chain(&error))?;
            if let Err(error) = store.save() {
                tracing::debug!(error = %chain(&error), "what was read of the sessions is not remembered");
            }
            Ok(summaries)
        })
    }
}

#[cfg(test)]
mod tests;
