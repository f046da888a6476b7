//! The listener: accepts connections, serves each to its end, and ends them all when it stops.

use std::collections::VecDeque;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use claude_ide_system::process::max_descriptors;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet, yield_now};
use tokio::time::{sleep, timeout_at};

use crate::connection::{Caller, Visit, converse};
use crate::limits::{Limits, Stop, stopping};

/// Pause when the system has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until the shutdown is requested, then until all have ended or the deadline passes. `visit` makes
/// the handler of a connection.
pub async fn serve<V: Visit>(
    listener: StdListener,
    limits: Limits,
    mut stop: Stop,
    visit: impl Fn(Arc<Caller>) -> Arc<V>,
) {
    let limits = Limits { strangers: limits.strangers.min(max_strangers()), ..limits };
    let mut connections = JoinSet::new();
    match TcpListener::from_std(listener) {
        Ok(listener) => accept(&listener, limits, &mut stop, visit, &mut connections).await,
        Err(error) => tracing::error!(%error, "could not register the listener with the runtime"),
    }
    let deadline = stop.borrow().unwrap_or_else(Instant::now);
    let rest = async { while connections.join_next().await.is_some() {} };
    if timeout_at(deadline.into(), rest).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

/// A quarter of the descriptors that this process may have.
fn max_strangers() -> usize {
    let quarter = max_descriptors().map(|most| most / 4);
    quarter.and_then(|quarter| usize::try_from(quarter).ok()).unwrap_or(usize::MAX).max(1)
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
    let mut is_failing = false;
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
                if !is_failing {
                    tracing::warn!(%error, "could not accept a connection");
                }
                is_failing = true;
                // There may be no descriptor left: a stranger gives up its own.
                match end_a_stranger(&mut callers) {
                    true => yield_now().await,
                    false => sleep(PAUSE).await,
                }
                continue;
            }
        };
        is_failing = false;
        callers.retain(|(task, _)| !task.is_finished());
        let strangers = callers.iter().filter(|(_, caller)| !caller.is_known()).count();
        if (strangers >= limits.strangers || callers.len() >= limits.connections) && !end_a_stranger(&mut callers) {
            refuse(&stream);
            continue;
        }
        let caller = Arc::new(Caller::new(&stream, peer));
        let task =
            connections.spawn(converse(stream, Arc::clone(&caller), visit(Arc::clone(&caller)), limits, stop.clone()));
        callers.push_back((task, caller));
    }
}

/// Ends the oldest connection that has not shown a secret, if there is one.
fn end_a_stranger(callers: &mut VecDeque<(AbortHandle, Arc<Caller>)>) -> bool {
    let oldest = callers.iter().position(|(task, caller)| !caller.is_known() && !task.is_finished());
    let ended = oldest.and_then(|oldest| callers.remove(oldest)).map(|(task, _)| task.abort());
    ended.is_some()
}

/// Sends 503 to a client beyond the limit, if its socket accepts that at once.
fn refuse(stream: &TcpStream) {
    let words = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    stream.try_write(words).ok();
}
