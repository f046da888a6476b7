//! One socket, from the first byte to the last: HTTP, which may become a WebSocket; then messages until one end says goodbye.
//!
//! Invariants: exactly one task writes to a WebSocket; the reader never waits for the writer, it only stops reading while
//! the client does not read; 1005 and 1006 never go out.

use std::{
    convert::Infallible,
    future::poll_fn,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpStream,
    pin,
    sync::{OnceCell, OwnedSemaphorePermit, Semaphore, watch},
    task::{AbortHandle, JoinHandle, spawn_blocking},
    time::{sleep, sleep_until, timeout},
};
use tokio_tungstenite::tungstenite::{
    Error as WebSocketError, Message,
    error::{CapacityError, ProtocolError},
};

use claude_ide_protocol::{
    ide::{SUPERSEDED, UNAUTHORIZED},
    without_lone_surrogates,
};
use claude_ide_system::peer::{self, Process};

use crate::{
    client::Client,
    door::{Access, Doorkeeper, Knock, Refusal, Routes, Upgrade},
    editor::ClientId,
    http::{self, Body},
    inbox::Inbox,
    liveness::{Liveness, Verdict, Watch},
    options::Identity,
    outbox::Outbox,
    router::Services,
    writer::{Wire, Writer},
};

/// More than any client sends; the token and the browser-like headers come to less than 1 KiB.
const MAX_HEADER_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// How long a connection that asks for nothing is kept, and one that does not read.
const IDLE_TIME: Duration = Duration::from_secs(60);
const STALL_TIME: Duration = Duration::from_secs(30);
/// How long a peer has to read a goodbye.
const GOODBYE_TIME: Duration = Duration::from_secs(1);
/// The same when the editor is exiting and a user waits.
const LAST_GOODBYE_TIME: Duration = Duration::from_millis(100);

/// RFC 6455, 7.4.1.
const CLOSE_NORMAL: u16 = 1000;
const CLOSE_GOING_AWAY: u16 = 1001;
const CLOSE_PROTOCOL: u16 = 1002;
const CLOSE_UNSUPPORTED: u16 = 1003;
const CLOSE_INVALID: u16 = 1007;
const CLOSE_POLICY: u16 = 1008;
const CLOSE_TOO_BIG: u16 = 1009;

/// Tells a Claude Code CLI not to come back by itself; with [`SUPERSEDED`], word for word.
const CLOSE_SUPERSEDED: u16 = 4001;

type Goodbye = Option<(u16, &'static str)>;

/// What all connections share.
pub(crate) struct Hub {
    pub(crate) services: Arc<Services>,
    pub(crate) identity: Identity,
    pub(crate) routes: Routes,
    /// Those of agents that speak HTTP.
    pub(crate) sessions: http::Sessions,
    /// One permit for each of their connections.
    pub(crate) http_places: Arc<Semaphore>,
    /// When the server must be gone, once it is stopping.
    pub(crate) shutdown: watch::Sender<Option<Instant>>,
}

/// Waits until the server is told to stop, and by when.
pub(crate) async fn stopping(shutdown: &mut watch::Receiver<Option<Instant>>) -> Instant {
    let deadline = shutdown.wait_for(Option::is_some).await;
    deadline.ok().and_then(|deadline| *deadline).unwrap_or_else(Instant::now)
}

/// What all requests of a connection share.
pub(crate) struct Visit {
    pub(crate) hub: Arc<Hub>,
    local: Option<SocketAddr>,
    peer: SocketAddr,
    /// It showed the token.
    is_in: Arc<AtomicBool>,
    /// What is at the other end; nothing where the system does not tell.
    process: OnceCell<Option<Process>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What it becomes.
    socket: Option<Socket>,
    /// Its place, where it speaks HTTP.
    place: Option<OwnedSemaphorePermit>,
    /// The session of the requests that name none.
    session: Option<Arc<http::Session>>,
}

/// What becomes of a connection that is no longer HTTP.
enum Socket {
    Unauthorized,
    Welcome(Upgrade, OwnedSemaphorePermit),
}

impl Visit {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is complete before anything that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn session(&self) -> Option<Arc<http::Session>> {
        self.state().session.clone()
    }

    pub(crate) fn set_session(&self, session: Arc<http::Session>) {
        self.state().session = Some(session);
    }

    /// Answers one request.
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let doorkeeper =
            Doorkeeper { routes: &self.hub.routes, host: &self.hub.services.options.host, local: self.local };
        let knock = doorkeeper.judge(&head);
        let answer = match knock {
            Err(refusal) => Err(refusal),
            Ok(Knock::Upgrade(upgrade)) => self.upgrade(upgrade).await,
            Ok(Knock::Http(_, None)) => Err(Refusal::Unauthorized),
            Ok(Knock::Http(endpoint, Some(access))) => match self.enter(&access).await {
                Ok(()) => Ok(http::answer(self, &endpoint, &access, &head, body).await),
                Err(refusal) => Err(refusal),
            },
        };
        answer.unwrap_or_else(|refusal| {
            tracing::info!(peer = %self.peer, reason = %refusal.reason(), "connection refused");
            refusal.response()
        })
    }

    async fn upgrade(&self, upgrade: Upgrade) -> Result<Response<Body>, Refusal> {
        let response = upgrade.response();
        let socket = match &upgrade.access {
            None => Socket::Unauthorized,
            Some(access) => {
                self.judge_process(access).await?;
                let place = Arc::clone(&upgrade.endpoint.places).try_acquire_owned();
                Socket::Welcome(upgrade, place.map_err(|_| Refusal::TooManyClients)?)
            }
        };
        self.state().socket = Some(socket);
        Ok(response)
    }

    /// Lets a connection in that speaks HTTP.
    async fn enter(&self, access: &Access) -> Result<(), Refusal> {
        self.judge_process(access).await?;
        let mut state = self.state();
        if state.place.is_none() {
            let place = Arc::clone(&self.hub.http_places).try_acquire_owned();
            state.place = Some(place.map_err(|_| Refusal::TooManyClients)?);
            self.is_in.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// What an agent starts, the commands of its model above all, may not use the agent's secret, nor another that it has read
    /// somewhere. Whoever does so would act without the questions that the agent asks its user.
    async fn judge_process(&self, access: &Access) -> Result<(), Refusal> {
        let agents = self.hub.identity.processes();
        if access.run.is_none() && agents.is_empty() {
            return Ok(());
        }
        let process = *self.process.get_or_init(|| self.find_process()).await;
        if access.run.as_ref().is_some_and(|run| !run.owner.admits(process)) {
            return Err(Refusal::Process);
        }
        let above = process.map(|process| peer::ancestors(process.pid)).unwrap_or_default();
        if access.run.is_none() && above.iter().any(|one| agents.contains(one)) {
            return Err(Refusal::Process);
        }
        Ok(())
    }

    async fn find_process(&self) -> Option<Process> {
        let (local, peer) = (self.local?, self.peer);
        spawn_blocking(move || peer::of_connection(local, peer)).await.ok()?
    }
}

/// Serves one socket until it is closed; `is_in` is set when it is a client's.
pub(crate) async fn serve(hub: Arc<Hub>, stream: TcpStream, peer: SocketAddr, is_in: Arc<AtomicBool>) {
    // Answers are small and waited for: never hold one back to fill a packet.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "could not set TCP_NODELAY");
    }
    let (local, process, state) = (stream.local_addr().ok(), OnceCell::new(), Mutex::default());
    let visit = Arc::new(Visit { hub: Arc::clone(&hub), local, peer, is_in: Arc::clone(&is_in), process, state });
    let Some((stream, rest, is_late)) = converse_http(&visit, stream).await else { return };
    let State { socket, place, session } = std::mem::take(&mut *visit.state());
    drop(place);
    if let Some(session) = session.filter(|session| session.name().is_none()) {
        session.end();
    }
    match socket {
        None if is_late => {
            tracing::info!(%peer, reason = %Refusal::TooSlow.reason(), "connection refused");
            farewell(stream, Vec::new(), Refusal::TooSlow.text().as_bytes(), None).await;
        }
        None => farewell(stream, rest, b"", None).await,
        Some(Socket::Unauthorized) => {
            tracing::warn!(%peer, "connection refused: {UNAUTHORIZED}");
            farewell(stream, rest, b"", Some((CLOSE_POLICY, UNAUTHORIZED))).await;
        }
        Some(Socket::Welcome(upgrade, place)) => {
            is_in.store(true, Ordering::Relaxed);
            let id = hub.identity.next_client();
            tracing::info!(%peer, client = %id, "connected");
            Connection::new(hub, id, stream, rest, upgrade).await.run().await;
            drop(place);
        }
    }
}

/// Answers requests until the connection ends or becomes something else. Returns the socket, what was read beyond the requests,
/// and whether its first request took too long; nothing where it is gone.
async fn converse_http(visit: &Arc<Visit>, stream: TcpStream) -> Option<(TcpStream, Vec<u8>, bool)> {
    let service = service_fn({
        let visit = Arc::clone(visit);
        move |request| {
            let visit = Arc::clone(&visit);
            Box::pin(async move { Ok::<_, Infallible>(visit.answer(request).await) })
        }
    });
    let wire = Wire::new(stream, Liveness::default(), STALL_TIME);
    let mut http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIME)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(wire), service);
    let mut shutdown = visit.hub.shutdown.subscribe();
    let (stop, late) = (stopping(&mut shutdown), sleep(visit.hub.services.options.handshake_timeout));
    pin!(stop, late);
    let (mut is_stopping, mut is_due) = (false, true);
    let is_late = loop {
        tokio::select! {
            biased;
            ended = poll_fn(|context| http.poll_without_shutdown(context)) => {
                if let Err(error) = ended {
                    tracing::debug!(peer = %visit.peer, %error, "a connection ended early");
                }
                break false;
            }
            _ = &mut stop, if !is_stopping => {
                if !visit.is_in.load(Ordering::Relaxed) {
                    return None;
                }
                is_stopping = true;
                Pin::new(&mut http).graceful_shutdown();
            }
            () = &mut late, if is_due => {
                if !visit.is_in.load(Ordering::Relaxed) {
                    break true;
                }
                is_due = false;
            }
        }
    };
    let parts = http.into_parts();
    Some((parts.io.into_inner().into_inner(), parts.read_buf.to_vec(), is_late))
}

/// Sends the last words to a peer that is not let in or has been served, and waits a moment for them to be read.
async fn farewell(stream: TcpStream, rest: Vec<u8>, response: &[u8], goodbye: Goodbye) {
    let (reader, writer) = stream.into_split();
    let liveness = Liveness::default();
    let outbox = Outbox::default();
    let inbox = Inbox::new(reader, rest, 0, liveness.clone()).await;
    let mut writer = Writer::new(writer, liveness, GOODBYE_TIME);
    let last_words = async move {
        writer.greet(response).await?;
        if goodbye.is_some() {
            outbox.close(goodbye);
            writer.write(&outbox).await?;
        }
        std::io::Result::Ok(())
    };
    let parting = async {
        if last_words.await.is_ok() {
            inbox.drain().await;
        }
    };
    // Whether it listened or not, it is out.
    drop(timeout(GOODBYE_TIME, parting).await);
}

/// How a connection came to its end.
struct End {
    goodbye: Option<Goodbye>,
    reason: String,
}

impl End {
    /// Nobody is there to read a goodbye.
    fn silent(reason: impl Into<String>) -> Self {
        Self { goodbye: None, reason: reason.into() }
    }

    fn saying(code: u16, reason: &'static str) -> Self {
        Self { goodbye: Some(Some((code, reason))), reason: reason.to_owned() }
    }
}

struct Connection {
    hub: Arc<Hub>,
    client: Client,
    inbox: Inbox,
    outbox: Arc<Outbox>,
    liveness: Liveness,
    writer: JoinHandle<std::io::Result<()>>,
    _end_of_writer: AbortOnDrop,
}

/// Ends a task with what needs it, however that ends: the runtime outlives the server.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    async fn new(hub: Arc<Hub>, id: ClientId, stream: TcpStream, rest: Vec<u8>, upgrade: Upgrade) -> Self {
        let options = &hub.services.options;
        let (reader, writer) = stream.into_split();
        let (outbox, liveness) = (Arc::new(Outbox::default()), Liveness::default());
        let Upgrade { endpoint, access, .. } = upgrade;
        let inbox = Inbox::new(reader, rest, endpoint.limits.message_bytes, liveness.clone()).await;
        let writer = {
            let writer = Writer::new(writer, liveness.clone(), options.keepalive.timeout);
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move { writer.write(&outbox).await })
        };
        let run = access.and_then(|access| access.run).map(|run| run.name().into());
        let client = Client::new(Arc::clone(&hub.services), endpoint, id, run, Arc::clone(&outbox));
        let end_of_writer = AbortOnDrop(writer.abort_handle());
        Self { hub, client, inbox, outbox, liveness, writer, _end_of_writer: end_of_writer }
    }

    async fn run(mut self) {
        let mut shutdown = self.hub.shutdown.subscribe();
        let end = self.converse(&mut shutdown).await;
        let Self { client, inbox, outbox, writer, .. } = self;
        tracing::info!(client = %client.id(), reason = end.reason, "disconnected");
        client.disconnect(end.reason);
        let Some(goodbye) = end.goodbye else { return };
        outbox.close(goodbye);
        // What is queued may use the whole deadline of a server that stops; to be heard out, a moment must do.
        let deadline = *shutdown.borrow();
        let (writing, listening) = match deadline {
            None => (GOODBYE_TIME, GOODBYE_TIME),
            Some(deadline) => (deadline.saturating_duration_since(Instant::now()), LAST_GOODBYE_TIME),
        };
        if let Ok(Ok(Ok(()))) = timeout(writing, writer).await {
            drop(timeout(listening, inbox.drain()).await);
        }
    }

    /// Serves the client until one of the three ends it: the client, the network, or the server.
    async fn converse(&mut self, shutdown: &mut watch::Receiver<Option<Instant>>) -> End {
        let keepalive = &self.hub.services.options.keepalive;
        let mcp_ping = keepalive.mcp_ping;
        let now = Instant::now();
        let mut watch = Watch::new(self.liveness.clone(), keepalive, now);
        let alarm = sleep_until(watch.first_look().into());
        let (stop, sent_away) = (stopping(shutdown), self.client.sent_away());
        pin!(alarm, stop, sent_away);
        loop {
            let full = self.outbox.is_full();
            let next_deadline = self.client.next_deadline();
            tokio::select! {
                biased;
                deadline = &mut stop => return self.wind_down(deadline).await,
                () = &mut sent_away => return End::saying(CLOSE_SUPERSEDED, SUPERSEDED),
                () = self.client.settle(), if !self.client.is_idle() => {}
                message = self.inbox.next(), if !full => {
                    if let Some(end) = self.receive(message) {
                        return end;
                    }
                    tokio::task::consume_budget().await;
                }
                () = self.outbox.drained(), if full => {}
                broken = &mut self.writer => return End::silent(why_broken(broken)),
                () = sleep_until(next_deadline.unwrap_or(now).into()), if next_deadline.is_some() => {
                    self.client.stop_waiting();
                }
                () = &mut alarm => match watch.look(Instant::now()) {
                    Verdict::Dead => return End::silent("it gave no sign of life"),
                    Verdict::Wait(until) => alarm.as_mut().reset(until.into()),
                    Verdict::Ask(until) => {
                        alarm.as_mut().reset(until.into());
                        self.outbox.ping();
                        if mcp_ping {
                            self.client.ping();
                        }
                    }
                },
            }
        }
    }

    /// Answers what can be answered before the deadline.
    async fn wind_down(&mut self, deadline: Instant) -> End {
        self.client.wind_down();
        let rest = async {
            while !self.client.is_idle() {
                self.client.settle().await;
            }
        };
        if tokio::time::timeout_at(deadline.into(), rest).await.is_err() {
            self.client.give_up_all();
        }
        End::saying(CLOSE_GOING_AWAY, "the editor is closing")
    }

    fn receive(&mut self, message: Result<Message, WebSocketError>) -> Option<End> {
        match message {
            Ok(Message::Text(text)) => {
                tracing::trace!(client = %self.client.id(), text = text.as_str(), "received");
                self.client.receive(&without_lone_surrogates(&text));
                None
            }
            Ok(Message::Ping(payload)) => {
                self.outbox.pong(payload);
                None
            }
            Ok(Message::Pong(_) | Message::Frame(_)) => None,
            Ok(Message::Binary(_)) => Some(End::saying(CLOSE_UNSUPPORTED, "only text messages are understood here")),
            Ok(Message::Close(None)) => Some(End { goodbye: Some(None), reason: "closed by the client".to_owned() }),
            Ok(Message::Close(Some(frame))) => {
                let code = u16::from(frame.code);
                let goodbye = Some((code, if code == CLOSE_PROTOCOL { "Protocol violation" } else { "" }));
                Some(End { goodbye: Some(goodbye), reason: format!("closed by the client with {code}") })
            }
            Err(error) => Some(end_of(&error)),
        }
    }
}

fn why_broken(writer: Result<std::io::Result<()>, tokio::task::JoinError>) -> String {
    match writer {
        Ok(Ok(())) => "closed".to_owned(),
        Ok(Err(error)) => format!("the connection broke: {error}"),
        Err(error) => format!("the writer failed: {error}"),
    }
}

/// RFC 6455, 7.4.1: which code tells a peer what it did wrong.
fn end_of(error: &WebSocketError) -> End {
    match error {
        WebSocketError::Capacity(CapacityError::MessageTooLong { .. } | CapacityError::TooManyHeaders) => {
            End::saying(CLOSE_TOO_BIG, "the message is too large")
        }
        WebSocketError::Utf8(_) => End::saying(CLOSE_INVALID, "a text message must be UTF-8"),
        // The end of the stream: it may still read, but it can ask for nothing more.
        WebSocketError::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            End { goodbye: Some(Some((CLOSE_NORMAL, ""))), reason: "the client closed the connection".to_owned() }
        }
        WebSocketError::Protocol(violation) => {
            let mut end = End::saying(CLOSE_PROTOCOL, "protocol violation");
            end.reason = format!("protocol violation: {violation}");
            end
        }
        other => End::silent(format!("the connection broke: {other}")),
    }
}
