//! The facade's two ends, and what holds the connections together: [`Server`] runs on the runtime, [`ServerHandle`] is
//! what the editor holds.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    net::{TcpListener, ToSocketAddrs},
    ops::RangeInclusive,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rand::{TryRng as _, rngs::SysRng};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{
    sync::{Semaphore, watch},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout_at},
};

use crate::{
    announce::announce,
    connection::{self, Hub, stopping},
    door::{Route, Routes},
    editor::{ClientId, ClientInfo, Editor},
    endpoint::{Endpoint, NVIM},
    error::{NotifyError, ServerError},
    http::Sessions,
    lock_file::{IdeName, LockFile},
    options::{Identity, ServerOptions, Workspace},
    router::Services,
    token::AuthToken,
};

/// How many sockets may be at the door: in the middle of their handshake, or on their way out. One more, and the one that
/// has stood there longest is shut out, so that whoever says nothing keeps nobody out who does.
const MAX_AT_DOOR: usize = 64;
/// How many connections clients that speak HTTP may have. Each has two, and one for each call that takes a while.
const MAX_HTTP: usize = 256;
/// How long to wait when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// MCP, "List Changed Notification".
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

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
    name: IdeName,
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
    /// The name that the discovery file gives: the configured one, and what tells it from others of that name.
    pub ide_name: String,
    /// Whether the system tells which process connects.
    pub knows_processes: bool,
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
        let lock = LockFile::create(&options, &identity.token(), port)?;
        tracing::info!(host = options.host, port, "listening");
        let info = ServerInfo { host: options.host.clone(), port, lock_files: lock.paths().to_vec() };
        let hub = Arc::new(Hub {
            routes: routes(&options, &identity),
            identity,
            sessions: Sessions::default(),
            http_places: Arc::new(Semaphore::new(MAX_HTTP)),
            shutdown: watch::Sender::new(None),
            services: Arc::new(Services::new(options, editor)),
        });
        let handle = ServerHandle { hub: Arc::clone(&hub), info: Arc::new(info), name: lock.name() };
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
            hub.sessions.ended(deadline).await;
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

fn routes(options: &ServerOptions, identity: &Identity) -> Routes {
    let mut routes = vec![Route::ide(identity.token(), Arc::new(Endpoint::ide(options)))];
    if options.serves_agents {
        routes.push(Route::nvim(identity, Arc::new(Endpoint::nvim(options))));
    }
    Routes::new(routes)
}

/// Takes connections for ever.
async fn accept(hub: &Arc<Hub>, listener: &tokio::net::TcpListener, connections: &mut JoinSet<()>) {
    let mut at_door: VecDeque<(AbortHandle, Arc<AtomicBool>)> = VecDeque::new();
    loop {
        tokio::select! {
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended
                    && !error.is_cancelled()
                {
                    tracing::error!(%error, "a connection failed");
                }
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    at_door.retain(|(task, is_in)| !task.is_finished() && !is_in.load(Ordering::Relaxed));
                    if at_door.len() >= MAX_AT_DOOR
                        && let Some((longest, _)) = at_door.pop_front()
                    {
                        longest.abort();
                    }
                    let is_in = Arc::new(AtomicBool::new(false));
                    let task = connections.spawn(connection::serve(Arc::clone(hub), stream, peer, Arc::clone(&is_in)));
                    at_door.push_back((task, is_in));
                }
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

/// The port of last time if there was one, else as configured.
fn listen(options: &ServerOptions, identity: &Identity) -> Result<TcpListener, ServerError> {
    if let Some(listener) = identity.kept(&options.host, |port| is_configured(options, port))? {
        return Ok(listener);
    }
    let bind = |port: u16| bind(&options.host, port);
    let failed = |port: String| move |source| ServerError::Bind { host: options.host.clone(), port, source };
    let listener = match &options.port_range {
        Some(range) => first_free(range, bind).map_err(failed(format!("{}-{}", range.start(), range.end()))),
        None => bind(options.port).map_err(failed(options.port.to_string())),
    }?;
    identity.keep(&options.host, &listener)?;
    Ok(listener)
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

    /// Says which tools of an endpoint can run now, of those that cannot always, and which of [`lsp_methods`](crate::lsp_methods)
    /// are served. Its clients are told where they see another list then.
    pub fn set_able(&self, endpoint: &str, able: BTreeSet<String>) {
        if let Some(endpoint) = self.hub.routes.endpoint(endpoint)
            && endpoint.set_able(able)
        {
            self.hub.services.notifier.list_changed(endpoint.name, TOOLS_CHANGED);
        }
    }

    /// There are other resources than before. The clients of the agents' endpoint are told.
    pub fn resources_changed(&self) {
        self.hub.services.notifier.list_changed(NVIM, RESOURCES_CHANGED);
    }

    /// What an agent must show, where there is a door for agents.
    #[must_use]
    pub fn agents_token(&self) -> Option<AuthToken> {
        self.hub.routes.endpoint(NVIM).map(|_| self.hub.identity.agents_token())
    }

    /// What a program that the editor starts must show, where there is a door for agents. It is good for the process that
    /// shows it first, where the system tells which that is; clients are known by the name.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn begin_run(&self, name: &str) -> Result<Option<AuthToken>, ServerError> {
        self.hub.routes.endpoint(NVIM).map(|_| self.hub.identity.begin_run(name)).transpose()
    }

    /// Announces other folders or another name. The discovery file is rewritten soon.
    pub fn set_workspace(&self, workspace: Workspace) {
        self.hub.services.workspace.send_replace(workspace);
    }

    /// Ends the connection of a client. A Claude Code CLI is told not to connect again until it is asked to; the rest see
    /// a goodbye like any other.
    ///
    /// # Errors
    /// The client is gone.
    pub fn disconnect(&self, client: ClientId) -> Result<(), NotifyError> {
        self.hub.services.notifier.send_away(client)
    }

    /// How the server is doing.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        let notifier = &self.hub.services.notifier;
        let (in_flight, queued_bytes) = notifier.load();
        ServerStatus {
            port: self.info.port,
            clients: notifier.infos(),
            in_flight,
            queued_bytes,
            ide_name: self.name.get(),
            knows_processes: claude_ide_system::peer::is_known(),
        }
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
