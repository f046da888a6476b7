//! One connection from its first byte to its last: HTTP, which may become a WebSocket.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use claude_ide_system::peer::{self, Process};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::{consume_budget, spawn_blocking};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, frame::coding::CloseCode};

use crate::body::Body;
use crate::limits::{Limits, Stop, stopping};
use crate::refusal::Refusal;
use crate::wire::{Liveness, Wire};

/// More than any client sends: a token and a browser's headers take less than 2 KiB.
const MAX_HEADER_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// Time for a peer to read the last bytes before the close.
const GOODBYE: Duration = Duration::from_secs(1);

/// Handles the requests of one connection.
pub trait Visit: Send + Sync + 'static {
    /// Answers one request. The answer may upgrade the connection: [`crate::Policy::upgrade`].
    fn answer(self: Arc<Self>, request: Request<Incoming>) -> impl Future<Output = Response<Body>> + Send;

    /// Serves the upgraded connection to its end.
    fn upgraded(self: Arc<Self>, socket: Socket) -> impl Future<Output = ()> + Send;
}

/// The other end of a connection.
#[derive(Debug)]
pub struct Caller {
    local: Option<SocketAddr>,
    peer: SocketAddr,
    has_asked: AtomicBool,
    is_known: AtomicBool,
    /// `None` if the system does not show it.
    process: OnceCell<Option<Process>>,
}

impl Caller {
    pub(crate) fn new(stream: &TcpStream, peer: SocketAddr) -> Self {
        let (has_asked, is_known) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { local: stream.local_addr().ok(), peer, has_asked, is_known, process: OnceCell::new() }
    }

    /// The local address.
    #[must_use]
    pub fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// The remote address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Whether it has shown a secret.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Records that it has shown a secret.
    pub fn set_known(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// The process at the other end; `None` if the system does not show it.
    pub async fn process(&self) -> Option<Process> {
        let find = async || {
            let (local, peer) = (self.local?, self.peer);
            spawn_blocking(move || peer::of_connection(local, peer)).await.ok()?
        };
        *self.process.get_or_init(find).await
    }
}

/// A connection after its upgrade.
#[derive(Debug)]
pub struct Socket {
    /// The stream.
    pub stream: TcpStream,
    /// Bytes read after the last request.
    pub rest: Vec<u8>,
}

impl Socket {
    /// Closes a WebSocket without reading, and waits a moment for the peer to read the close frame.
    pub async fn close(self, code: CloseCode, reason: &'static str) {
        let parting = async {
            let mut socket = WebSocketStream::from_raw_socket(self.stream, Role::Server, None).await;
            socket.close(Some(CloseFrame { code, reason: reason.into() })).await.ok()?;
            farewell(socket.into_inner(), b"").await.ok()
        };
        timeout(GOODBYE, parting).await.ok();
    }
}

/// How HTTP ended on a connection.
enum End {
    /// Between two requests, or with an error.
    Over,
    /// No request arrived in time.
    Late,
    Upgraded,
}

pub(crate) async fn converse<V: Visit>(
    stream: TcpStream,
    caller: Arc<Caller>,
    visit: Arc<V>,
    limits: Limits,
    stop: Stop,
) {
    // Responses are small and awaited: never delay one to fill a packet.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "could not set TCP_NODELAY");
    }
    let Some((socket, end)) = converse_http(stream, &caller, &visit, limits, stop).await else { return };
    let words = match end {
        End::Upgraded => return visit.upgraded(socket).await,
        End::Over => String::new(),
        End::Late => {
            tracing::info!(peer = %caller.peer, reason = Refusal::TooSlow.reason(), "connection refused");
            let (status, reason) = (Refusal::TooSlow.status(), Refusal::TooSlow.reason());
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{reason}\n", reason.len() + 1)
        }
    };
    // The connection's state ends now, without waiting for the peer.
    drop(visit);
    timeout(GOODBYE, farewell(socket.stream, words.as_bytes())).await.ok();
}

/// Answers requests until the connection ends or is upgraded; `None` if it is gone.
async fn converse_http<V: Visit>(
    stream: TcpStream,
    caller: &Arc<Caller>,
    visit: &Arc<V>,
    limits: Limits,
    mut stop: Stop,
) -> Option<(Socket, End)> {
    let is_upgraded = Arc::new(AtomicBool::new(false));
    let service = {
        let (caller, visit, is_upgraded) = (Arc::clone(caller), Arc::clone(visit), Arc::clone(&is_upgraded));
        service_fn(move |request| {
            caller.has_asked.store(true, Ordering::Relaxed);
            let (visit, is_upgraded) = (Arc::clone(&visit), Arc::clone(&is_upgraded));
            Box::pin(async move {
                let answer = visit.answer(request).await;
                is_upgraded.store(answer.status() == StatusCode::SWITCHING_PROTOCOLS, Ordering::Relaxed);
                Ok::<_, Infallible>(answer)
            })
        })
    };
    let wire = Wire::new(stream, Liveness::default(), limits.stall);
    let mut http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle.max(limits.handshake))
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(wire), service);
    let mut stopped = pin!(stopping(&mut stop));
    let mut late = pin!(sleep(limits.handshake));
    let (mut is_stopping, mut is_due) = (false, true);
    let is_late = loop {
        tokio::select! {
            biased;
            ended = poll_fn(|context| http.poll_without_shutdown(context)) => {
                if let Err(error) = ended {
                    tracing::debug!(peer = %caller.peer, %error, "a connection ended early");
                }
                break false;
            }
            _ = &mut stopped, if !is_stopping => {
                if !caller.is_known() {
                    return None;
                }
                is_stopping = true;
                Pin::new(&mut http).graceful_shutdown();
            }
            () = &mut late, if is_due => {
                if !caller.has_asked.load(Ordering::Relaxed) {
                    break true;
                }
                is_due = false;
            }
        }
    };
    let parts = http.into_parts();
    let socket = Socket { stream: parts.io.into_inner().into_inner(), rest: parts.read_buf.to_vec() };
    let end = match is_upgraded.load(Ordering::Relaxed) {
        true => End::Upgraded,
        false if is_late => End::Late,
        false => End::Over,
    };
    Some((socket, end))
}

/// Sends the last bytes, then discards input until the peer closes: closing a socket with unread bytes resets it, and
/// the peer would lose the last bytes.
async fn farewell(mut stream: TcpStream, words: &[u8]) -> io::Result<()> {
    stream.write_all(words).await?;
    stream.shutdown().await?;
    let mut waste = vec![0; 32 << 10];
    while stream.read(&mut waste).await? > 0 {
        consume_budget().await;
    }
    Ok(())
}
