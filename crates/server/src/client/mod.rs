//! One client: routes its requests. Independent of the socket: receives text and writes to the outbox. The MCP
//! handshake is in `lifecycle`, our requests are in `asking`.
//!
//! Invariant: the editor gets a client's events in this order, each once: connected, ready, changes, disconnected. The
//! client's open calls are cancelled after that.

mod asking;
mod lifecycle;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Instant;

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tracing::Instrument as _;

use claude_ide_protocol::{
    ide::IDE_CONNECTED,
    jsonrpc::{self, Incoming, Malformed, RequestId},
    mcp::{CancelledParams, ProtocolVersion},
};
use claude_ide_rpc::{Asked, BatchId, InFlight, Peer, encode};

use crate::{
    editor::{ClientEvent, ClientId, ClientInfo, ClientState},
    endpoint::Endpoint,
    identity::Access,
    outbox::Outbox,
    request::{Caller, Later, Payload, RequestError, Routed, Services, WaitsFor},
    router::route,
};

/// More than one of each kind.
const MAX_ASKED: usize = 8;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Ping,
    Roots,
}

/// The stage of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was served yet.
    New,
    /// `initialize` was answered.
    Initializing,
    /// Waiting for the client's folders until this time.
    AwaitingRoots(Instant),
    /// Accepts notifications.
    Ready,
}

pub(crate) struct Client {
    caller: Caller,
    endpoint: Arc<Endpoint>,
    outbox: Arc<Outbox>,
    info: ClientInfo,
    /// Why its socket closed, once it has.
    left: Option<String>,
    phase: Phase,
    version: Option<ProtocolVersion>,
    /// The protocol version if the client never named one.
    assumed: Option<ProtocolVersion>,
    has_roots: bool,
    /// Whether it accepts requests.
    can_be_asked: bool,
    peer: Peer<Question, WaitsFor, Payload, RequestError>,
    /// The number of open requests, for the status.
    gauge: Arc<AtomicUsize>,
    send_away: Arc<Notify>,
    asked_for_roots: bool,
}

impl Client {
    pub(crate) fn new(
        services: Arc<Services>,
        endpoint: Arc<Endpoint>,
        id: ClientId,
        access: &Access,
        outbox: Arc<Outbox>,
        peer: Option<Arc<claude_ide_http::Caller>>,
    ) -> Self {
        let info = ClientInfo {
            id,
            endpoint: endpoint.name,
            state: ClientState::Connected,
            name: access.program.map(str::to_owned),
            version: None,
            pid: access.run.as_ref().and_then(|run| run.owner.process()).map(|process| process.pid),
            run: access.run.as_ref().map(|run| run.name.clone()),
            protocol: None,
            roots: Vec::new(),
            mapped: !services.options.path_map.is_empty(),
            unsupported: false,
        };
        let gauge = Arc::new(AtomicUsize::new(0));
        let send_away = Arc::new(Notify::new());
        services.notifier.join(info.clone(), Arc::clone(&outbox), Arc::clone(&gauge), Arc::clone(&send_away));
        services.editor.event(ClientEvent::Connected(info.clone()));
        let caller = Caller {
            services,
            endpoint: endpoint.name,
            tools: Arc::clone(&endpoint.tools),
            message_bytes: endpoint.limits.message_bytes,
            client: id,
            mapped: info.mapped,
            root: None,
            peer,
            pid: info.pid,
        };
        let peer = Peer { asked: Asked::new(MAX_ASKED), in_flight: InFlight::new(endpoint.limits.in_flight) };
        Self {
            caller,
            endpoint,
            outbox,
            info,
            left: None,
            phase: Phase::New,
            version: None,
            assumed: None,
            has_roots: false,
            can_be_asked: true,
            peer,
            gauge,
            send_away,
            asked_for_roots: false,
        }
    }

    pub(crate) fn id(&self) -> ClientId {
        self.info.id
    }

    /// Marks it as accepting no requests.
    pub(crate) fn cannot_be_asked(&mut self) {
        self.can_be_asked = false;
    }

    /// Sets the protocol version for a client that does not name one.
    pub(crate) fn assume(&mut self, version: ProtocolVersion) {
        self.assumed = Some(version);
    }

    /// Marks it as accepting notifications, even without an MCP handshake.
    pub(crate) fn be_ready(&mut self) {
        self.finish_handshake();
    }

    /// Whether a request with this id is open.
    pub(crate) fn is_open(&self, id: &RequestId) -> bool {
        self.peer.in_flight.is_free(id).is_err()
    }

    /// Whether it has begun the MCP handshake.
    pub(crate) fn speaks_mcp(&self) -> bool {
        self.version.is_some()
    }

    /// Resolves when this client is to be disconnected.
    pub(crate) fn sent_away(&self) -> impl Future<Output = ()> + use<> {
        let send_away = Arc::clone(&self.send_away);
        async move { send_away.notified().await }
    }

    /// The socket is gone. Cancels every open request.
    pub(crate) fn disconnect(mut self, reason: String) {
        self.left = Some(reason);
    }

    /// Handles a text message.
    pub(crate) fn receive(&mut self, text: &str) {
        if !jsonrpc::is_batch(text) {
            self.message(text, None);
        } else if !self.version.or(self.assumed).is_some_and(ProtocolVersion::allows_batches) {
            self.complain(jsonrpc::refuse_batch(text), None);
        } else {
            match jsonrpc::split_batch(text, self.endpoint.limits.batch) {
                Err(malformed) => self.complain(malformed, None),
                Ok(messages) => {
                    let batch = self.peer.in_flight.begin_batch();
                    for message in messages {
                        self.message(message.get(), Some(batch));
                    }
                    if let Some(answers) = self.peer.in_flight.end_batch(batch) {
                        self.outbox.push(answers);
                    }
                }
            }
        }
        self.gauge.store(self.peer.in_flight.len(), Ordering::Relaxed);
    }

    /// Sends the next settled response. Cancel safe.
    ///
    /// Starts waiting work too, unless the client does not read: then only running work adds responses.
    pub(crate) async fn settle(&mut self) {
        if !self.outbox.is_full() {
            self.peer.in_flight.start_waiting();
        }
        let answer = self.peer.in_flight.settle().await;
        self.settled(answer);
    }

    fn settled(&mut self, answer: Option<Vec<u8>>) {
        if let Some(answer) = answer {
            self.outbox.push(answer);
        }
        self.gauge.store(self.peer.in_flight.len(), Ordering::Relaxed);
    }

    /// Whether nothing is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.peer.in_flight.is_empty()
    }

    /// The editor is exiting: sends settled responses and gives up those that need the editor.
    pub(crate) fn wind_down(&mut self) {
        self.peer.in_flight.start_waiting();
        while let Some(answer) = self.peer.in_flight.settle_now() {
            self.settled(answer);
        }
        self.give_up(|waits_for| waits_for != WaitsFor::Disk);
    }

    /// Gives up all requests: the deadline has passed.
    pub(crate) fn give_up_all(&mut self) {
        self.give_up(|_| true);
    }

    fn give_up(&mut self, which: impl Fn(WaitsFor) -> bool) {
        let why = || RequestError::Failed("the editor is closing".to_owned());
        for answer in self.peer.in_flight.give_up(which, why) {
            self.outbox.push(answer);
        }
    }

    fn message(&mut self, text: &str, batch: Option<BatchId>) {
        match jsonrpc::parse(text) {
            Err(malformed) => self.complain(malformed, batch),
            Ok(Incoming::Request { id, method, params }) => self.request(id, &method, params, text.len(), batch),
            Ok(Incoming::Notification { method, params }) => self.notification(&method, params),
            Ok(Incoming::Response { id, outcome }) => self.response(id.as_ref(), outcome),
        }
    }

    fn complain(&mut self, malformed: Malformed, batch: Option<BatchId>) {
        tracing::debug!(client = %self.info.id, error = %malformed.error.message, "a malformed message");
        if let Ok(answer) = jsonrpc::error(malformed.id.as_ref(), &malformed.error) {
            self.answer(malformed.id.as_ref(), answer, batch);
        }
    }

    fn answer(&mut self, request: Option<&RequestId>, answer: Vec<u8>, batch: Option<BatchId>) {
        match batch {
            Some(batch) => self.peer.in_flight.add_to_batch(batch, request, Some(answer)),
            None => self.outbox.push(answer),
        }
    }

    fn request(
        &mut self,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
        bytes: usize,
        batch: Option<BatchId>,
    ) {
        let here = params.and_then(|params| self.caller.incoming(params));
        let params = here.as_deref().or(params);
        let span = tracing::debug_span!("request", client = %self.info.id, %id, method);
        let inside = span.enter();
        let routed = match self.peer.in_flight.is_free(&id) {
            Err(taken) => Routed::Now(Err(taken.into())),
            Ok(()) if method == "initialize" => Routed::Now(self.initialize(params, batch)),
            Ok(()) => {
                route(&self.caller, &self.endpoint.methods, method, params, || self.peer.in_flight.has_room(bytes))
            }
        };
        let served = !matches!(routed, Routed::Now(Err(_)));
        match routed {
            Routed::Now(outcome) => {
                if let Err(error) = &outcome {
                    tracing::debug!(%error, "not served");
                }
                self.answer(Some(&id), encode(&id, outcome), batch);
            }
            Routed::Later(work, waits_for) => {
                let work: Later = if span.is_disabled() {
                    work
                } else {
                    let span = span.clone();
                    Box::new(move || {
                        let work = span.in_scope(work);
                        Box::pin(work.instrument(span))
                    })
                };
                self.peer.in_flight.begin(id, batch, bytes, work, waits_for);
            }
        }
        drop(inside);
        if served && !matches!(method, "initialize" | "ping") {
            self.finish_handshake();
        }
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/initialized" => self.finish_handshake(),
            "notifications/cancelled" => self.cancelled(params),
            "notifications/roots/list_changed" => self.ask_for_roots(),
            IDE_CONNECTED => self.ide_connected(params),
            // Answering a notification, even with an error, is forbidden.
            _ => tracing::debug!(client = %self.info.id, method, "an unknown notification"),
        }
    }

    fn cancelled(&mut self, params: Option<&RawValue>) {
        let params = params.and_then(|params| serde_json::from_str::<CancelledParams<'_>>(params.get()).ok());
        if let Some(id) = params.and_then(|params| RequestId::from_raw(params.request_id)) {
            let was_open = self.peer.in_flight.cancel(&id);
            tracing::debug!(client = %self.info.id, %id, was_open, "cancelled by the client");
        }
    }
}

impl Drop for Client {
    /// Also if its task panicked, the editor is notified exactly once, and before the calls are cancelled, so that it
    /// knows the reason.
    fn drop(&mut self) {
        self.caller.services.notifier.leave(self.info.id);
        let reason = self.left.take().unwrap_or_else(|| "its connection failed".to_owned());
        self.caller.services.editor.event(ClientEvent::Disconnected { client: self.info.clone(), reason });
        self.peer.in_flight = InFlight::new(self.endpoint.limits.in_flight);
    }
}
