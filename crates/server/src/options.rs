//! How a server is set up, and what stays the same when it is started again.

use std::{
    collections::BTreeSet,
    io,
    net::TcpListener,
    ops::RangeInclusive,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::Deserialize;

use claude_ide_http::{Keys, Secret};
use claude_ide_system::peer::{Owner, Process};

use crate::{door::Run, editor::ClientId, error::ServerError};

/// Seed 001, "Authentication Token Generation".
const TOKEN_BYTES: usize = 64;
/// So many runs of agents may come back; the oldest are forgotten.
const MAX_RUNS: usize = 256;

/// What the user may configure, complete.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address to listen on; anything but loopback only where the user said so.
    pub host: String,
    /// The port; 0 for any free one.
    pub port: u16,
    /// Take the port from this range instead, the first free one in random order.
    pub port_range: Option<RangeInclusive<u16>>,
    /// Where the discovery file is written: one in each folder.
    pub lock_dirs: Vec<PathBuf>,
    /// What the discovery file says of the editor.
    pub workspace: Workspace,
    /// `serverInfo.name`; also marks discovery files as ours.
    pub server_name: String,
    /// `serverInfo.version`.
    pub version: String,
    /// How long a connection may take to say who it is.
    pub handshake_timeout: Duration,
    /// How long a client may take to tell its folders before it counts as ready without.
    pub roots_timeout: Duration,
    /// How long a client that speaks HTTP may stay away before what it asked for is cancelled.
    pub session_timeout: Duration,
    /// How many clients may be connected.
    pub max_connections: usize,
    /// How large a message of a client may be, and a file that is read for it.
    pub max_message_bytes: usize,
    /// How it is noticed that a client is gone.
    pub keepalive: Keepalive,
    /// Tools that are neither listed nor served, by the name that clients use.
    pub hidden_tools: BTreeSet<String>,
    /// What becomes of `writeFile`.
    pub write_file: WriteFile,
    /// Whether there is a door for agents.
    pub serves_agents: bool,
}

/// What becomes of `writeFile`, with which a client changes a file without being asked to propose the change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteFile {
    /// It is shown as a diff, and written when a user has accepted it.
    #[default]
    Review,
    /// It is written at once.
    Allow,
    /// There is no such method.
    Off,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            port_range: None,
            lock_dirs: Vec::new(),
            workspace: Workspace::default(),
            server_name: "claude-ide".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            handshake_timeout: Duration::from_secs(5),
            roots_timeout: Duration::from_millis(300),
            session_timeout: Duration::from_secs(15 * 60),
            max_connections: 16,
            max_message_bytes: 64 << 20,
            keepalive: Keepalive::default(),
            hidden_tools: BTreeSet::new(),
            write_file: WriteFile::default(),
            serves_agents: false,
        }
    }
}

/// How it is noticed that a client is gone.
#[derive(Debug, Clone)]
pub struct Keepalive {
    /// How often a quiet client is asked for a sign of life.
    pub interval: Duration,
    /// How long after that it may stay wholly silent. Any byte it sends counts, so one that is merely busy is kept.
    pub timeout: Duration,
    /// Ask by MCP `ping` too, not by WebSocket ping alone.
    pub mcp_ping: bool,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(30), timeout: Duration::from_secs(90), mcp_ping: true }
    }
}

/// What the discovery file says of the editor; may change while the server runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workspace {
    /// The folders that the user works in, absolute; the first is the main one.
    pub folders: Vec<PathBuf>,
    /// The name that the CLI shows.
    pub ide_name: String,
}

/// What makes a server the same one after a restart: its tokens, its port, and that no client id is used twice.
///
/// Made once per process. A CLI that lost its connection comes back to the same port with the same token. So the port is kept
/// from when it was first bound until another one takes its place: it stays open while no server runs, and what connects
/// waits. Otherwise another process could take it and be shown the tokens. A server that gets another port has other tokens.
#[derive(Debug, Clone)]
pub struct Identity {
    inner: Arc<IdentityInner>,
}

#[derive(Debug)]
struct IdentityInner {
    state: Mutex<IdentityState>,
    clients: AtomicU64,
}

#[derive(Debug)]
struct IdentityState {
    secrets: Secrets,
    /// The configured host, and what listens there since a server was first bound.
    kept: Option<(String, TcpListener)>,
    runs: Keys<Arc<Run>>,
}

#[derive(Debug)]
struct Secrets {
    token: Secret,
    /// Of the agents: it goes other ways than the lock file, and opens another door.
    agents_token: Secret,
}

fn not_bound(host: &str, source: io::Error) -> ServerError {
    ServerError::Bind { host: host.to_owned(), port: "?".to_owned(), source }
}

fn random() -> Result<Secret, ServerError> {
    Secret::random::<TOKEN_BYTES>().map_err(ServerError::Random)
}

impl Secrets {
    fn generate() -> Result<Self, ServerError> {
        Ok(Self { token: random()?, agents_token: random()? })
    }
}

impl Identity {
    /// Makes a new identity.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn generate() -> Result<Self, ServerError> {
        let state = IdentityState { secrets: Secrets::generate()?, kept: None, runs: Keys::new(MAX_RUNS) };
        Ok(Self { inner: Arc::new(IdentityInner { state: Mutex::new(state), clients: AtomicU64::new(0) }) })
    }

    fn state(&self) -> MutexGuard<'_, IdentityState> {
        // Every change is complete before anything that could panic.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The port of the last server, if there was one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.state().kept.as_ref().and_then(|(_, listener)| Some(listener.local_addr().ok()?.port()))
    }

    /// What listens on the port of the last server, if that was bound for this host and its port is one of `these`. Otherwise
    /// the port is given up: whoever binds it now is shown tokens that open nothing any more.
    ///
    /// # Errors
    /// The system has no random bytes, or no file descriptor.
    pub(crate) fn kept(&self, host: &str, these: impl Fn(u16) -> bool) -> Result<Option<TcpListener>, ServerError> {
        let mut state = self.state();
        let Some((known, listener)) = state.kept.as_ref() else { return Ok(None) };
        if known == host && listener.local_addr().is_ok_and(|address| these(address.port())) {
            return listener.try_clone().map(Some).map_err(|source| not_bound(host, source));
        }
        state.secrets = Secrets::generate()?;
        state.runs = Keys::new(MAX_RUNS);
        state.kept = None;
        Ok(None)
    }

    /// Keeps a port from now on.
    ///
    /// # Errors
    /// The system has no file descriptor.
    pub(crate) fn keep(&self, host: &str, listener: &TcpListener) -> Result<(), ServerError> {
        let listener = listener.try_clone().map_err(|source| not_bound(host, source))?;
        self.state().kept = Some((host.to_owned(), listener));
        Ok(())
    }

    pub(crate) fn token(&self) -> Secret {
        self.state().secrets.token.clone()
    }

    pub(crate) fn agents_token(&self) -> Secret {
        self.state().secrets.agents_token.clone()
    }

    /// Makes a secret for a run of an agent.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub(crate) fn begin_run(&self, name: &str) -> Result<Secret, ServerError> {
        let secret = random()?;
        self.state().runs.add(secret.clone(), Arc::new(Run { name: name.into(), owner: Owner::default() }));
        Ok(secret)
    }

    /// The run whose secret this is.
    pub(crate) fn run_of(&self, shown: &[u8]) -> Option<Arc<Run>> {
        self.state().runs.find(shown).cloned()
    }

    /// The processes that runs belong to.
    pub(crate) fn processes(&self) -> Vec<Process> {
        self.state().runs.opened().filter_map(|run| run.owner.process()).collect()
    }

    pub(crate) fn next_client(&self) -> ClientId {
        ClientId::new(self.inner.clients.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}
