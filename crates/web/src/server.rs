//! The server and its handle.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use claude_ide_http::{self as http, Body, Hosts, Secret, Socket};
use claude_ide_session::{Batch, Service};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::sync::{mpsc, watch};

use crate::api::{self, Visit};
use crate::authentication::Authentication;
use crate::broker::Broker;
use crate::delivery;
use crate::display;
use crate::editor::Report;
use crate::error::WebError;
use crate::listing::Changes;
use crate::options::WebOptions;
use crate::sessions::{Sessions, lock};
use crate::site::Site;
use crate::socket;

/// How many ports after the requested one are tried before any free one.
const MORE_PORTS: u16 = 20;
/// Time for connections to close.
const GOODBYE: Duration = Duration::from_millis(250);

impl http::Visit for Visit {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        api::answer(&self, request).await
    }

    async fn upgraded(self: Arc<Self>, socket: Socket) {
        let plan = lock(&self.plan).take();
        if let Some(plan) = plan {
            socket::serve(socket, plan, &self.caller, &self.site).await;
        }
    }
}

/// The server, bound but not yet running.
pub struct Web {
    listener: TcpListener,
    site: Arc<Site>,
    wanted: mpsc::Receiver<String>,
}

/// A handle to the server.
#[derive(Clone)]
pub struct WebHandle {
    site: Arc<Site>,
    address: SocketAddr,
}

impl Web {
    /// Binds a port.
    ///
    /// # Errors
    /// [`WebError`]; then nothing is left behind.
    pub fn bind(options: WebOptions, service: &Arc<Service>) -> Result<(Self, WebHandle), WebError> {
        let failed = |source| WebError::Bind { host: options.host.clone(), source };
        let more =
            (options.port != 0).then(|| options.port.saturating_add(1)..=options.port.saturating_add(MORE_PORTS));
        let ports = std::iter::once(options.port).chain(more.into_iter().flatten()).chain([0]);
        let listener = http::bind(&options.host, ports).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (broker, wanted) = Broker::new(options.writing, options.limits.clone());
        let site = Arc::new(Site {
            hosts: Hosts { host: options.host.clone(), names: options.names },
            authentication: Authentication::new()?,
            sessions: Arc::new(Sessions::new(service)),
            listed: Changes::new(),
            broker,
            limits: options.limits,
            stop: watch::Sender::new(None),
        });
        let handle = WebHandle { site: Arc::clone(&site), address };
        Ok((Self { listener, site, wanted }, handle))
    }

    /// Serves until the handle stops it. Needs a runtime with I/O and time.
    pub async fn run(self) {
        let Self { listener, site, wanted } = self;
        let limits = http::Limits {
            connections: site.limits.connections,
            strangers: site.limits.connections,
            handshake: site.limits.handshake,
            idle: site.limits.handshake,
            stall: site.limits.silence,
        };
        let visit = |caller| Arc::new(Visit { site: Arc::clone(&site), caller, plan: Mutex::default() });
        tokio::select! {
            () = http::serve(listener, limits, site.stop.subscribe(), visit) => {}
            // Never completes: the broker keeps the other end.
            () = delivery::run(&site, wanted) => {}
        }
    }
}

impl WebHandle {
    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token of clients other than browsers.
    #[must_use]
    pub fn token(&self) -> &Secret {
        self.site.authentication.token()
    }

    /// A code that signs in one browser, once.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub fn code(&self) -> Result<Secret, WebError> {
        self.site.authentication.code()
    }

    /// Handles a report of the editor: the outcome of a request, or an open request to the user.
    pub fn tell(&self, report: Report) {
        self.site.broker.take(report);
    }

    /// Publishes an event of the Messages API, verbatim, to the current readers. Not stored.
    pub fn say(&self, session: &str, kind: &str, event: &str) {
        self.site.broker.say(session, kind, event);
    }

    /// Streams lines that a CLI shows in its terminal.
    pub fn display(&self, session: &str, batch: &Batch<'_>) {
        for event in display::events(batch) {
            let kind = event.get("type").and_then(serde_json::Value::as_str).unwrap_or_default();
            self.say(session, kind, &event.to_string());
        }
    }

    /// Voids a session's streamed message: it was interrupted, or will be streamed again.
    pub fn break_off(&self, session: &str) {
        self.site.broker.break_off(session);
    }

    /// Stops the server.
    pub fn stop(&self) {
        self.site.stop.send_replace(Instant::now().checked_add(GOODBYE));
    }
}
