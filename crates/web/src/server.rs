//! The listener: connections in, each served to its end, all of them ended with it.
//!
//! Invariants: no more connections than allowed, and of those that showed no secret the oldest makes room for the next; one that asks
//! for nothing in time, or takes nothing, is dropped; after [`Web::run`] nothing is left.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use claude_ide_session::Service;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::api::{self, Upgrade};
use crate::caller::Caller;
use crate::courier;
use crate::desk::Desk;
use crate::door::Door;
use crate::editor::Told;
use crate::error::WebError;
use crate::gate::{Gate, Hooks, Secret};
use crate::listing::Changes;
use crate::options::{Limits, WebOptions};
use crate::patient::Patient;
use crate::sessions::{Sessions, lock};
use crate::socket;

/// So many ports after the one asked for are tried before any free one.
const MORE_PORTS: u16 = 20;
/// After a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// How long connections may take to say goodbye.
const GOODBYE: Duration = Duration::from_millis(250);

/// What every connection is served with.
pub(crate) struct Site {
    pub(crate) door: Door,
    pub(crate) gate: Gate,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) listed: Changes,
    pub(crate) desk: Desk,
    pub(crate) limits: Limits,
}

/// What is served, bound and not yet running.
pub struct Web {
    listener: std::net::TcpListener,
    site: Arc<Site>,
    wanted: mpsc::Receiver<String>,
    stop: watch::Receiver<bool>,
}

/// What can be said to it while it runs.
#[derive(Clone)]
pub struct WebHandle {
    site: Arc<Site>,
    address: SocketAddr,
    port: Arc<std::net::TcpListener>,
    stop: watch::Sender<bool>,
}

impl Web {
    /// Binds a port.
    ///
    /// # Errors
    /// [`WebError`]; then nothing is left behind.
    pub fn bind(options: WebOptions, service: &Arc<Service>) -> Result<(Self, WebHandle), WebError> {
        let failed = |source| WebError::Bind { host: options.host.clone(), source };
        let listener = bind(&options.host, options.port).map_err(failed)?;
        Self::on(listener, Hooks::default(), options, service)
    }

    /// Takes a port that is bound, as another one left it ([`WebHandle::port`]), and the hooks that name it.
    ///
    /// # Errors
    /// [`WebError`].
    pub fn on(
        listener: std::net::TcpListener,
        hooks: Hooks,
        options: WebOptions,
        service: &Arc<Service>,
    ) -> Result<(Self, WebHandle), WebError> {
        let failed = |source| WebError::Bind { host: options.host.clone(), source };
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (desk, wanted) = Desk::new(options.writing, options.limits.clone());
        let site = Arc::new(Site {
            door: Door { host: options.host.clone(), names: options.names },
            gate: Gate::new(hooks)?,
            sessions: Sessions::new(service),
            listed: Changes::new(),
            desk,
            limits: options.limits,
        });
        let (stop, stopped) = watch::channel(false);
        let port = Arc::new(listener.try_clone().map_err(failed)?);
        let handle = WebHandle { site: Arc::clone(&site), address, port, stop };
        Ok((Self { listener, site, wanted, stop: stopped }, handle))
    }

    /// Serves until the handle says stop. To be awaited in a runtime with I/O and time.
    pub async fn run(self) {
        let Self { listener, site, wanted, mut stop } = self;
        match TcpListener::from_std(listener) {
            Ok(listener) => tokio::select! {
                () = accept(&listener, &site, &mut stop) => {}
                // Never: the desk keeps the other end.
                () = courier::run(&site, wanted) => {}
            },
            Err(error) => tracing::error!(%error, "nothing can be served"),
        }
        site.sessions.leave();
    }
}

impl WebHandle {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its port: while this is held, nobody else can listen there, though nothing is served any more.
    ///
    /// # Errors
    /// What the system says.
    pub fn port(&self) -> io::Result<std::net::TcpListener> {
        self.port.try_clone()
    }

    /// What clients show that are no browsers.
    #[must_use]
    pub fn token(&self) -> &Secret {
        self.site.gate.token()
    }

    /// What one CLI shows that tells what it shows on its screen, and asks.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub fn hook_token(&self) -> Result<Secret, WebError> {
        self.site.gate.hook()
    }

    /// What hooks that were given show, for who serves at this port next.
    #[must_use]
    pub fn hooks(&self) -> Hooks {
        self.site.gate.hooks()
    }

    /// A code that lets one browser in, once.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub fn code(&self) -> Result<Secret, WebError> {
        self.site.gate.code()
    }

    /// The editor tells what became of what it was asked, and what waits for a user.
    pub fn tell(&self, told: Told) {
        self.site.desk.take(told);
    }

    /// Claude says something in a session: an event of the Messages API, as it came. Told to who reads it now, and kept nowhere.
    pub fn say(&self, session: &str, kind: &str, event: &str) {
        self.site.desk.say(session, kind, event);
    }

    /// What Claude was saying in a session is void: it was broken off, or begins anew.
    pub fn break_off(&self, session: &str) {
        self.site.desk.break_off(session);
    }

    /// Asks it to end.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Ends every connection to a port on which nothing is served any more, until this is dropped.
pub async fn turn_away(port: std::net::TcpListener) {
    match TcpListener::from_std(port) {
        Ok(listener) => loop {
            if listener.accept().await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        },
        Err(error) => tracing::error!(%error, "a port is kept, and nothing answers there"),
    }
}

/// The port that was asked for, else the next free one.
fn bind(host: &str, port: u16) -> io::Result<std::net::TcpListener> {
    let mut last = None;
    let more = (port != 0).then(|| port.saturating_add(1)..=port.saturating_add(MORE_PORTS));
    for port in std::iter::once(port).chain(more.into_iter().flatten()).chain([0]) {
        match std::net::TcpListener::bind((host, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

async fn accept(listener: &TcpListener, site: &Arc<Site>, stop: &mut watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut callers: VecDeque<(AbortHandle, Arc<Caller>)> = VecDeque::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                callers.retain(|(task, _)| !task.is_finished());
                if callers.len() >= site.limits.connections {
                    let oldest = callers.iter().position(|(_, caller)| !caller.is_in());
                    let Some((stranger, _)) = oldest.and_then(|at| callers.remove(at)) else {
                        refuse(&stream);
                        continue;
                    };
                    stranger.abort();
                }
                let caller = Arc::new(Caller::new(&stream, peer));
                let task = connections.spawn(serve(stream, Arc::clone(&caller), Arc::clone(site), stop.clone()));
                callers.push_back((task, caller));
            }
            Err(error) => {
                // Out of files, most likely: some will be closed.
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    timeout(GOODBYE, async { while connections.join_next().await.is_some() {} }).await.ok();
}

/// Says so to whoever is one too many, if his socket takes it at once.
fn refuse(stream: &TcpStream) {
    let words = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    stream.try_write(words).ok();
}

async fn serve(stream: TcpStream, caller: Arc<Caller>, site: Arc<Site>, mut stop: watch::Receiver<bool>) {
    stream.set_nodelay(true).ok();
    let stream = Patient::new(stream, site.limits.silence);
    let upgrade = Upgrade::default();
    let service = {
        let (site, caller, upgrade) = (Arc::clone(&site), Arc::clone(&caller), Arc::clone(&upgrade));
        service_fn(move |request| {
            let (site, caller, upgrade) = (Arc::clone(&site), Arc::clone(&caller), Arc::clone(&upgrade));
            async move { Ok::<_, Infallible>(api::answer(site, caller, upgrade, request).await) }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(site.limits.handshake)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let served = tokio::select! {
        served = connection => served,
        _ = stop.wait_for(|stop| *stop) => return,
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection of a page ended early");
    }
    let Some((upgraded, plan)) = lock(&upgrade).take() else { return };
    let Ok(upgraded) = upgraded.await else { return };
    let config = Some(socket::config(site.limits.frame_bytes));
    let Ok(parts) = upgraded.downcast::<TokioIo<Patient<TcpStream>>>() else { return };
    let stream = parts.io.into_inner();
    let socket = WebSocketStream::from_partially_read(stream, parts.read_buf.to_vec(), Role::Server, config).await;
    socket::serve(socket, plan, &caller, &site, stop).await;
}
