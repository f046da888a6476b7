//! One HTTP client: its requests come over any number of connections. An answer leaves over the connection of its
//! request, or one that fetches it later.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use claude_ide_http::{Body, stopping};
use hyper::Response;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::{
    pin,
    sync::{Notify, mpsc},
    time::{sleep, timeout_at},
};

use claude_ide_protocol::{
    jsonrpc::{self, RequestId},
    mcp::ProtocolVersion,
};

use super::stream::{EventId, Stream, UNASKED};
use crate::{
    client::Client,
    editor::ClientId,
    endpoint::Endpoint,
    identity::{Access, Run},
    notifier::PROGRESS,
    outbox::Outbox,
    shared::Shared,
};

/// The subjects of all notifications.
const ALL: &str = "";
/// Limit of messages waiting to be handled.
const MAX_WAITING: usize = 64;
/// Limits of event streams kept for a later fetch: their number, and the bytes of ended ones.
const MAX_KEPT: usize = 32;
const MAX_KEPT_BYTES: usize = 8 << 20;

/// A client that is connected now may leave in a moment.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);

pub(crate) struct Session {
    number: ClientId,
    endpoint: Arc<Endpoint>,
    run: Option<Arc<Run>>,
    /// The name by which other connections find it.
    name: OnceLock<Box<str>>,
    inbox: mpsc::Sender<Input>,
    beat: Duration,
    unasked: Arc<Stream>,
    kept: Mutex<VecDeque<Arc<Stream>>>,
    last_stream: AtomicU64,
    /// The number of open requests and streams, and when it last changed.
    present: Mutex<(usize, Instant)>,
    listeners: AtomicUsize,
    end: Notify,
}

/// Where sessions are found by their names.
pub(super) trait Names: Send + Sync + 'static {
    /// Gives a session a random name, unless it has one.
    fn name(&self, session: &Arc<Session>);

    /// Removes an ended session.
    fn forget(&self, session: &Arc<Session>);
}

enum Input {
    Message {
        text: String,
        asked: Asked,
        version: Option<ProtocolVersion>,
        stream: Arc<Stream>,
        takes_events: bool,
    },
    /// A listening stream was opened.
    Listens,
}

/// The properties of a message that matter before it is handled. An unreadable one has none.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) initializes: bool,
    requests: Vec<RequestId>,
    progress: Vec<Value>,
}

#[derive(Deserialize)]
struct Member<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "progressToken")]
    progress_token: Value,
}

impl Asked {
    pub(super) fn of(text: &str, limit: usize) -> Self {
        let mut asked = Self::default();
        let messages = if jsonrpc::is_batch(text) { jsonrpc::split_batch(text, limit) } else { Ok(Vec::new()) };
        let Ok(messages) = messages else { return asked };
        let single = messages.is_empty().then_some(text);
        for text in single.into_iter().chain(messages.into_iter().map(RawValue::get)) {
            let Ok(Member { id, method, params }) = serde_json::from_str(text) else { continue };
            let Some(id) = id.and_then(RequestId::from_raw) else { continue };
            asked.initializes |= method == "initialize";
            asked.requests.push(id);
            let params = params.filter(|params| params.get().starts_with('{'));
            if let Some(Params { meta }) = params.and_then(|params| serde_json::from_str(params.get()).ok()) {
                asked.progress.push(meta.progress_token);
            }
        }
        asked
    }

    pub(super) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }
}

/// Counts as a connected client while it exists.
pub(super) struct Presence {
    session: Arc<Session>,
    listens: bool,
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut present = self.session.present();
        *present = (present.0.saturating_sub(1), Instant::now());
        drop(present);
        if self.listens {
            self.session.listeners.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Session {
    /// A session, and the future that serves it until it ends.
    pub(super) fn new<N: Names>(
        shared: &Arc<Shared>,
        names: Arc<N>,
        endpoint: &Arc<Endpoint>,
        access: &Access,
        name: Option<Box<str>>,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + use<N>) {
        let number = shared.identity.next_client();
        let beat = shared.services.options.keepalive.interval;
        let (inbox, inputs) = mpsc::channel(MAX_WAITING);
        let session = Arc::new(Self {
            number,
            endpoint: Arc::clone(endpoint),
            run: access.run.clone(),
            name: name.map_or_else(OnceLock::new, OnceLock::from),
            inbox,
            beat,
            unasked: Arc::new(Stream::new(number.get(), UNASKED, beat)),
            kept: Mutex::default(),
            last_stream: AtomicU64::new(UNASKED),
            present: Mutex::new((0, Instant::now())),
            listeners: AtomicUsize::new(0),
            end: Notify::new(),
        });
        let outbox = Arc::new(Outbox::default());
        let services = Arc::clone(&shared.services);
        let mut client = Client::new(services, Arc::clone(endpoint), number, access, Arc::clone(&outbox), None);
        client.cannot_be_asked();
        tracing::info!(client = %number, "connected by HTTP");
        let server = Server {
            shared: Arc::clone(shared),
            names,
            session: Arc::clone(&session),
            client,
            outbox,
            open: Vec::new(),
        };
        (session, server.run(inputs))
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.get().map(AsRef::as_ref)
    }

    /// Sets its name, unless it has one.
    pub(super) fn set_name(&self, name: Box<str>) -> bool {
        self.name.set(name).is_ok()
    }

    pub(super) fn is_of(&self, endpoint: &Arc<Endpoint>, access: &Access) -> bool {
        let same_run = match (&self.run, &access.run) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        same_run && self.is_behind(endpoint)
    }

    pub(super) fn is_behind(&self, endpoint: &Arc<Endpoint>) -> bool {
        Arc::ptr_eq(&self.endpoint, endpoint)
    }

    /// Ends it, cancelling its open requests.
    pub(crate) fn end(&self) {
        self.end.notify_one();
    }

    fn present(&self) -> MutexGuard<'_, (usize, Instant)> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when no connection uses it.
    pub(super) fn alone_since(&self) -> Option<Instant> {
        let (count, since) = *self.present();
        (count == 0).then_some(since)
    }

    pub(super) fn enter(self: &Arc<Self>) -> Presence {
        let mut present = self.present();
        *present = (present.0.saturating_add(1), Instant::now());
        drop(present);
        Presence { session: Arc::clone(self), listens: false }
    }

    /// Passes on a message; the answer comes on the returned stream. `None` if the session has ended.
    pub(super) async fn send(
        &self,
        text: String,
        asked: Asked,
        version: Option<ProtocolVersion>,
        takes_events: bool,
    ) -> Option<Arc<Stream>> {
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let stream = Arc::new(Stream::new(self.number.get(), number, self.beat));
        let input = Input::Message { text, asked, version, stream: Arc::clone(&stream), takes_events };
        self.inbox.send(input).await.ok()?;
        Some(stream)
    }

    fn streams(&self) -> MutexGuard<'_, VecDeque<Arc<Stream>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a stream for a later fetch.
    pub(super) fn keep(&self, stream: &Arc<Stream>) {
        let mut kept = self.streams();
        kept.push_back(Arc::clone(stream));
        let mut bytes: usize = kept.iter().filter(|stream| stream.has_ended()).map(|stream| stream.bytes()).sum();
        while (kept.len() > MAX_KEPT || bytes > MAX_KEPT_BYTES)
            && let Some(oldest) = kept.iter().position(|stream| stream.has_ended())
            && let Some(oldest) = kept.remove(oldest)
        {
            bytes = bytes.saturating_sub(oldest.bytes());
        }
    }

    pub(super) fn kept(&self, id: EventId) -> Option<Arc<Stream>> {
        let is_ours = id.session == self.number.get();
        self.streams().iter().find(|stream| is_ours && stream.number() == id.stream).cloned()
    }

    /// Streams notifications and our requests, from after the given event on. `None` if the session has ended.
    pub(super) async fn listen(self: &Arc<Self>, last: Option<(u64, u64)>) -> Option<Response<Body>> {
        let mut presence = self.enter();
        self.listeners.fetch_add(1, Ordering::Relaxed);
        presence.listens = true;
        self.inbox.send(Input::Listens).await.ok()?;
        let after = last.filter(|(session, _)| *session == self.number.get()).map(|(_, event)| event);
        Some(self.unasked.events(presence, after.unwrap_or_else(|| self.unasked.taken()), false))
    }
}

/// Serves a session.
struct Server<N> {
    shared: Arc<Shared>,
    names: Arc<N>,
    session: Arc<Session>,
    client: Client,
    outbox: Arc<Outbox>,
    open: Vec<Open>,
}

/// An unanswered message.
struct Open {
    stream: Arc<Stream>,
    requests: Vec<RequestId>,
    /// The tokens of its progress notifications.
    progress: Vec<String>,
}

impl<N: Names> Server<N> {
    async fn run(mut self, mut inputs: mpsc::Receiver<Input>) {
        let reason = self.serve(&mut inputs).await;
        drop(inputs);
        let Self { names, session, client, open, .. } = self;
        tracing::info!(client = %client.id(), reason, "disconnected");
        names.forget(&session);
        client.disconnect(reason.to_owned());
        for Open { stream, .. } in open {
            stream.end();
        }
        session.unasked.end();
    }

    async fn serve(&mut self, inputs: &mut mpsc::Receiver<Input>) -> &'static str {
        let session = Arc::clone(&self.session);
        let patience = session.endpoint.limits.session;
        let mut shutdown = self.shared.shutdown.subscribe();
        let (stop, sent_away, look) = (stopping(&mut shutdown), self.client.sent_away(), sleep(patience));
        pin!(stop, sent_away, look);
        loop {
            let about = if session.listeners.load(Ordering::Relaxed) > 0 { ALL } else { PROGRESS };
            tokio::select! {
                biased;
                deadline = &mut stop => {
                    self.wind_down(deadline).await;
                    return "the editor is closing";
                }
                () = &mut sent_away => return "sent away",
                () = session.end.notified() => return "its session has ended",
                Some(input) = inputs.recv() => self.take(input),
                () = self.client.settle(), if !self.client.is_idle() => {}
                news = self.outbox.next_about(about) => self.tell(news),
                () = &mut look => {
                    let alone = session.alone_since().map(|since| since.elapsed());
                    if alone.is_some_and(|alone| alone >= patience) {
                        return "its session was abandoned";
                    }
                    let rest = patience.saturating_sub(alone.unwrap_or_default());
                    if let Some(next) = Instant::now().checked_add(rest.max(SHORTEST_LOOK)) {
                        look.as_mut().reset(next.into());
                    }
                }
            }
            self.deliver();
        }
    }

    fn take(&mut self, input: Input) {
        let Input::Message { text, asked, version, stream, takes_events } = input else {
            // Its client knew the server before a restart.
            return self.client.be_ready();
        };
        // MCP, "Protocol Version Header": the version of a client that does not name one.
        self.client.assume(version.unwrap_or(ProtocolVersion::V2025_03_26));
        self.client.receive(&text);
        if self.client.speaks_mcp() {
            self.names.name(&self.session);
        }
        for answer in self.outbox.take_answers() {
            stream.answer(answer);
        }
        let is_new = |id: &RequestId| !self.open.iter().any(|open| open.requests.contains(id));
        let requests = asked.requests.into_iter().filter(|id| self.client.is_open(id) && is_new(id)).collect();
        let progress = asked.progress.into_iter().filter(|_| takes_events);
        let progress = progress.map(|token| format!("{PROGRESS} {token}")).collect();
        self.open.push(Open { stream, requests, progress });
    }

    fn tell(&self, news: Vec<(Box<str>, Bytes)>) {
        for (about, message) in news {
            let asked = self.open.iter().find(|open| open.progress.iter().any(|known| **known == *about));
            match asked {
                Some(open) => open.stream.push(message),
                None if about.starts_with(PROGRESS) => {}
                None => self.session.unasked.push(message),
            }
        }
    }

    /// Passes each answer to its request's stream, and ends the streams that are complete.
    fn deliver(&mut self) {
        for answer in self.outbox.take_answers() {
            let ids = ids_of(&answer);
            match self.open.iter().find(|open| open.requests.iter().any(|id| ids.contains(id))) {
                Some(open) => open.stream.answer(answer),
                None => tracing::error!(client = %self.client.id(), "an answer without a request"),
            }
        }
        let Self { open, client, .. } = self;
        open.retain(|open| {
            let waits = open.requests.iter().any(|id| client.is_open(id));
            if !waits {
                open.stream.end();
            }
            waits
        });
    }

    /// Sends the answers that are possible before the deadline.
    async fn wind_down(&mut self, deadline: Instant) {
        self.client.wind_down();
        let client = &mut self.client;
        let rest = async {
            while !client.is_idle() {
                client.settle().await;
            }
        };
        if timeout_at(deadline.into(), rest).await.is_err() {
            self.client.give_up_all();
        }
        self.deliver();
    }
}

/// The requests that an answer belongs to: one, or those of a batch.
fn ids_of(answer: &[u8]) -> Vec<RequestId> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let answers = match answer.first() {
        Some(b'[') => serde_json::from_slice::<Vec<Answer<'_>>>(answer),
        _ => serde_json::from_slice(answer).map(|answer| vec![answer]),
    };
    answers.into_iter().flatten().filter_map(|answer| RequestId::from_raw(answer.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_of_a_message_are_read_from_it() {
        let call =
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"_meta":{"progressToken":"a"},"name":"x"}}"#;
        let asked = Asked::of(call, 10);
        assert_eq!((asked.requests.len(), asked.progress, asked.initializes), (1, vec!["a".into()], false));
        let batch =
            format!(r#"[{call}, {{"method":"n"}}, {{"id":1,"result":{{}}}}, {{"id":6,"method":"initialize"}}]"#);
        let asked = Asked::of(&batch, 10);
        assert_eq!((asked.requests.len(), asked.initializes), (2, true));
        for odd in ["", "[", "[]", "{", r#"{"id":null,"method":"m"}"#, r#"{"id":1,"method":5}"#] {
            assert!(!Asked::of(odd, 10).has_requests(), "{odd}");
        }
    }

    #[test]
    fn an_answer_names_its_requests() {
        let ids = |answer: &str| ids_of(answer.as_bytes()).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(ids(r#"{"jsonrpc":"2.0","id":5,"result":{"id":6}}"#), ["5"]);
        assert_eq!(
            ids(r#"[{"jsonrpc":"2.0","id":null,"error":{}},{"jsonrpc":"2.0","id":"a","result":[]}]"#),
            [r#""a""#]
        );
    }
}
