//! How a server is set up, and what stays the same when it is started again.

use std::{
    collections::BTreeSet,
    ops::RangeInclusive,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::Deserialize;

use crate::{editor::ClientId, error::ServerError, token::AuthToken};

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
    /// It is shown as a diff, and written when a person has accepted it.
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

/// What makes a server the same one after a restart: its token, its port, and that no client id is used twice.
///
/// Made once per process. A CLI that lost its connection comes back to the same port with the same token.
#[derive(Debug, Clone)]
pub struct Identity {
    inner: Arc<IdentityInner>,
}

#[derive(Debug)]
struct IdentityInner {
    token: AuthToken,
    /// Of the agents: it goes other ways than the lock file, and opens another door.
    agents_token: AuthToken,
    /// 0 until a server was bound.
    port: AtomicU16,
    clients: AtomicU64,
}

impl Identity {
    /// Makes a new identity.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn generate() -> Result<Self, ServerError> {
        let inner = IdentityInner {
            token: AuthToken::generate()?,
            agents_token: AuthToken::generate()?,
            port: AtomicU16::new(0),
            clients: AtomicU64::new(0),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The port of the last server, if there was one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        Some(self.inner.port.load(Ordering::Relaxed)).filter(|&port| port != 0)
    }

    pub(crate) fn set_port(&self, port: u16) {
        self.inner.port.store(port, Ordering::Relaxed);
    }

    pub(crate) fn token(&self) -> &AuthToken {
        &self.inner.token
    }

    pub(crate) fn agents_token(&self) -> &AuthToken {
        &self.inner.agents_token
    }

    pub(crate) fn next_client(&self) -> ClientId {
        ClientId::new(self.inner.clients.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}
