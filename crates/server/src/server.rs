//! The public interface: [`Server`] runs on the runtime, [`ServerHandle`] belongs to the editor.

use std::{
    collections::BTreeSet,
    net::TcpListener,
    ops::RangeInclusive,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
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
    connection::Visit,
    discovery::{
        announce::announce,
        companions,
        handover::{self, Handover},
        lock_file::{IdeName, LockFile},
    },
    editor::{ClientId, ClientInfo, Editor},
    endpoint::Endpoint,
    endpoint_name::{IDE, NVIM},
    error::{NotifyError, ServerError},
    http::Sessions,
    identity::Identity,
    offered::Offers,
    options::{ServerOptions, Workspace},
    request::Services,
    routes::{Route, Routes},
    shared::Shared,
};

/// Limit of connections within their handshake or close.
const MAX_STRANGERS: usize = 64;
/// Limit of HTTP clients' connections. Each client has two, and one for each long call.
const MAX_HTTP: usize = 256;
/// Timeouts of an idle connection, and of one that does not read.
const IDLE_TIME: Duration = Duration::from_secs(60);
const STALL_TIME: Duration = Duration::from_secs(30);

/// MCP, "List Changed Notification".
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// A server that listens and is announced, but does not answer yet.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    lock: LockFile,
    handover: Handover,
    /// Created with the lock file, so that a change before `run` is not missed.
    workspace: watch::Receiver<Workspace>,
}

/// Controls a running server; never blocks.
#[derive(Clone)]
pub struct ServerHandle {
    shared: Arc<Shared>,
    info: Arc<ServerInfo>,
    name: IdeName,
}

/// The server's address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerInfo {
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The written discovery files.
    pub lock_files: Vec<PathBuf>,
}

/// The server's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    /// Its port.
    pub port: u16,
    /// The connected clients, in order of connection.
    pub clients: Vec<ClientInfo>,
    /// The number of unanswered requests.
    pub in_flight: usize,
    /// The number of queued bytes.
    pub queued_bytes: usize,
    /// The editor's name in the discovery file: the configured one, made unique.
    pub ide_name: String,
    /// Whether the system shows which process connects.
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
        let mut lock = LockFile::create(&options, &identity.token(), port)?;
        if let Some(places) = &options.companions {
            let tokens = identity.companions();
            lock.companions =
                companions::Files::create(places, &tokens, &options.server_name, port, &options.workspace);
        }
        tracing::info!(host = options.host, port, "listening");
        let info = ServerInfo { host: options.host.clone(), port, lock_files: lock.all().cloned().collect() };
        let shared = Arc::new(Shared {
            routes: routes(&options, &identity),
            identity,
            http_places: Arc::new(Semaphore::new(MAX_HTTP)),
            shutdown: watch::Sender::new(None),
            is_exiting: AtomicBool::new(false),
            services: Arc::new(Services::new(options, editor)),
        });
        let handover = Handover::new(&shared.services.options, shared.identity.clone(), port);
        let handle = ServerHandle { shared: Arc::clone(&shared), info: Arc::new(info), name: lock.name() };
        let workspace = shared.services.workspace.subscribe();
        Ok((Self { listener, shared, lock, handover, workspace }, handle))
    }

    /// Serves until [`ServerHandle::shutdown`]. Needs a `current_thread` runtime with I/O and time; disk work runs on
    /// its blocking threads.
    pub async fn run(self) {
        let Self { listener, shared, lock, handover, workspace } = self;
        let announcing = tokio::spawn(announce(lock, handover, workspace, shared.shutdown.subscribe()));
        let limits = Limits {
            // Each endpoint limits its own clients.
            connections: usize::MAX,
            strangers: MAX_STRANGERS,
            handshake: shared.services.options.handshake_timeout,
            idle: IDLE_TIME,
            stall: STALL_TIME,
        };
        let sessions = Arc::new(Sessions::default());
        let visit = |caller| Arc::new(Visit::new(Arc::clone(&shared), Arc::clone(&sessions), caller));
        let mut shutdown = shared.shutdown.subscribe();
        let ended = async {
            let deadline = stopping(&mut shutdown).await;
            sessions.ended(deadline).await;
        };
        tokio::join!(http::serve(listener, limits, shared.shutdown.subscribe(), visit), ended);
        // It ends by itself; a panic is in the log.
        let deadline = shared.shutdown.borrow().unwrap_or_else(Instant::now);
        drop(timeout_at(deadline.into(), announcing).await);
        tracing::info!("stopped");
    }
}

fn routes(options: &ServerOptions, identity: &Identity) -> Routes {
    let mut routes = vec![Route::ide(identity, Endpoint::ide(options))];
    if options.serves_agents {
        routes.push(Route::nvim(identity, Endpoint::nvim(options)));
    }
    if options.companions.is_some() {
        routes.push(Route::companions(identity, Endpoint::companion(options)));
    }
    routes.push(Route::mods(identity, Endpoint::mods(options)));
    Routes::new(routes, &options.host)
}

/// The last port if there was one, also of the last Neovim; else a configured one.
fn listen(options: &ServerOptions, identity: &Identity) -> Result<TcpListener, ServerError> {
    let is_configured = |port| is_configured(options, port);
    if let Some(listener) = identity.kept(&options.host, is_configured)? {
        return Ok(listener);
    }
    if let Some((listener, clients)) = handover::take(options, is_configured) {
        identity.keep(&options.host, &listener)?;
        identity.inherit(clients);
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

/// Whether the configuration, which may have changed, allows the port.
fn is_configured(options: &ServerOptions, port: u16) -> bool {
    match &options.port_range {
        Some(range) => range.contains(&port),
        None => options.port == 0 || options.port == port,
    }
}

/// Every port of the range once, starting at a random one.
fn shuffled(range: &RangeInclusive<u16>) -> Vec<u16> {
    let mut ports: Vec<u16> = range.clone().collect();
    let number = SysRng.try_next_u32().ok().and_then(|number| usize::try_from(number).ok());
    let start = number.and_then(|number| number.checked_rem(ports.len()));
    ports.rotate_left(start.unwrap_or(0));
    ports
}

impl ServerHandle {
    /// Sends a notification to one client, or to all that are ready. `selection_changed` is also cached, for clients
    /// that connect later and for the selection tools.
    ///
    /// # Errors
    /// The client is gone or does not read, or the notification is too large.
    pub fn notify(&self, method: &str, params: Box<RawValue>, to: Option<ClientId>) -> Result<(), NotifyError> {
        self.shared.services.notifier.notify(method, params, to)
    }

    /// Sets which conditional tools of an endpoint are available, and which of [`lsp_methods`](crate::lsp_methods) are
    /// supported. Clients are notified if their list changed.
    pub fn set_available(&self, endpoint: &str, available: BTreeSet<String>) {
        if let Some(endpoint) = self.shared.routes.endpoint(endpoint)
            && endpoint.set_available(available)
        {
            self.shared.services.notifier.list_changed(endpoint.name, TOOLS_CHANGED);
        }
    }

    /// Replaces the resources and prompts. Clients are notified of changes; returns the names of the lists that changed.
    #[must_use]
    pub fn set_offers(&self, offers: &Offers) -> Vec<&'static str> {
        let services = &self.shared.services;
        let changed = services.offered.set(offers);
        for (list, endpoint) in changed.iter().flat_map(|list| [(list, IDE), (list, NVIM)]) {
            services.notifier.list_changed(endpoint, &format!("notifications/{list}/list_changed"));
        }
        changed
    }

    /// The token for agents, if there is an endpoint for them.
    #[must_use]
    pub fn agents_token(&self) -> Option<Secret> {
        self.shared.routes.endpoint(NVIM).map(|_| self.shared.identity.agents_token())
    }

    /// Creates a secret for a program that the editor starts, if there is such an endpoint (`nvim` or `mod`), the only one
    /// where it is valid. The process that presents it first owns it, if the system shows processes; its clients carry the
    /// name.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn begin_run(&self, name: &str, endpoint: &str) -> Result<Option<Secret>, ServerError> {
        self.shared.routes.endpoint(endpoint).map(|_| self.shared.identity.begin_run(name, endpoint)).transpose()
    }

    /// Changes the folders or the name. The discovery file is updated soon.
    pub fn set_workspace(&self, workspace: Workspace) {
        self.shared.services.workspace.send_replace(workspace);
    }

    /// Disconnects a client. A Claude Code CLI is asked not to reconnect by itself; others get an ordinary close.
    ///
    /// # Errors
    /// The client is gone.
    pub fn disconnect(&self, client: ClientId) -> Result<(), NotifyError> {
        self.shared.services.notifier.send_away(client)
    }

    /// The server's state.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        let notifier = &self.shared.services.notifier;
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

    /// Stops the server: sends settled responses, closes clients with 1001, removes the discovery file. [`Server::run`]
    /// returns when that is done, at the latest after `deadline`.
    pub fn shutdown(&self, deadline: Duration) {
        let now = Instant::now();
        self.shared.shutdown.send_replace(Some(now.checked_add(deadline).unwrap_or(now)));
    }

    /// [`Self::shutdown`] of an editor that exits. Clients that no later server would admit are asked not to come back.
    pub fn exit(&self, deadline: Duration) {
        self.shared.is_exiting.store(true, Ordering::Relaxed);
        self.shutdown(deadline);
    }

    /// The process ends: keeps other users from the port while clients try to come back.
    pub fn hold_port(&self) {
        self.shared.identity.hold_port();
    }

    /// The server's address.
    #[must_use]
    pub fn info(&self) -> &ServerInfo {
        &self.info
    }
}
