//! A server, started and stopped as the editor does it.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, value::RawValue};
use tokio::{
    runtime::{Builder, Handle},
    time::sleep,
};

use super::{DEADLINE, ScriptedEditor, Shared, TestClient};
use crate::{ClientId, Identity, Keepalive, Server, ServerHandle, ServerOptions, ServerStatus};

/// A server on its own thread.
pub struct TestServer {
    pub handle: ServerHandle,
    pub editor: Arc<ScriptedEditor>,
    pub identity: Identity,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    #[must_use]
    pub fn start(options: ServerOptions) -> Self {
        Self::start_as(options, Identity::generate().unwrap(), ScriptedEditor::new())
    }

    #[must_use]
    pub fn start_as(options: ServerOptions, identity: Identity, editor: Arc<ScriptedEditor>) -> Self {
        let shared = Arc::new(Shared(Arc::clone(&editor)));
        let (server, handle) = Server::bind(patient(options), identity.clone(), shared).unwrap();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                server.run().await;
                until_no_task_runs().await;
            });
        });
        Self { handle, editor, identity, thread: Some(thread) }
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.handle.info().port
    }

    #[must_use]
    pub fn token(&self) -> String {
        self.identity.token().reveal().to_owned()
    }

    /// The agents' token.
    #[must_use]
    pub fn agents_token(&self) -> String {
        self.identity.agents_token().reveal().to_owned()
    }

    /// A connected client with a valid token, before any message.
    #[must_use]
    pub fn connect(&self) -> TestClient {
        TestClient::connect(self.port(), &self.token())
    }

    /// A client after its MCP handshake.
    #[must_use]
    pub fn client(&self) -> TestClient {
        let mut client = self.connect();
        client.initialize("2025-11-25");
        client
    }

    pub fn notify(&self, method: &str, params: &Value, to: Option<ClientId>) {
        self.handle.notify(method, RawValue::from_string(params.to_string()).unwrap(), to).unwrap();
    }

    /// Waits for a state of the server.
    pub fn wait_status(&self, what: &str, wanted: impl Fn(&ServerStatus) -> bool) {
        let until = Instant::now() + DEADLINE;
        while !wanted(&self.handle.status()) {
            assert!(Instant::now() < until, "waited in vain for {what}: {:?}", self.handle.status());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Stops the server and waits for its thread.
    pub fn stop(&mut self) {
        self.stop_within(DEADLINE);
    }

    /// The same, with another deadline.
    pub fn stop_within(&mut self, deadline: Duration) {
        self.handle.shutdown(deadline);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A busy machine must not look like a slow client: timeouts and pings only happen if a test sets their time.
fn patient(options: ServerOptions) -> ServerOptions {
    const LONG: Duration = Duration::from_secs(3600);
    let usual = ServerOptions::default();
    let unless_set = |set: Duration, usual: Duration| if set == usual { LONG } else { set };
    ServerOptions {
        handshake_timeout: unless_set(options.handshake_timeout, usual.handshake_timeout),
        roots_timeout: unless_set(options.roots_timeout, usual.roots_timeout),
        session_timeout: unless_set(options.session_timeout, usual.session_timeout),
        keepalive: Keepalive {
            interval: unless_set(options.keepalive.interval, usual.keepalive.interval),
            timeout: unless_set(options.keepalive.timeout, usual.keepalive.timeout),
            ..options.keepalive
        },
        ..options
    }
}

/// The runtime may outlive the server, so none of its tasks may be left.
async fn until_no_task_runs() {
    let until = Instant::now() + DEADLINE;
    while Handle::current().metrics().num_alive_tasks() > 0 {
        assert!(Instant::now() < until, "the server left a task behind");
        sleep(Duration::from_millis(1)).await;
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop();
        }
    }
}
