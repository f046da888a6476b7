//! Limits of connections, and the request to stop serving them.

use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at one time.
    pub connections: usize,
    /// Connections that have not shown a secret.
    pub strangers: usize,
    /// Time until the first request must have arrived.
    pub handshake: Duration,
    /// Time until an idle connection is closed.
    pub idle: Duration,
    /// Time until a connection that does not read is closed.
    pub stall: Duration,
}

/// The deadline of the shutdown, once it is requested.
pub type Stop = watch::Receiver<Option<Instant>>;

/// Waits for the shutdown request; returns its deadline.
pub async fn stopping(stop: &mut Stop) -> Instant {
    let deadline = stop.wait_for(Option::is_some).await;
    deadline.ok().and_then(|deadline| *deadline).unwrap_or_else(Instant::now)
}
