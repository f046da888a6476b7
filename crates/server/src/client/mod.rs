//! One client: its requests, and their way to what serves them. Knows no socket: text comes in, the outbox takes what
//! goes out. Its MCP handshake is in `lifecycle`, what we ask it in `asking`.
//!
//! Invariant: the editor hears of a client in this order: connected, ready, changes, disconnected; and of each once. What it
//! still asked for is cancelled after that.

mod asking;
mod lifecycle;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tracing::Instrument as _;

use claude_ide_protocol::{
    ide::IDE_CONNECTED,
    jsonrpc::{self, Incoming, Malformed, RequestId},
    mcp::{CancelledParams, ProtocolVersion},
};
use claude_ide_rpc::{Asked, BatchId, InFlight, Peer, encode};

use self::{asking::Question, lifecycle::Phase};
use crate::{
    editor::{ClientEvent, ClientId, ClientInfo, ClientState},
    endpoint::Endpoint,
    methods::Caller,
    outbox::Outbox,
    router::{Later, Payload, RequestError, Routed, Services, WaitsFor, route},
};

pub(crate) struct Client {
    caller: Caller,
    outbox: Arc<Outbox>,
    info: ClientInfo,
    /// Why its socket is gone, once it is.
    left: Option<String>,
    phase: Phase,
    version: Option<ProtocolVersion>,
    /// What it speaks where it never said so.
    assumed: Option<ProtocolVersion>,
    has_roots: bool,
    /// It takes requests of ours.
    can_be_asked: bool,
    peer: Peer<Question, WaitsFor, Payload, RequestError>,
    /// For whoever asks how the server is doing.
    gauge: Arc<AtomicUsize>,
    send_away: Arc<Notify>,
    asked_for_roots: bool,
}

impl Client {
    pub(crate) fn new(
        services: Arc<Services>,
        endpoint: Arc<Endpoint>,
        id: ClientId,
        run: Option<Box<str>>,
        outbox: Arc<Outbox>,
    ) -> Self {
        let info = ClientInfo {
            id,
            endpoint: endpoint.name,
            state: ClientState::Connected,
            name: None,
            version: None,
            pid: None,
            run,
            protocol: None,
            roots: Vec::new(),
        };
        let gauge = Arc::new(AtomicUsize::new(0));
        let send_away = Arc::new(Notify::new());
        services.notifier.join(info.clone(), Arc::clone(&outbox), Arc::clone(&gauge), Arc::clone(&send_away));
        services.editor.event(ClientEvent::Connected(info.clone()));
        let peer = Peer { asked: Asked::new(asking::MAX_ASKED), in_flight: InFlight::new(endpoint.limits.in_flight) };
        let caller = Caller { services, endpoint, client: id };
        Self {
            caller,
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

    /// It takes answers alone.
    pub(crate) fn cannot_be_asked(&mut self) {
        self.can_be_asked = false;
    }

    /// What it speaks unless it says so in MCP's handshake.
    pub(crate) fn assume(&mut self, version: ProtocolVersion) {
        self.assumed = Some(version);
    }

    /// It takes notifications, though it may never have begun MCP's handshake.
    pub(crate) fn be_ready(&mut self) {
        self.finish_handshake();
    }

    /// Whether a request of that id is not answered yet.
    pub(crate) fn is_open(&self, id: &RequestId) -> bool {
        self.peer.in_flight.is_free(id).is_err()
    }

    /// It has begun MCP's handshake.
    pub(crate) fn speaks_mcp(&self) -> bool {
        self.version.is_some()
    }

    /// Resolves when somebody wants this client to leave.
    pub(crate) fn sent_away(&self) -> impl Future<Output = ()> + use<> {
        let send_away = Arc::clone(&self.send_away);
        async move { send_away.notified().await }
    }

    /// The socket is gone. Every request that is still open is cancelled.
    pub(crate) fn disconnect(mut self, reason: String) {
        self.left = Some(reason);
    }

    /// A text message came.
    pub(crate) fn receive(&mut self, text: &str) {
        if !jsonrpc::is_batch(text) {
            self.message(text, None);
        } else if !self.version.or(self.assumed).is_some_and(ProtocolVersion::allows_batches) {
            self.complain(jsonrpc::refuse_batch(text), None);
        } else {
            match jsonrpc::split_batch(text, self.caller.endpoint.limits.batch) {
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

    /// Sends the answer of the next request that is settled. May be dropped and called again.
    ///
    /// Work starts here too, but none while the client does not read: what runs already is all that its answers grow by.
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

    /// Nothing is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.peer.in_flight.is_empty()
    }

    /// The editor is going away: what it has answered is sent, what only it could answer is given up.
    pub(crate) fn wind_down(&mut self) {
        self.peer.in_flight.start_waiting();
        while let Some(answer) = self.peer.in_flight.settle_now() {
            self.settled(answer);
        }
        self.give_up(|waits_for| waits_for != WaitsFor::Disk);
    }

    /// There is no time left.
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
        let span = tracing::debug_span!("request", client = %self.info.id, %id, method);
        let inside = span.enter();
        let routed = match self.peer.in_flight.is_free(&id) {
            Err(taken) => Routed::Now(Err(taken.into())),
            Ok(()) if method == "initialize" => Routed::Now(self.initialize(params, batch)),
            Ok(()) => route(&self.caller, method, params, || self.peer.in_flight.has_room(bytes)),
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
            // To answer a notification, even to say that it is unknown, is forbidden.
            _ => tracing::debug!(client = %self.info.id, method, "a notification that nothing here is for"),
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
    /// However a connection ends, also where its task panicked: the editor hears of it once, and before its calls are
    /// cancelled, so that it knows why they are.
    fn drop(&mut self) {
        self.caller.services.notifier.leave(self.info.id);
        let reason = self.left.take().unwrap_or_else(|| "its connection failed".to_owned());
        self.caller.services.editor.event(ClientEvent::Disconnected { client: self.info.clone(), reason });
        self.peer.in_flight = InFlight::new(self.caller.endpoint.limits.in_flight);
    }
}
