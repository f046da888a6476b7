//! MCP over HTTP for agents ("Streamable HTTP"): each POST carries one message (or a batch) and is answered with JSON,
//! or with events if the answer takes a while and the agent accepts them. GET opens a stream of notifications and our
//! requests.
//!
//! A client is a session, not a connection: the end of a connection cancels nothing of a named session, and undelivered
//! events can be fetched with GET and `Last-Event-ID`. A request without a session belongs to its connection and ends
//! with it, because its answer could not be fetched.

mod session;
mod sessions;
mod stream;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claude_ide_http::{Body, Headers, empty, full};
use claude_ide_protocol::{mcp::ProtocolVersion, without_lone_surrogates};
use hyper::{Method, Response, StatusCode, body::Incoming, header, http::request::Parts};
use tokio::time::sleep;

pub(crate) use self::sessions::Sessions;
use self::{
    session::{Asked, Session},
    stream::EventId,
};
use crate::{endpoint::Endpoint, identity::Access, routes::Refusal, shared::Shared};

/// Time for a message to arrive after its header.
const BODY_TIME: Duration = Duration::from_secs(30);
/// After this time an answer begins as events, if the client accepts them: clients give up a response without a header,
/// some after half a minute.
const EARLY: Duration = Duration::from_secs(1);
/// The header with the session's name.
const SESSION: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// The requests of one connection.
pub(crate) struct Requests {
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    /// The session of those that name none.
    own: Mutex<Option<Arc<Session>>>,
}

impl Requests {
    pub(crate) fn new(shared: Arc<Shared>, sessions: Arc<Sessions>) -> Self {
        Self { shared, sessions, own: Mutex::default() }
    }

    fn own(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        // A panic cannot leave this state half-changed, so a poisoned lock is fine.
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one request with a valid token.
    pub(crate) async fn answer(
        &self,
        endpoint: &Arc<Endpoint>,
        access: &Access,
        head: &Parts,
        body: Incoming,
    ) -> Response<Body> {
        let request = Request { connection: self, endpoint, access, headers: Headers(&head.headers) };
        let answer = match head.method {
            Method::POST => request.post(body).await,
            Method::GET => request.listen().await,
            _ => request.end(),
        };
        answer.unwrap_or_else(|refusal| {
            tracing::info!(reason = %refusal.reason(), "request refused");
            refusal.response()
        })
    }

    /// The connection speaks no HTTP any more: the session of requests that name none ends, as no other connection can
    /// find it.
    pub(crate) fn end(&self) {
        if let Some(session) = self.own().take().filter(|session| session.name().is_none()) {
            session.end();
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.end();
    }
}

struct Request<'r> {
    connection: &'r Requests,
    endpoint: &'r Arc<Endpoint>,
    access: &'r Access,
    headers: Headers<'r>,
}

impl Request<'_> {
    async fn post(&self, body: Incoming) -> Result<Response<Body>, Refusal> {
        let kind = self.headers.only("content-type").and_then(|value| value.split(|&byte| byte == b';').next());
        if !kind.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"application/json")) {
            return Err(Refusal::MediaType);
        }
        let text = read(body, self.endpoint.limits.message_bytes).await?;
        let asked = Asked::of(&text, self.endpoint.limits.batch);
        // The version for `initialize` is in its body.
        let version = match self.version() {
            Err(_) if asked.initializes => None,
            version => version?,
        };
        let (has_requests, takes_events) = (asked.has_requests(), self.takes_events());
        let session = self.session(asked.initializes).await?;
        let has_name = session.name().is_some();
        let presence = session.enter();
        let stream = session.send(text, asked, version, takes_events).await.ok_or(Refusal::UnknownSession)?;
        tokio::select! {
            biased;
            () = stream.settled() => {}
            () = sleep(EARLY), if takes_events => {}
        }
        let mut response = match stream.whole() {
            Some(None) if !has_requests || !takes_events => {
                let mut response = Response::new(empty());
                *response.status_mut() = StatusCode::ACCEPTED;
                response
            }
            Some(Some(answer)) => {
                let response = Response::builder().header(header::CONTENT_TYPE, "application/json");
                response.body(full(answer)).unwrap_or_default()
            }
            // A cancelled request has no answer, and its events end without one.
            Some(None) | None => {
                session.keep(&stream);
                let is_new = version.is_some_and(|version| version >= ProtocolVersion::V2025_11_25);
                stream.events(presence, 0, is_new)
            }
        };
        if !has_name && let Some(name) = session.name().and_then(|name| name.parse().ok()) {
            response.headers_mut().insert(SESSION, name);
        }
        Ok(response)
    }

    async fn listen(&self) -> Result<Response<Body>, Refusal> {
        if !self.takes_events() {
            return Err(Refusal::NotAcceptable);
        }
        self.version()?;
        if self.name().is_none() {
            return Err(Refusal::NoSession);
        }
        let session = self.session(false).await?;
        let last = self.headers.only("last-event-id").and_then(EventId::parse);
        match last {
            Some(last) if !last.is_unasked() => {
                let stream = session.kept(last).ok_or(Refusal::UnknownEvent)?;
                Ok(stream.events(session.enter(), last.event, false))
            }
            last => session.listen(last.map(|last| (last.session, last.event))).await.ok_or(Refusal::UnknownSession),
        }
    }

    fn end(&self) -> Result<Response<Body>, Refusal> {
        let name = self.name().ok_or(Refusal::NoSession)?;
        let session = self.connection.sessions.find(name).filter(|session| session.is_of(self.endpoint, self.access));
        session.ok_or(Refusal::UnknownSession)?.end();
        let mut response = Response::new(empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    /// MCP, "Sending Messages to the Server": a client accepts both forms of an answer.
    fn takes_events(&self) -> bool {
        self.headers.list("accept").any(|kind| {
            let kind = kind.split(|&byte| byte == b';').next().unwrap_or_default();
            kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
        })
    }

    /// MCP, "Protocol Version Header".
    fn version(&self) -> Result<Option<ProtocolVersion>, Refusal> {
        let mut all = self.headers.all(PROTOCOL_VERSION).peekable();
        if all.peek().is_none() {
            return Ok(None);
        }
        let version = self.headers.only(PROTOCOL_VERSION).and_then(|value| std::str::from_utf8(value).ok());
        version.and_then(ProtocolVersion::known).map(Some).ok_or(Refusal::ProtocolVersion)
    }

    fn name(&self) -> Option<&str> {
        let name = self.headers.only(SESSION).filter(|name| Sessions::is_name(name))?;
        std::str::from_utf8(name).ok()
    }

    /// The session named by the request, else that of its connection. An unknown name starts a session: its client knew
    /// this server before a restart, and few clients start again when told that it is gone.
    async fn session(&self, initializes: bool) -> Result<Arc<Session>, Refusal> {
        let sessions = &self.connection.sessions;
        if let Some(name) = self.name() {
            return match sessions.find(name) {
                Some(session) if session.is_of(self.endpoint, self.access) => Ok(session),
                Some(_) => Err(Refusal::UnknownSession),
                None => sessions.begin(&self.connection.shared, self.endpoint, self.access, Some(name.into())).await,
            };
        }
        let present = self.connection.own().clone().filter(|session| session.is_of(self.endpoint, self.access));
        if let Some(session) = present.filter(|session| !(initializes && session.name().is_some())) {
            return Ok(session);
        }
        let session = sessions.begin(&self.connection.shared, self.endpoint, self.access, None).await?;
        *self.connection.own() = Some(Arc::clone(&session));
        Ok(session)
    }
}

/// Reads the message of a POST.
async fn read(body: Incoming, limit: usize) -> Result<String, Refusal> {
    let body = claude_ide_http::read(body, limit, BODY_TIME).await?;
    let text = String::from_utf8(body.into()).map_err(|_| Refusal::NotText)?;
    Ok(without_lone_surrogates(&text).into_owned())
}
