//! One socket from its first byte to its last: HTTP, which may become a WebSocket; then messages until one end closes.
//!
//! Invariants: exactly one task writes to a WebSocket; the reader never waits for the writer, but pauses while the
//! client does not read; close codes 1005 and 1006 are never sent.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use claude_ide_http::{Body, Caller, Liveness, Socket, Stop, stopping};
use hyper::{Request, Response, body::Incoming};
use tokio::{
    pin,
    sync::OwnedSemaphorePermit,
    task::{AbortHandle, JoinHandle},
    time::{sleep_until, timeout},
};
use tokio_tungstenite::tungstenite::{
    Error as WebSocketError, Message,
    error::{CapacityError, ProtocolError},
    protocol::frame::coding::CloseCode,
};

use claude_ide_protocol::{
    ide::{SUPERSEDED, UNAUTHORIZED},
    without_lone_surrogates,
};
use claude_ide_system::peer;

use crate::{
    client::Client,
    editor::ClientId,
    endpoint::Endpoint,
    endpoint_name::IDE,
    http,
    identity::{Access, Known},
    inbox::Inbox,
    liveness::{Verdict, Watch},
    outbox::Outbox,
    routes::{Admission, Refusal},
    shared::Shared,
    writer::Writer,
};

/// Time for the peer to read the close frame.
const GOODBYE_TIME: Duration = Duration::from_secs(1);
/// The same when the editor exits and the user waits.
const LAST_GOODBYE_TIME: Duration = Duration::from_millis(100);

/// RFC 6455, 7.4.1.
const CLOSE_NORMAL: u16 = 1000;
const CLOSE_GOING_AWAY: u16 = 1001;
const CLOSE_PROTOCOL: u16 = 1002;
const CLOSE_UNSUPPORTED: u16 = 1003;
const CLOSE_INVALID: u16 = 1007;
const CLOSE_TOO_BIG: u16 = 1009;

/// With [`SUPERSEDED`], verbatim, keeps a Claude Code CLI from reconnecting by itself.
const CLOSE_SUPERSEDED: u16 = 4001;

type Goodbye = Option<(u16, &'static str)>;

/// State shared by all requests of a connection.
pub(crate) struct Visit {
    shared: Arc<Shared>,
    requests: http::Requests,
    caller: Arc<Caller>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The upgrade under way.
    upgrade: Option<Upgrade>,
    /// The connection's permit, for HTTP.
    place: Option<OwnedSemaphorePermit>,
}

/// The purpose of a WebSocket.
enum Upgrade {
    Unauthorized,
    Welcome(Arc<Endpoint>, Access, OwnedSemaphorePermit),
}

impl claude_ide_http::Visit for Visit {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        self.serve(request).await.unwrap_or_else(|refusal| {
            tracing::info!(peer = %self.caller.peer(), reason = %refusal.reason(), "connection refused");
            refusal.response()
        })
    }

    async fn upgraded(self: Arc<Self>, socket: Socket) {
        let upgrade = std::mem::take(&mut *self.state()).upgrade;
        self.requests.end();
        match upgrade {
            None => {}
            Some(Upgrade::Unauthorized) => {
                tracing::warn!(peer = %self.caller.peer(), "connection refused: {UNAUTHORIZED}");
                socket.close(CloseCode::Policy, UNAUTHORIZED).await;
            }
            Some(Upgrade::Welcome(endpoint, access, place)) => {
                self.caller.set_known();
                let shared = Arc::clone(&self.shared);
                let id = shared.identity.next_client();
                tracing::info!(peer = %self.caller.peer(), client = %id, "connected");
                Connection::new(shared, id, socket, endpoint, access, Arc::clone(&self.caller)).await.run().await;
                drop(place);
            }
        }
    }
}

impl Visit {
    pub(crate) fn new(shared: Arc<Shared>, sessions: Arc<http::Sessions>, caller: Arc<Caller>) -> Self {
        let requests = http::Requests::new(Arc::clone(&shared), sessions);
        Self { shared, requests, caller, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave this state half-changed, so a poisoned lock is fine.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let (head, body) = request.into_parts();
        match self.shared.routes.judge(&head, self.caller.local())? {
            Admission::Upgrade(endpoint, access, response) => {
                let access = match access {
                    None => self.access_of_process(&endpoint).await,
                    access => access,
                };
                let upgrade = match access {
                    None => Upgrade::Unauthorized,
                    Some(access) => {
                        self.judge_process(&access).await?;
                        let place = Arc::clone(&endpoint.places).try_acquire_owned();
                        Upgrade::Welcome(endpoint, access, place.map_err(|_| Refusal::TooManyClients)?)
                    }
                };
                self.state().upgrade = Some(upgrade);
                Ok(response)
            }
            Admission::Http(_, None) => Err(Refusal::Unauthorized),
            Admission::Http(endpoint, Some(access)) => {
                self.enter(&access).await?;
                Ok(self.requests.answer(&endpoint, &access, &head, body).await)
            }
        }
    }

    /// The rights of a client of the last Neovim, which holds a token of that one.
    async fn access_of_process(&self, endpoint: &Endpoint) -> Option<Access> {
        if !self.shared.identity.has_inherited() {
            return None;
        }
        self.shared.identity.access_of(self.caller.process().await?, endpoint.name)
    }

    /// Admits a connection that speaks HTTP.
    async fn enter(&self, access: &Access) -> Result<(), Refusal> {
        self.judge_process(access).await?;
        let mut state = self.state();
        if state.place.is_none() {
            let place = Arc::clone(&self.shared.http_places).try_acquire_owned();
            state.place = Some(place.map_err(|_| Refusal::TooManyClients)?);
            self.caller.set_known();
        }
        Ok(())
    }

    /// Children of an agent, above all the commands of its model, may not use the agent's secret or any other that they
    /// have read: they would bypass the agent's questions to its user.
    async fn judge_process(&self, access: &Access) -> Result<(), Refusal> {
        let agents = self.shared.identity.processes();
        if access.run.is_none() && agents.is_empty() {
            return Ok(());
        }
        let process = self.caller.process().await;
        if process.is_none() && self.must_be_shown() {
            return Err(Refusal::UnknownProcess);
        }
        // Of any agent: the commands of one may not use another's secret either.
        let above = process.map(|process| peer::ancestors(process.pid)).unwrap_or_default();
        if above.iter().any(|one| agents.contains(one)) {
            return Err(Refusal::Process);
        }
        if access.run.as_ref().is_some_and(|run| !run.owner.admits(process)) {
            return Err(Refusal::Process);
        }
        Ok(())
    }

    /// Whether the system should show the process: the connection is from this machine. With `path_map` it may be the
    /// end of a tunnel (WSL, SSH), which can be another user's process.
    fn must_be_shown(&self) -> bool {
        let peer = self.caller.peer().ip().to_canonical();
        let is_of_this_machine =
            peer.is_loopback() || self.caller.local().is_some_and(|local| local.ip().to_canonical() == peer);
        is_of_this_machine && peer::is_known() && self.shared.services.options.path_map.is_empty()
    }
}

/// How a connection ended.
struct End {
    goodbye: Option<Goodbye>,
    reason: String,
}

impl End {
    /// Without a close frame, which the peer would not read.
    fn silent(reason: impl Into<String>) -> Self {
        Self { goodbye: None, reason: reason.into() }
    }

    fn saying(code: u16, reason: &'static str) -> Self {
        Self { goodbye: Some(Some((code, reason))), reason: reason.to_owned() }
    }

    /// Whether the client is asked not to come back.
    fn is_for_good(&self) -> bool {
        matches!(self.goodbye, Some(Some((CLOSE_SUPERSEDED, _))))
    }
}

struct Connection {
    shared: Arc<Shared>,
    client: Client,
    inbox: Inbox,
    outbox: Arc<Outbox>,
    liveness: Liveness,
    writer: JoinHandle<std::io::Result<()>>,
    /// How the next Neovim may admit it, once its process is found.
    known: Option<Known>,
    caller: Arc<Caller>,
    access: Access,
    endpoint: Arc<Endpoint>,
    _end_of_writer: AbortOnDrop,
}

/// Aborts a task when dropped: the runtime outlives the server.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    async fn new(
        shared: Arc<Shared>,
        id: ClientId,
        socket: Socket,
        endpoint: Arc<Endpoint>,
        access: Access,
        caller: Arc<Caller>,
    ) -> Self {
        let options = &shared.services.options;
        let Socket { stream, rest } = socket;
        let (reader, writer) = stream.into_split();
        let (outbox, liveness) = (Arc::new(Outbox::default()), Liveness::default());
        let inbox = Inbox::new(reader, rest, endpoint.limits.message_bytes, liveness.clone()).await;
        let writer = {
            let writer = Writer::new(writer, liveness.clone(), options.keepalive.timeout);
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move { writer.write(&outbox).await })
        };
        let peer = Some(Arc::clone(&caller));
        let client =
            Client::new(Arc::clone(&shared.services), Arc::clone(&endpoint), id, &access, Arc::clone(&outbox), peer);
        let _end_of_writer = AbortOnDrop(writer.abort_handle());
        Self { shared, client, inbox, outbox, liveness, writer, known: None, caller, access, endpoint, _end_of_writer }
    }

    async fn run(mut self) {
        let mut shutdown = self.shared.shutdown.subscribe();
        let end = self.converse(&mut shutdown).await;
        let Self { shared, client, inbox, outbox, writer, known, .. } = self;
        tracing::info!(client = %client.id(), reason = end.reason, "disconnected");
        // Before the editor knows: it may stop the server then.
        if end.is_for_good()
            && let Some(known) = known
        {
            shared.identity.forget(known.process);
        }
        client.disconnect(end.reason);
        let Some(goodbye) = end.goodbye else { return };
        outbox.close(goodbye);
        // Sending the queue may use the whole deadline of a stopping server; waiting for the peer takes only a moment.
        let deadline = *shutdown.borrow();
        let (writing, listening) = match deadline {
            None => (GOODBYE_TIME, GOODBYE_TIME),
            Some(deadline) => (deadline.saturating_duration_since(Instant::now()), LAST_GOODBYE_TIME),
        };
        if let Ok(Ok(Ok(()))) = timeout(writing, writer).await {
            drop(timeout(listening, inbox.drain()).await);
        }
    }

    /// Serves the client until it, the network or the server ends the connection.
    async fn converse(&mut self, shutdown: &mut Stop) -> End {
        let keepalive = &self.shared.services.options.keepalive;
        let mcp_ping = keepalive.mcp_ping;
        let now = Instant::now();
        let mut watch = Watch::new(self.liveness.clone(), keepalive, now);
        let alarm = sleep_until(watch.due().into());
        let (stop, sent_away) = (stopping(shutdown), self.client.sent_away());
        // The search may take longer than the client's first request.
        let mut is_sought = self.shared.services.options.handover_dir.is_some();
        let caller = Arc::clone(&self.caller);
        let process = caller.process();
        pin!(alarm, stop, sent_away, process);
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
                found = &mut process, if is_sought => {
                    is_sought = false;
                    self.known = found.map(|process| Known::new(process, &self.endpoint, &self.access));
                    if let Some(known) = &self.known {
                        self.shared.identity.remember(known.clone());
                    }
                }
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

    /// Sends the responses that are possible before the deadline.
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
        // A client that comes back could meet another user's process at the port, and take that one's edits.
        let is_exiting = self.shared.is_exiting.load(Ordering::Relaxed);
        if is_exiting && self.endpoint.name == IDE && self.known.is_none() {
            return End::saying(CLOSE_SUPERSEDED, SUPERSEDED);
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

/// The close code for a peer's error: RFC 6455, 7.4.1.
fn end_of(error: &WebSocketError) -> End {
    match error {
        WebSocketError::Capacity(CapacityError::MessageTooLong { .. } | CapacityError::TooManyHeaders) => {
            End::saying(CLOSE_TOO_BIG, "the message is too large")
        }
        WebSocketError::Utf8(_) => End::saying(CLOSE_INVALID, "a text message must be UTF-8"),
        // The stream ended: the client may still read, but cannot send more.
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
