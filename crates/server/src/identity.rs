//! The server's identity across restarts, and the rights of those who show a secret of it.

use std::{
    io,
    net::TcpListener,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claude_ide_http::{Keys, Secret};
use claude_ide_system::peer::{Owner, Process};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::{
    discovery::companions::COMPANIONS, editor::ClientId, endpoint::Endpoint, endpoint_name::IDE, error::ServerError,
};

/// The JetBrains document, "Authentication Token Generation".
const TOKEN_BYTES: usize = 64;
/// For how long a CLI tries to connect again: five times in 13 s (2.1.329).
const RECONNECTS: Duration = Duration::from_secs(15);
/// Limit of agents' runs with a valid secret; the oldest are dropped.
const MAX_RUNS: usize = 256;
/// Limit of the live clients that are left to the next Neovim.
const MAX_KNOWN: usize = 64;

/// The server's identity across restarts: its tokens, its port, and unique client ids.
///
/// Created once per process. A CLI that lost its connection reconnects to the same port with the same token. So the
/// port stays bound from its first use until another one replaces it, also while no server runs; connections wait.
/// Otherwise another process could take the port and receive the tokens. A server on another port has other tokens, and
/// so has the next Neovim on the same port: it knows our clients by their processes (`discovery/handover`).
#[derive(Debug, Clone)]
pub struct Identity {
    inner: Arc<IdentityInner>,
}

#[derive(Debug)]
struct IdentityInner {
    state: Mutex<IdentityState>,
    clients: AtomicU64,
    known_changed: Notify,
}

#[derive(Debug)]
struct IdentityState {
    secrets: Secrets,
    /// The configured host, and the listener since a server was first bound.
    kept: Option<(String, TcpListener)>,
    runs: Keys<Arc<Run>>,
    /// Clients that the next Neovim admits, see [`crate::discovery::handover`].
    known: Vec<Known>,
    /// Those of the last Neovim among them, which hold its tokens, with their runs.
    inherited: Vec<(Known, Option<Arc<Run>>)>,
}

#[derive(Debug)]
struct Secrets {
    token: Secret,
    /// For agents: it is distributed differently from the lock file's, and valid for another endpoint.
    agents_token: Secret,
    /// One for each of [`COMPANIONS`].
    companions: Vec<Secret>,
}

fn not_bound(host: &str, source: io::Error) -> ServerError {
    ServerError::Bind { host: host.to_owned(), port: "?".to_owned(), source }
}

fn random() -> Result<Secret, ServerError> {
    Secret::random::<TOKEN_BYTES>().map_err(ServerError::Random)
}

impl Secrets {
    fn generate() -> Result<Self, ServerError> {
        let companions = COMPANIONS.iter().map(|_| random()).collect::<Result<_, _>>()?;
        Ok(Self { token: random()?, agents_token: random()?, companions })
    }
}

impl Identity {
    /// Creates an identity.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn generate() -> Result<Self, ServerError> {
        let secrets = Secrets::generate()?;
        let state =
            IdentityState { secrets, kept: None, runs: Keys::new(MAX_RUNS), known: Vec::new(), inherited: Vec::new() };
        let (state, clients, known_changed) = (Mutex::new(state), AtomicU64::new(0), Notify::new());
        Ok(Self { inner: Arc::new(IdentityInner { state, clients, known_changed }) })
    }

    fn state(&self) -> MutexGuard<'_, IdentityState> {
        // A panic cannot leave this state half-changed, so a poisoned lock is fine.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The port of the last server, if there was one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.state().kept.as_ref().and_then(|(_, listener)| Some(listener.local_addr().ok()?.port()))
    }

    /// The last server's listener, if it was bound for this host and its port is one of `these`. Otherwise the port is
    /// released, and the tokens are replaced: another process that binds it receives useless ones.
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
        state.known.clear();
        state.inherited.clear();
        state.kept = None;
        Ok(None)
    }

    /// Keeps a port bound from now on.
    ///
    /// # Errors
    /// The system has no file descriptor.
    pub(crate) fn keep(&self, host: &str, listener: &TcpListener) -> Result<(), ServerError> {
        let listener = listener.try_clone().map_err(|source| not_bound(host, source))?;
        self.state().kept = Some((host.to_owned(), listener));
        Ok(())
    }

    /// This process ends: other users are kept from the port while clients of it try to come back.
    pub(crate) fn hold_port(&self) {
        let is_awaited = self.known().iter().any(|known| *known.endpoint == *IDE);
        let kept = self.state().kept.take();
        if let Some((_, listener)) = kept.filter(|_| is_awaited)
            && let Err(error) = claude_ide_http::hold(listener, RECONNECTS)
        {
            tracing::warn!(%error, "the port cannot be held for clients that come back");
        }
    }

    pub(crate) fn token(&self) -> Secret {
        self.state().secrets.token.clone()
    }

    pub(crate) fn agents_token(&self) -> Secret {
        self.state().secrets.agents_token.clone()
    }

    /// One for each of [`COMPANIONS`].
    pub(crate) fn companions(&self) -> Vec<Secret> {
        self.state().secrets.companions.clone()
    }

    /// Creates a secret for a run of an agent, valid at one endpoint.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub(crate) fn begin_run(&self, name: &str, endpoint: &str) -> Result<Secret, ServerError> {
        let secret = random()?;
        let run = Run { name: name.into(), endpoint: endpoint.into(), owner: Owner::default() };
        self.state().runs.add(secret.clone(), Arc::new(run));
        Ok(secret)
    }

    /// The run with this secret, if it is valid at the endpoint.
    pub(crate) fn run_of(&self, shown: &[u8], endpoint: &str) -> Option<Arc<Run>> {
        self.state().runs.find(shown).filter(|run| *run.endpoint == *endpoint).cloned()
    }

    /// The processes that own runs.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let state = self.state();
        let inherited = state.inherited.iter().filter_map(|(_, run)| run.as_ref());
        state.runs.opened().chain(inherited).flat_map(|run| run.owner.processes()).collect()
    }

    /// The clients that the next Neovim admits, without those that have ended.
    pub(crate) fn known(&self) -> Vec<Known> {
        self.state().known.iter().filter(|known| known.process.runs()).cloned().collect()
    }

    /// Adds a client to them.
    pub(crate) fn remember(&self, client: Known) {
        let known = &mut self.state().known;
        known.retain(|one| one.process.runs());
        // The name of a run of the last Neovim stays.
        let is_known = known.iter().any(|one| one.process == client.process && one.endpoint == client.endpoint);
        if !is_known && known.len() < MAX_KNOWN {
            known.push(client);
        }
        self.inner.known_changed.notify_one();
    }

    /// Admits the clients of the last Neovim, and leaves them to the next one.
    pub(crate) fn inherit(&self, clients: Vec<Known>) {
        let mut state = self.state();
        state.known.clone_from(&clients);
        state.inherited = clients.into_iter().map(|known| (known.clone(), known.into_run().map(Arc::new))).collect();
        drop(state);
        self.inner.known_changed.notify_one();
    }

    /// Whether there are any of the last Neovim.
    pub(crate) fn has_inherited(&self) -> bool {
        !self.state().inherited.is_empty()
    }

    /// The rights of a client of the last Neovim at an endpoint.
    pub(crate) fn access_of(&self, process: Process, endpoint: &str) -> Option<Access> {
        let state = self.state();
        let mut inherited = state.inherited.iter();
        let (_, run) = inherited.find(|(known, _)| known.process == process && *known.endpoint == *endpoint)?;
        Some(Access { run: run.clone(), program: None })
    }

    /// Neither admits a process nor leaves it to the next Neovim.
    pub(crate) fn forget(&self, process: Process) {
        let mut state = self.state();
        state.known.retain(|one| one.process != process);
        state.inherited.retain(|(one, _)| one.process != process);
        drop(state);
        self.inner.known_changed.notify_one();
    }

    /// Waits until they change.
    pub(crate) async fn known_changed(&self) {
        self.inner.known_changed.notified().await;
    }

    pub(crate) fn next_client(&self) -> ClientId {
        ClientId::new(self.inner.clients.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}

/// A program started by the editor, with its own secret.
#[derive(Debug)]
pub(crate) struct Run {
    /// The editor's name for it.
    pub(crate) name: Box<str>,
    /// The name of the endpoint at which its secret is valid.
    endpoint: Box<str>,
    /// The process that owns the secret.
    pub(crate) owner: Owner,
}

/// The rights of a client with a valid token.
pub(crate) struct Access {
    /// The run to which its token belongs.
    pub(crate) run: Option<Arc<Run>>,
    /// The program to which its token belongs.
    pub(crate) program: Option<&'static str>,
}

/// A client that the next server admits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) process: Process,
    /// The endpoint's name.
    pub(crate) endpoint: Box<str>,
    /// The name of its run.
    pub(crate) run: Option<Box<str>>,
}

impl Known {
    pub(crate) fn new(process: Process, endpoint: &Endpoint, access: &Access) -> Self {
        let run = access.run.as_ref().map(|run| run.name.clone());
        Self { process, endpoint: endpoint.name.into(), run }
    }

    /// Its run in the next server, which has runs of the same names.
    pub(crate) fn into_run(self) -> Option<Run> {
        let name = format!("{} of the last Neovim", self.run?).into();
        Some(Run { name, endpoint: self.endpoint, owner: Owner::of(self.process) })
    }
}
