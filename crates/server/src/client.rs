//! One client: its MCP lifecycle, its requests, and ours to it. Knows no socket: text comes in, the outbox takes what
//! goes out.
//!
//! Invariant: the editor hears of a client in this order: connected, ready, changes, disconnected; and of each once.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::value::RawValue;
use tracing::Instrument as _;

use claude_ide_protocol::{
    ide::{IDE_CONNECTED, IdeConnected},
    jsonrpc::{self, Incoming, Malformed, RequestId},
    mcp::{CancelledParams, Implementation, InitializeResult, ListRootsResult, ProtocolVersion, ServerCapabilities},
};

use crate::{
    editor::{ClientEvent, ClientId, ClientInfo, ClientState},
    in_flight::{BatchId, InFlight, encode},
    outbox::Outbox,
    roots,
    router::{Later, Outcome, Payload, RequestError, Routed, Services, WaitsFor, route},
    tools::Arguments,
};

/// How long a client may take to tell its folders before it counts as ready without.
const ROOTS_TIME: Duration = Duration::from_millis(300);
/// How many messages a batch may have.
const MAX_BATCH: usize = 1000;

/// For the model: MCP's `instructions`.
const INSTRUCTIONS: &str = "This server is the editor that the user works in. Use its tools to show files and proposed \
    changes to the user, and to learn what the user sees: open files, the selection, diagnostics.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was served yet.
    New,
    /// `initialize` was answered.
    Initializing,
    /// We asked for the client's folders, which are worth a short wait.
    AwaitingRoots(Instant),
    /// It takes notifications.
    Ready,
}

/// What we asked the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Ping,
    Roots,
}

pub(crate) struct Client {
    services: Arc<Services>,
    outbox: Arc<Outbox>,
    info: ClientInfo,
    phase: Phase,
    version: Option<ProtocolVersion>,
    has_roots: bool,
    in_flight: InFlight,
    /// For whoever asks how the server is doing.
    gauge: Arc<AtomicUsize>,
    asked: HashMap<u64, Asked>,
    last_asked: u64,
    asked_for_roots: bool,
}

impl Client {
    pub(crate) fn new(services: Arc<Services>, id: ClientId, outbox: Arc<Outbox>) -> Self {
        let info = ClientInfo {
            id,
            state: ClientState::Connected,
            name: None,
            version: None,
            pid: None,
            protocol: None,
            roots: Vec::new(),
        };
        let gauge = Arc::new(AtomicUsize::new(0));
        services.notifier.join(info.clone(), Arc::clone(&outbox), Arc::clone(&gauge));
        services.editor.event(ClientEvent::Connected(info.clone()));
        let in_flight = InFlight::new(services.options.max_message_bytes);
        Self {
            services,
            outbox,
            info,
            phase: Phase::New,
            version: None,
            has_roots: false,
            in_flight,
            gauge,
            asked: HashMap::new(),
            last_asked: 0,
            asked_for_roots: false,
        }
    }

    pub(crate) fn id(&self) -> ClientId {
        self.info.id
    }

    /// The socket is gone. Every request that is still open is cancelled.
    pub(crate) fn disconnect(self, reason: String) {
        let Self { services, info, in_flight, .. } = self;
        drop(in_flight);
        services.notifier.leave(info.id);
        services.editor.event(ClientEvent::Disconnected { client: info, reason });
    }

    /// A text message came.
    pub(crate) fn receive(&mut self, text: &str) {
        if !jsonrpc::is_batch(text) {
            self.message(text, None);
        } else if !self.version.is_some_and(ProtocolVersion::allows_batches) {
            self.complain(jsonrpc::refuse_batch(text), None);
        } else {
            match jsonrpc::split_batch(text, MAX_BATCH) {
                Err(malformed) => self.complain(malformed, None),
                Ok(messages) => {
                    let batch = self.in_flight.begin_batch();
                    for message in messages {
                        self.message(message.get(), Some(batch));
                    }
                    if let Some(answers) = self.in_flight.end_batch(batch) {
                        self.outbox.push(answers);
                    }
                }
            }
        }
        self.gauge.store(self.in_flight.len(), Ordering::Relaxed);
    }

    /// Sends the answer of the next request that is settled. May be dropped and called again.
    pub(crate) async fn settle(&mut self) {
        let answer = self.in_flight.settle().await;
        self.settled(answer);
    }

    fn settled(&mut self, answer: Option<Vec<u8>>) {
        if let Some(answer) = answer {
            self.outbox.push(answer);
        }
        self.gauge.store(self.in_flight.len(), Ordering::Relaxed);
    }

    /// Nothing is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The editor is going away: what it has answered is sent, what only it could answer is given up.
    pub(crate) fn wind_down(&mut self) {
        while let Some(answer) = self.in_flight.settle_now() {
            self.settled(answer);
        }
        self.give_up(Some(WaitsFor::Editor));
    }

    /// There is no time left.
    pub(crate) fn give_up_all(&mut self) {
        self.give_up(None);
    }

    fn give_up(&mut self, which: Option<WaitsFor>) {
        for answer in self.in_flight.give_up(which) {
            self.outbox.push(answer);
        }
    }

    /// When [`Self::stop_waiting_for_roots`] is due.
    pub(crate) fn roots_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::AwaitingRoots(deadline) => Some(deadline),
            Phase::New | Phase::Initializing | Phase::Ready => None,
        }
    }

    pub(crate) fn stop_waiting_for_roots(&mut self) {
        if let Phase::AwaitingRoots(_) = self.phase {
            self.become_ready();
        }
    }

    /// Asks for a sign of life, in the words of MCP, if the client speaks it and owes none.
    pub(crate) fn ping(&mut self) {
        let speaks_mcp = self.version.is_some() && self.phase == Phase::Ready;
        if speaks_mcp && !self.asked.values().any(|asked| *asked == Asked::Ping) {
            self.ask("ping", Asked::Ping);
        }
    }

    fn ask(&mut self, method: &str, asked: Asked) {
        self.last_asked = self.last_asked.wrapping_add(1);
        let id = self.last_asked;
        if let Ok(request) = jsonrpc::request(id, method, None::<&()>) {
            self.asked.insert(id, asked);
            self.outbox.push(request);
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
            self.answer(answer, batch);
        }
    }

    fn answer(&mut self, answer: Vec<u8>, batch: Option<BatchId>) {
        match batch {
            Some(batch) => self.in_flight.add_to_batch(batch, Some(answer)),
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
        let routed = match self.in_flight.is_free(&id) {
            Err(taken) => Routed::Now(Err(taken)),
            Ok(()) if method == "initialize" => Routed::Now(self.initialize(params, batch)),
            Ok(()) => route(&self.services, self.info.id, method, params, || self.in_flight.has_room(bytes)),
        };
        let served = !matches!(routed, Routed::Now(Err(_)));
        match routed {
            Routed::Now(outcome) => {
                if let Err(error) = &outcome {
                    tracing::debug!(%error, "not served");
                }
                self.answer(encode(&id, outcome), batch);
            }
            Routed::Later(work, waits_for) => {
                let work: Later = if span.is_disabled() { work } else { Box::pin(work.instrument(span.clone())) };
                self.in_flight.begin(id, batch, bytes, work, waits_for);
            }
        }
        drop(inside);
        if served && !matches!(method, "initialize" | "ping") {
            self.finish_handshake();
        }
    }

    fn initialize(&mut self, params: Option<&RawValue>, batch: Option<BatchId>) -> Outcome {
        if self.version.is_some() {
            return Err(RequestError::InvalidRequest("this connection is initialized already".to_owned()));
        }
        if batch.is_some() {
            return Err(RequestError::InvalidRequest("initialize must not be part of a batch".to_owned()));
        }
        let mut params = Arguments::parse("params", params)?;
        let version = ProtocolVersion::negotiate(&params.string("protocolVersion")?);
        self.has_roots = params.optional_object("capabilities")?.contains_key("roots");
        let mut client_info = Arguments::from(params.optional_object("clientInfo")?);
        self.info.name = client_info.optional_string("name")?;
        self.info.version = client_info.optional_string("version")?;
        self.info.protocol = Some(version.as_str());
        self.version = Some(version);
        if self.phase == Phase::New {
            self.phase = Phase::Initializing;
        }
        self.changed();
        tracing::info!(client = %self.info.id, name = self.info.name, version = self.info.version, protocol = version.as_str(), "initialize");
        let options = &self.services.options;
        let result = InitializeResult {
            protocol_version: version,
            capabilities: ServerCapabilities::default(),
            server_info: Implementation { name: options.server_name.clone(), version: options.version.clone() },
            instructions: INSTRUCTIONS,
        };
        let result = serde_json::value::to_raw_value(&result);
        result.map(Payload::Raw).map_err(|error| RequestError::Failed(error.to_string()))
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
            let was_open = self.in_flight.cancel(&id);
            tracing::debug!(client = %self.info.id, %id, was_open, "cancelled by the client");
        }
    }

    fn ide_connected(&mut self, params: Option<&RawValue>) {
        let params = params.and_then(|params| serde_json::from_str::<IdeConnected>(params.get()).ok());
        if let Some(pid) = params.and_then(|params| params.pid) {
            self.info.pid = Some(pid);
            self.changed();
        }
    }

    fn response(&mut self, id: Option<&RequestId>, outcome: Result<&RawValue, &RawValue>) {
        let asked = id.and_then(|id| id.as_json().parse::<u64>().ok()).and_then(|id| self.asked.remove(&id));
        match asked {
            None => tracing::debug!(client = %self.info.id, "an answer to nothing that was asked"),
            Some(Asked::Ping) => {}
            Some(Asked::Roots) => self.learn_roots(outcome),
        }
    }

    /// Only the answer to the last question counts: an older one would bring back old folders.
    fn ask_for_roots(&mut self) {
        let handshake_is_over = matches!(self.phase, Phase::AwaitingRoots(_) | Phase::Ready);
        if self.has_roots && handshake_is_over {
            self.asked_for_roots = true;
            self.asked.retain(|_, asked| *asked != Asked::Roots);
            self.ask("roots/list", Asked::Roots);
        }
    }

    fn learn_roots(&mut self, outcome: Result<&RawValue, &RawValue>) {
        let roots: Option<ListRootsResult> = outcome.ok().and_then(|result| serde_json::from_str(result.get()).ok());
        if let Some(ListRootsResult { roots }) = roots {
            self.info.roots = roots.iter().filter_map(|root| roots::path(&root.uri)).collect::<Vec<PathBuf>>();
        }
        match self.phase {
            Phase::AwaitingRoots(_) => self.become_ready(),
            Phase::New | Phase::Initializing | Phase::Ready => self.changed(),
        }
    }

    /// The client said that the handshake is over, or acts as if it were, or never began one.
    fn finish_handshake(&mut self) {
        match self.phase {
            Phase::New => self.become_ready(),
            Phase::Initializing if self.has_roots => {
                self.phase = Phase::AwaitingRoots(Instant::now() + ROOTS_TIME);
                self.ask_for_roots();
            }
            Phase::Initializing => self.become_ready(),
            // It spoke plainly first and initialized afterwards.
            Phase::Ready if !self.asked_for_roots => self.ask_for_roots(),
            Phase::AwaitingRoots(_) | Phase::Ready => {}
        }
    }

    fn become_ready(&mut self) {
        self.phase = Phase::Ready;
        self.info.state = ClientState::Ready;
        self.publish();
        self.services.editor.event(ClientEvent::Ready(self.info.clone()));
    }

    /// What is told with `Ready` needs no event of its own.
    fn changed(&mut self) {
        self.publish();
        if self.phase == Phase::Ready {
            self.services.editor.event(ClientEvent::Changed(self.info.clone()));
        }
    }

    fn publish(&self) {
        self.services.notifier.publish(&self.info);
    }
}
