//! The facade's two ends, and what holds the connections together: [`Server`] runs on the runtime, [`ServerHandle`] is
//! what the editor holds.

use std::{
    collections::BTreeSet,
    net::TcpListener,
    ops::RangeInclusive,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use claude_ide_http::{self as http, Limits, Secret, stopping};
use rand::{TryRng as _, rngs::SysRng};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{
    sync::{Semaphore, watch},
    time::timeout_at,
};

use crate::{
    announce::announce,
    connection::{Hub, Visit},
    door::{Route, Routes},
    editor::{ClientId, ClientInfo, Editor},
    endpoint::{Endpoint, NVIM},
    error::{NotifyError, ServerError},
    http::Sessions,
    lock_file::{IdeName, LockFile},
    options::{Identity, ServerOptions, Workspace},
    router::Services,
};

/// How many connections may be in the middle of their handshake, or on their way out.
const MAX_STRANGERS: usize = 64;
/// How many connections clients that speak HTTP may have. Each has two, and one for each call that takes a while.
const MAX_HTTP: usize = 256;
/// How long a connection that asks for nothing is kept, and one that does not read.
const IDLE_TIME: Duration = Duration::from_secs(60);
const STALL_TIME: Duration = Duration::from_secs(30);

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
        let announcing = tokio::spawn(announce(lock, workspace, hub.shutdown.subscribe()));
        let limits = Limits {
            // Each endpoint has a place for each of its clients.
            connections: usize::MAX,
            strangers: MAX_STRANGERS,
            handshake: hub.services.options.handshake_timeout,
            idle: IDLE_TIME,
            stall: STALL_TIME,
        };
        let visit = |caller| Arc::new(Visit::new(Arc::clone(&hub), caller));
        let mut shutdown = hub.shutdown.subscribe();
        let sessions = async {
            let deadline = stopping(&mut shutdown).await;
            hub.sessions.ended(deadline).await;
        };
        tokio::join!(http::serve(listener, limits, hub.shutdown.subscribe(), visit), sessions);
        // It ends by itself; whether it panicked is in the log.
        let deadline = hub.shutdown.borrow().unwrap_or_else(Instant::now);
        drop(timeout_at(deadline.into(), announcing).await);
        tracing::info!("stopped");
    }
}

fn routes(options: &ServerOptions, identity: &Identity) -> Routes {
    let mut routes = vec![Route::ide(identity, Endpoint::ide(options))];
    if options.serves_agents {
        routes.push(Route::nvim(identity, Endpoint::nvim(options)));
    }
    Routes::new(routes, &options.host)
}

/// The port of last time if there was one, else as configured.
fn listen(options: &ServerOptions, identity: &Identity) -> Result<TcpListener, ServerError> {
    if let Some(listener) = identity.kept(&options.host, |port| is_configured(options, port))? {
        return Ok(listener);
    }
    let (ports, named) = match &options.port_range {
        Some(range) => (shuffled(range), format!("{}-{}", range.start(), range.end())),
        None => (vec![options.port], options.port.to_string()),
    };
    let failed = |source| ServerError::Bind { host: options.host.clone(), port: named, source };
    let listener = http::bind(&options.host, ports).map_err(failed)?;
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

/// Every port of the range once, from a random one on.
fn shuffled(range: &RangeInclusive<u16>) -> Vec<u16> {
    let mut ports: Vec<u16> = range.clone().collect();
    let number = SysRng.try_next_u32().ok().and_then(|number| usize::try_from(number).ok());
    let start = number.and_then(|number| number.checked_rem(ports.len()));
    ports.rotate_left(start.unwrap_or(0));
    ports
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
    pub fn agents_token(&self) -> Option<Secret> {
        self.hub.routes.endpoint(NVIM).map(|_| self.hub.identity.agents_token())
    }

    /// What a program that the editor starts must show, where there is a door for agents. It is good for the process that
    /// shows it first, where the system tells which that is; clients are known by the name.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn begin_run(&self, name: &str) -> Result<Option<Secret>, ServerError> {
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
