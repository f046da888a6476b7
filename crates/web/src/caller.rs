//! The other end of a connection: whether it showed a secret, and which process it is.

use std::net::SocketAddr;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use claude_ide_system::peer::{self, Owner, Process};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use crate::sessions::Sessions;

/// What all requests of a connection share.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) local: Option<SocketAddr>,
    peer: SocketAddr,
    is_in: AtomicBool,
    /// Nothing where the system does not tell.
    process: OnceCell<Option<Process>>,
}

impl Caller {
    pub(crate) fn new(stream: &TcpStream, peer: SocketAddr) -> Self {
        Self { local: stream.local_addr().ok(), peer, is_in: AtomicBool::new(false), process: OnceCell::new() }
    }

    /// Whether it showed a secret.
    pub(crate) fn is_in(&self) -> bool {
        self.is_in.load(Ordering::Relaxed)
    }

    /// It showed one.
    pub(crate) fn let_in(&self) {
        self.is_in.store(true, Ordering::Relaxed);
    }

    /// Whether it is the CLI that its secret was made for. A command of Claude's that has read the secret before the CLI used it
    /// is below a process that runs a session.
    pub(crate) async fn is_owner(&self, secret: &Owner, sessions: &Sessions) -> bool {
        let process = *self.process.get_or_init(|| self.find_process()).await;
        let above = process.map(|process| peer::ancestors(process.pid)).unwrap_or_default();
        let running = sessions.all_running();
        // Neovim itself may be below another CLI.
        let mut ours = above.iter().take_while(|one| one.pid != process::id());
        !ours.any(|one| running.iter().any(|session| session.pid == one.pid)) && secret.admits(process)
    }

    async fn find_process(&self) -> Option<Process> {
        let (local, peer) = (self.local?, self.peer);
        spawn_blocking(move || peer::of_connection(local, peer)).await.ok()?
    }
}
