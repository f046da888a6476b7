//! The listener: connections in, each served to its end, all of them ended with it.

use std::collections::VecDeque;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout_at};

use crate::connection::{Caller, Visit, converse};

/// How long to wait when the system has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// How many connections there may be, and how slow.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at one time.
    pub connections: usize,
    /// Such as have shown no secret.
    pub strangers: usize,
    /// How long the first request may take to arrive.
    pub handshake: Duration,
    /// How long a connection is kept that asks for nothing more.
    pub idle: Duration,
    /// How long a connection is kept that takes nothing.
    pub stall: Duration,
}

/// When everything must be gone, once it is told to stop.
pub type Stop = watch::Receiver<Option<Instant>>;

/// Waits until it is told to stop, and by when.
pub async fn stopping(stop: &mut Stop) -> Instant {
    let deadline = stop.wait_for(Option::is_some).await;
    deadline.ok().and_then(|deadline| *deadline).unwrap_or_else(Instant::now)
}

/// Serves what connects until it is told to stop, and then until every connection has ended, at the latest by the deadline. `visit`
/// makes what answers one of them.
pub async fn serve<V: Visit>(
    listener: StdListener,
    limits: Limits,
    mut stop: Stop,
    visit: impl Fn(Arc<Caller>) -> Arc<V>,
) {
    let mut connections = JoinSet::new();
    match TcpListener::from_std(listener) {
        Ok(listener) => accept(&listener, limits, &mut stop, visit, &mut connections).await,
        Err(error) => tracing::error!(%error, "nothing can be served: the runtime does not take the socket"),
    }
    let deadline = stop.borrow().unwrap_or_else(Instant::now);
    let rest = async { while connections.join_next().await.is_some() {} };
    if timeout_at(deadline.into(), rest).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

async fn accept<V: Visit>(
    listener: &TcpListener,
    limits: Limits,
    stop: &mut Stop,
    visit: impl Fn(Arc<Caller>) -> Arc<V>,
    connections: &mut JoinSet<()>,
) {
    let mut callers: VecDeque<(AbortHandle, Arc<Caller>)> = VecDeque::new();
    let mut stopped = stop.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopping(&mut stopped) => return,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended
                    && !error.is_cancelled()
                {
                    tracing::error!(%error, "a connection failed");
                }
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                sleep(PAUSE).await;
                continue;
            }
        };
        callers.retain(|(task, _)| !task.is_finished());
        let strangers = callers.iter().filter(|(_, caller)| !caller.is_known()).count();
        if strangers >= limits.strangers || callers.len() >= limits.connections {
            let oldest = callers.iter().position(|(_, caller)| !caller.is_known());
            let Some((task, _)) = oldest.and_then(|oldest| callers.remove(oldest)) else {
                refuse(&stream);
                continue;
            };
            task.abort();
        }
        let caller = Arc::new(Caller::new(&stream, peer));
        let task =
            connections.spawn(converse(stream, Arc::clone(&caller), visit(Arc::clone(&caller)), limits, stop.clone()));
        callers.push_back((task, caller));
    }
}

/// Tells a client that it is one too many, if its socket takes that at once.
fn refuse(stream: &TcpStream) {
    let words = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    stream.try_write(words).ok();
}

/// Ends every connection to a port on which nothing is served any more, until this is dropped.
pub async fn turn_away(port: StdListener) {
    match TcpListener::from_std(port) {
        Ok(listener) => loop {
            if listener.accept().await.is_err() {
                sleep(PAUSE).await;
            }
        },
        Err(error) => tracing::error!(%error, "a port is kept, and nothing answers there"),
    }
}
