//! One socket, from the first byte to the last: handshake, then messages until somebody says goodbye.
//!
//! Invariants: exactly one task writes to the socket; the reader never waits for the writer, it only stops reading while
//! the client does not read; 1005 and 1006 never go out.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    net::TcpStream,
    pin,
    sync::{OwnedSemaphorePermit, watch},
    task::{AbortHandle, JoinHandle},
    time::{sleep_until, timeout},
};
use tokio_tungstenite::tungstenite::{
    Error as WebSocketError, Message,
    error::{CapacityError, ProtocolError},
};

use claude_ide_protocol::{
    ide::{SUPERSEDED, UNAUTHORIZED},
    without_lone_surrogates,
};

use crate::{
    client::Client,
    door::{self, Doorkeeper, Knock, Post, Refusal, Routes, Upgrade},
    editor::ClientId,
    http,
    inbox::Inbox,
    liveness::{Liveness, Verdict, Watch},
    options::Identity,
    outbox::Outbox,
    router::Services,
    writer::Writer,
};

/// How long a peer has to read a goodbye.
const GOODBYE_TIME: Duration = Duration::from_secs(1);
/// The same when the editor is exiting and a person waits.
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
    /// When the server must be gone, once it is stopping.
    pub(crate) shutdown: watch::Sender<Option<Instant>>,
}

/// Waits until the server is told to stop, and by when.
pub(crate) async fn stopping(shutdown: &mut watch::Receiver<Option<Instant>>) -> Instant {
    let deadline = shutdown.wait_for(Option::is_some).await;
    deadline.ok().and_then(|deadline| *deadline).unwrap_or_else(Instant::now)
}

/// Serves one socket until it is closed; `is_in` is set when it is a client's.
pub(crate) async fn serve(hub: Arc<Hub>, stream: TcpStream, peer: SocketAddr, is_in: Arc<AtomicBool>) {
    // Answers are small and waited for: never hold one back to fill a packet.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "could not set TCP_NODELAY");
    }
    match admit(&hub, &stream).await {
        Entry::Gone => {}
        Entry::Refused(refusal) => {
            tracing::info!(%peer, reason = %refusal.reason(), "connection refused");
            farewell(stream, Vec::new(), &refusal.response(), None).await;
        }
        Entry::Unauthorized(upgrade) => {
            tracing::warn!(%peer, "connection refused: {UNAUTHORIZED}");
            farewell(stream, upgrade.rest.clone(), &upgrade.response(), Some((CLOSE_POLICY, UNAUTHORIZED))).await;
        }
        Entry::Welcome(upgrade, slot) => {
            is_in.store(true, Ordering::Relaxed);
            let id = hub.identity.next_client();
            tracing::info!(%peer, client = %id, "connected");
            Connection::new(hub, id, stream, upgrade).await.run().await;
            drop(slot);
        }
        Entry::Posts(post, slot) => {
            is_in.store(true, Ordering::Relaxed);
            let id = hub.identity.next_client();
            tracing::info!(%peer, client = %id, "connected by HTTP");
            http::serve(&hub, id, &stream, post).await;
            drop(slot);
        }
    }
}

enum Entry {
    /// It left by itself.
    Gone,
    Refused(Refusal),
    Unauthorized(Upgrade),
    Welcome(Upgrade, OwnedSemaphorePermit),
    /// It speaks HTTP.
    Posts(Post, OwnedSemaphorePermit),
}

async fn admit(hub: &Hub, stream: &TcpStream) -> Entry {
    let options = &hub.services.options;
    let doorkeeper = Doorkeeper { routes: &hub.routes, host: &options.host, local: stream.local_addr().ok() };
    let mut shutdown = hub.shutdown.subscribe();
    let request = tokio::select! {
        request = timeout(options.handshake_timeout, door::read(stream, &doorkeeper)) => request,
        _ = stopping(&mut shutdown) => return Entry::Gone,
    };
    match request {
        Err(_) => Entry::Refused(Refusal::TooSlow),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a connection ended before it said what it wants");
            Entry::Gone
        }
        Ok(Ok(Err(refusal))) => Entry::Refused(refusal),
        Ok(Ok(Ok(Knock::Upgrade(upgrade)))) if !upgrade.authorized => Entry::Unauthorized(upgrade),
        Ok(Ok(Ok(Knock::Upgrade(upgrade)))) => match Arc::clone(&upgrade.endpoint.places).try_acquire_owned() {
            Ok(slot) => Entry::Welcome(upgrade, slot),
            Err(_) => Entry::Refused(Refusal::TooManyClients),
        },
        Ok(Ok(Ok(Knock::Post(post)))) if !post.authorized => Entry::Refused(Refusal::Unauthorized),
        Ok(Ok(Ok(Knock::Post(post)))) => match Arc::clone(&post.endpoint.places).try_acquire_owned() {
            Ok(slot) => Entry::Posts(post, slot),
            Err(_) => Entry::Refused(Refusal::TooManyClients),
        },
    }
}

/// Sends the last words to somebody who is not let in, and waits a moment for them to be read.
async fn farewell(stream: TcpStream, rest: Vec<u8>, response: &[u8], goodbye: Goodbye) {
    let (reader, writer) = stream.into_split();
    let liveness = Liveness::default();
    let outbox = Outbox::default();
    let inbox = Inbox::new(reader, rest, 0, liveness.clone()).await;
    let mut writer = Writer::new(writer, liveness, GOODBYE_TIME);
    let last_words = async {
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
    async fn new(hub: Arc<Hub>, id: ClientId, stream: TcpStream, upgrade: Upgrade) -> Self {
        let options = &hub.services.options;
        let (reader, writer) = stream.into_split();
        let (outbox, liveness) = (Arc::new(Outbox::default()), Liveness::default());
        let response = upgrade.response();
        let inbox = Inbox::new(reader, upgrade.rest, upgrade.endpoint.limits.message_bytes, liveness.clone()).await;
        let writer = {
            let mut writer = Writer::new(writer, liveness.clone(), options.keepalive.timeout);
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move {
                writer.greet(&response).await?;
                writer.write(&outbox).await
            })
        };
        let Upgrade { endpoint, run, .. } = upgrade;
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
