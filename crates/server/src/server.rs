//! The facade's two ends, and what holds the connections together: [`Server`] runs on the runtime, [`ServerHandle`] is
//! what the editor holds.

use std::{
    io,
    net::{TcpListener, ToSocketAddrs},
    ops::RangeInclusive,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use rand::{TryRng as _, rngs::SysRng};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{sleep, timeout_at},
};

use crate::{
    connection::{self, Hub, stopping},
    editor::{ClientId, ClientInfo, Editor},
    error::{NotifyError, ServerError},
    lock_file::LockFile,
    options::{Identity, ServerOptions, Workspace},
    router::Services,
};

/// How many sockets may be in the middle of their handshake; further ones wait in the system's queue.
const MAX_HANDSHAKES: usize = 64;
/// How long to wait when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that listens and is announced, but does not answer yet.
pub struct Server {
    listener: TcpListener,
    hub: Arc<Hub>,
    lock: LockFile,
    /// Made with the lock file, so that a change before `run` is not missed.
    workspace: watch::Receiver<Workspace>,
}

/// Speaks to a running server; never blocks.
#[derive(Clone)]
pub struct ServerHandle {
    hub: Arc<Hub>,
    info: Arc<ServerInfo>,
}

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerInfo {
    /// The address it listens on.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The discovery files that were written.
    pub lock_files: Vec<PathBuf>,
}

/// How the server is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    /// Its port.
    pub port: u16,
    /// Who is connected, in order of connection.
    pub clients: Vec<ClientInfo>,
    /// Requests that are not answered yet.
    pub in_flight: usize,
    /// Bytes that wait to be sent.
    pub queued_bytes: usize,
}

impl Server {
    /// Binds the port and writes the discovery file.
    ///
    /// # Errors
    /// [`ServerError::Bind`], [`ServerError::LockFile`].
    pub fn bind(
        options: ServerOptions,
        identity: Identity,
        editor: Arc<dyn Editor>,
    ) -> Result<(Self, ServerHandle), ServerError> {
        let listener = listen(&options, &identity)?;
        let failed = |source| ServerError::Bind { host: options.host.clone(), port: "?".to_owned(), source };
        let port = listener.local_addr().map_err(failed)?.port();
        listener.set_nonblocking(true).map_err(failed)?;
        let lock = LockFile::create(&options, identity.token(), port)?;
        identity.set_port(port);
        tracing::info!(host = options.host, port, "listening");
        let info = ServerInfo { host: options.host.clone(), port, lock_files: lock.paths().to_vec() };
        let hub = Arc::new(Hub {
            identity,
            slots: Arc::new(Semaphore::new(options.max_connections.min(Semaphore::MAX_PERMITS))),
            shutdown: watch::Sender::new(None),
            services: Arc::new(Services::new(options, editor)),
        });
        let handle = ServerHandle { hub: Arc::clone(&hub), info: Arc::new(info) };
        let workspace = hub.services.workspace.subscribe();
        Ok((Self { listener, hub, lock, workspace }, handle))
    }

    /// Serves until [`ServerHandle::shutdown`]. For a `current_thread` runtime with I/O and time enabled; disk work goes
    /// to its blocking threads.
    pub async fn run(self) {
        let Self { listener, hub, lock, workspace } = self;
        let mut shutdown = hub.shutdown.subscribe();
        let announcing = tokio::spawn(announce(lock, workspace, hub.shutdown.subscribe()));
        let mut connections = JoinSet::new();
        match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => {
                tokio::select! {
                    () = accept(&hub, &listener, &mut connections) => {}
                    _ = stopping(&mut shutdown) => {}
                }
            }
            Err(error) => tracing::error!(%error, "the runtime does not take the socket"),
        }
        // Known by now, or nobody will ever tell.
        let deadline = shutdown.borrow().unwrap_or_else(Instant::now);
        let rest = async {
            while connections.join_next().await.is_some() {}
            // It ends by itself; whether it panicked is in the log.
            drop(announcing.await);
        };
        if timeout_at(deadline.into(), rest).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        tracing::info!("stopped");
    }
}

/// Takes connections for ever. Too many that have not said who they are wait in the system's queue.
async fn accept(hub: &Arc<Hub>, listener: &tokio::net::TcpListener, connections: &mut JoinSet<()>) {
    let most = hub.services.options.max_connections.saturating_add(MAX_HANDSHAKES);
    loop {
        tokio::select! {
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection failed");
                }
            }
            accepted = listener.accept(), if connections.len() < most => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(connection::serve(Arc::clone(hub), stream, peer));
                }
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

/// Keeps the discovery file up to date, and removes it at the end. Its folder may be slow, so it is written aside.
async fn announce(
    lock: LockFile,
    mut workspace: watch::Receiver<Workspace>,
    mut shutdown: watch::Receiver<Option<Instant>>,
) {
    let lock = Arc::new(lock);
    loop {
        tokio::select! {
            biased;
            _ = stopping(&mut shutdown) => return,
            changed = workspace.changed() => {
                if changed.is_err() {
                    return;
                }
                let (lock, workspace) = (Arc::clone(&lock), workspace.borrow_and_update().clone());
                let written = tokio::task::spawn_blocking(move || lock.rewrite(&workspace)).await;
                if let Err(error) = written {
                    tracing::error!(%error, "rewriting the lock file failed");
                }
            }
        }
    }
}

/// Binds the port of last time if there was one, else as configured.
fn listen(options: &ServerOptions, identity: &Identity) -> Result<TcpListener, ServerError> {
    let bind = |port: u16| bind(&options.host, port);
    if let Some(port) = identity.port().filter(|&port| is_configured(options, port)) {
        match bind(port) {
            Ok(listener) => return Ok(listener),
            Err(error) => tracing::warn!(port, %error, "the port of last time is taken: clients must find the new one"),
        }
    }
    let failed = |port: String| move |source| ServerError::Bind { host: options.host.clone(), port, source };
    match &options.port_range {
        Some(range) => first_free(range, bind).map_err(failed(format!("{}-{}", range.start(), range.end()))),
        None => bind(options.port).map_err(failed(options.port.to_string())),
    }
}

/// Whether the port is one that the configuration (which may have changed since) allows.
fn is_configured(options: &ServerOptions, port: u16) -> bool {
    match &options.port_range {
        Some(range) => range.contains(&port),
        None => options.port == 0 || options.port == port,
    }
}

fn bind(host: &str, port: u16) -> io::Result<TcpListener> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    TcpListener::bind(addresses.as_slice())
}

/// Tries every port of the range once, from a random one on.
fn first_free(range: &RangeInclusive<u16>, bind: impl Fn(u16) -> io::Result<TcpListener>) -> io::Result<TcpListener> {
    let ports: Vec<u16> = range.clone().collect();
    let start = SysRng.try_next_u32().ok().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let mut failure = io::Error::new(io::ErrorKind::InvalidInput, "the range of ports is empty");
    for index in 0..ports.len() {
        let index = start.wrapping_add(index).checked_rem(ports.len()).unwrap_or(0);
        match ports.get(index).map(|&port| bind(port)) {
            Some(Ok(listener)) => return Ok(listener),
            Some(Err(error)) => failure = error,
            None => {}
        }
    }
    Err(failure)
}

impl ServerHandle {
    /// Sends a notification to one client, or to all that are ready. `selection_changed` is also kept: clients that come
    /// later are told it, and the tools that ask for the selection are answered from it.
    ///
    /// # Errors
    /// The client is gone or reads nothing, or the notification is too large.
    pub fn notify(&self, method: &str, params: Box<RawValue>, to: Option<ClientId>) -> Result<(), NotifyError> {
        self.hub.services.notifier.notify(method, params, to)
    }

    /// Announces other folders or another name. The discovery file is rewritten soon.
    pub fn set_workspace(&self, workspace: Workspace) {
        self.hub.services.workspace.send_replace(workspace);
    }

    /// How the server is doing.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        let notifier = &self.hub.services.notifier;
        let (in_flight, queued_bytes) = notifier.load();
        ServerStatus { port: self.info.port, clients: notifier.infos(), in_flight, queued_bytes }
    }

    /// Stops the server: answers that are there leave, clients are closed with 1001, the discovery file is removed.
    /// [`Server::run`] returns when that is done, at the latest after `deadline`.
    pub fn shutdown(&self, deadline: Duration) {
        let now = Instant::now();
        self.hub.shutdown.send_replace(Some(now.checked_add(deadline).unwrap_or(now)));
    }

    /// Where the server is.
    #[must_use]
    pub fn info(&self) -> &ServerInfo {
        &self.info
    }
}
