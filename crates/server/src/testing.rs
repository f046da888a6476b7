//! For tests: an editor that does what the test says, a server on a thread of its own as in the editor, and a client that
//! speaks over a real socket. Every wait has a deadline.
#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "only tests use it, and they may fail loudly"
)]

use std::{
    collections::{HashMap, VecDeque},
    io::{self, Read, Write},
    net::TcpStream,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json, value::RawValue};
use tokio::{runtime::Builder, sync::oneshot};
use tungstenite::{
    Message,
    protocol::{CloseFrame, Role, WebSocket, WebSocketConfig},
};

use crate::{
    ClientEvent, ClientId, Editor, EditorCall, EditorError, EditorReply, Identity, Server, ServerHandle, ServerOptions,
};

/// How long a test waits for what should happen at once.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// An editor that answers as it is told, and remembers what it was asked.
#[derive(Default)]
pub struct ScriptedEditor {
    state: Mutex<Script>,
    changed: Condvar,
}

#[derive(Default)]
struct Script {
    replies: HashMap<&'static str, Result<Value, EditorError>>,
    calls: Vec<EditorCall>,
    waiting: VecDeque<(&'static str, oneshot::Sender<Result<Value, EditorError>>)>,
    cancelled: Vec<EditorCall>,
    events: Vec<ClientEvent>,
}

impl ScriptedEditor {
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.state.lock().unwrap()
    }

    /// From now on, calls of that name get this reply. Others wait for [`Self::answer`].
    pub fn reply(&self, name: &'static str, reply: Result<Value, EditorError>) {
        self.script().replies.insert(name, reply);
    }

    /// Answers the call of that name that has waited longest and was not cancelled.
    pub fn answer(&self, name: &'static str, reply: Result<Value, EditorError>) {
        self.wait(&format!("a call of {name} that waits"), |script| {
            let waits = |(waiting, sender): &(_, oneshot::Sender<_>)| *waiting == name && !sender.is_closed();
            let index = script.waiting.iter().position(waits)?;
            script.waiting.remove(index)
        })
        .1
        .send(reply)
        .expect("nobody waits for the answer any more");
    }

    /// Waits for the `number`th call of that name, counted from 1.
    pub fn wait_call(&self, name: &str, number: usize) -> EditorCall {
        self.wait(&format!("call {number} of {name}"), |script| {
            script.calls.iter().filter(|call| call.name == name).nth(number - 1).cloned()
        })
    }

    /// Waits until a call of that name was cancelled.
    pub fn wait_cancelled(&self, name: &str) -> EditorCall {
        self.wait(&format!("the cancellation of {name}"), |script| {
            script.cancelled.iter().find(|call| call.name == name).cloned()
        })
    }

    /// Waits for an event.
    pub fn wait_event<T>(&self, what: &str, pick: impl Fn(&ClientEvent) -> Option<T>) -> T {
        self.wait(what, |script| script.events.iter().find_map(&pick))
    }

    /// Waits until that many clients have left.
    pub fn wait_disconnected(&self, number: usize) -> Vec<String> {
        self.wait(&format!("{number} clients to leave"), |script| {
            let reasons: Vec<_> = script
                .events
                .iter()
                .filter_map(|event| match event {
                    ClientEvent::Disconnected { reason, .. } => Some(reason.clone()),
                    _ => None,
                })
                .collect();
            (reasons.len() >= number).then_some(reasons)
        })
    }

    #[must_use]
    pub fn calls(&self) -> Vec<EditorCall> {
        self.script().calls.clone()
    }

    #[must_use]
    pub fn events(&self) -> Vec<ClientEvent> {
        self.script().events.clone()
    }

    fn wait<T>(&self, what: &str, mut pick: impl FnMut(&mut Script) -> Option<T>) -> T {
        let until = Instant::now() + DEADLINE;
        let mut script = self.script();
        loop {
            if let Some(found) = pick(&mut script) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}; events: {:?}", script.events);
            script = self.changed.wait_timeout(script, left).unwrap().0;
        }
    }
}

/// Lives as long as a call is waited for.
struct Waiting {
    editor: Arc<ScriptedEditor>,
    call: Option<EditorCall>,
}

impl Waiting {
    fn settled(&mut self) {
        self.call = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.editor.script().cancelled.push(call);
            self.editor.changed.notify_all();
        }
    }
}

/// The trait is implemented for the shared editor, so that a call can outlive the borrow.
pub struct Shared(pub Arc<ScriptedEditor>);

impl Editor for Shared {
    fn call(&self, call: EditorCall) -> EditorReply {
        let editor = Arc::clone(&self.0);
        let mut script = editor.script();
        script.calls.push(call.clone());
        let scripted = script.replies.get(call.name).cloned();
        let (sender, receiver) = oneshot::channel();
        if scripted.is_none() {
            script.waiting.push_back((call.name, sender));
        }
        drop(script);
        editor.changed.notify_all();
        let mut waiting = Waiting { editor, call: Some(call) };
        Box::pin(async move {
            let reply = match scripted {
                Some(reply) => reply,
                None => receiver.await.unwrap_or(Err(EditorError::Closed)),
            };
            waiting.settled();
            reply.map(|reply| RawValue::from_string(reply.to_string()).unwrap())
        })
    }

    fn event(&self, event: ClientEvent) {
        self.0.script().events.push(event);
        self.0.changed.notify_all();
    }
}

/// A server on a thread of its own.
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
        let (server, handle) = Server::bind(options, identity.clone(), shared).unwrap();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(server.run());
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

    /// A client that has connected, with the right token, and nothing more.
    #[must_use]
    pub fn connect(&self) -> TestClient {
        TestClient::connect(self.port(), &self.token())
    }

    /// A client that has finished the MCP handshake.
    #[must_use]
    pub fn client(&self) -> TestClient {
        let mut client = self.connect();
        client.initialize("2025-11-25");
        client
    }

    pub fn notify(&self, method: &str, params: &Value, to: Option<ClientId>) {
        self.handle.notify(method, RawValue::from_string(params.to_string()).unwrap(), to).unwrap();
    }

    /// Waits until the server's state is as wanted.
    pub fn wait_status(&self, what: &str, wanted: impl Fn(&crate::ServerStatus) -> bool) {
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

impl Drop for TestServer {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop();
        }
    }
}

/// The lines of an upgrade request, without the token.
#[must_use]
pub fn upgrade_request(port: u16) -> Vec<String> {
    [
        "GET / HTTP/1.1",
        &format!("Host: 127.0.0.1:{port}"),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: mcp",
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
        "User-Agent: claude-code/2.1.329 (cli)",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// A socket to the server, before any word is said.
#[must_use]
pub fn dial(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Sends a request and returns the head of the response.
pub fn http(stream: &mut TcpStream, lines: &[String]) -> String {
    stream.write_all((lines.join("\r\n") + "\r\n\r\n").as_bytes()).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    String::from_utf8(head).unwrap()
}

/// One client, with a socket of its own.
pub struct TestClient {
    socket: WebSocket<TcpStream>,
    /// What came while something else was waited for.
    stash: VecDeque<Value>,
    next_id: u64,
}

impl TestClient {
    #[must_use]
    pub fn connect(port: u16, token: &str) -> Self {
        let mut stream = dial(port);
        let mut request = upgrade_request(port);
        request.push(format!("X-Claude-Code-Ide-Authorization: {token}"));
        let head = http(&mut stream, &request);
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        Self::over(stream)
    }

    /// Speaks over a socket that is upgraded already.
    #[must_use]
    pub fn over(stream: TcpStream) -> Self {
        let limit = Some(256 << 20);
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        Self {
            socket: WebSocket::from_raw_socket(stream, Role::Client, Some(config)),
            stash: VecDeque::new(),
            next_id: 0,
        }
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "claude-code", "version": "2.1.329" },
        });
        let result = self.request("initialize", &params);
        self.notify("notifications/initialized", &json!({}));
        result
    }

    /// The socket itself, for what no client should do.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.socket.get_mut()
    }

    pub fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    pub fn try_send(&mut self, message: Message) -> Result<(), tungstenite::Error> {
        self.socket.send(message)
    }

    /// Many messages in few writes.
    pub fn send_all(&mut self, texts: impl Iterator<Item = String>) {
        for text in texts {
            self.socket.write(Message::text(text)).unwrap();
        }
        self.socket.flush().unwrap();
    }

    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send_text(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send_text(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        self.take(&format!("the answer to {id}"), |message| message["id"] == id && message.get("method").is_none())
    }

    /// The result of a request; panics on an error.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The error of a request; panics on a result.
    pub fn error(&mut self, method: &str, params: &Value) -> (i64, String) {
        let id = self.send(method, params);
        let answer = self.answer(id);
        let error = &answer["error"];
        (error["code"].as_i64().unwrap_or_else(|| panic!("{answer}")), error["message"].as_str().unwrap().to_owned())
    }

    /// The texts that a tool answers.
    pub fn call(&mut self, tool: &str, args: &Value) -> Vec<String> {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": args }));
        result["content"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for a notification, or a request of the server.
    pub fn wait_method(&mut self, method: &str) -> Value {
        self.take(method, |message| message["method"] == method)
    }

    /// The next message, whatever it is.
    pub fn next_message(&mut self) -> Value {
        self.take("a message", |_| true)
    }

    fn take(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.stash.iter().position(&wanted) {
            return self.stash.remove(index).unwrap();
        }
        loop {
            match self.read() {
                Message::Text(text) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    if wanted(&message) {
                        return message;
                    }
                    self.stash.push_back(message);
                }
                Message::Close(frame) => panic!("closed while waiting for {what}: {frame:?}"),
                _ => {}
            }
        }
    }

    /// What was received but not waited for, after everything sent so far was answered.
    pub fn unasked(&mut self) -> Vec<Value> {
        self.request("ping", &json!({}));
        self.stash.drain(..).collect()
    }

    /// The next frame of any kind.
    pub fn read(&mut self) -> Message {
        self.socket.read().unwrap()
    }

    pub fn try_read(&mut self) -> Result<Message, tungstenite::Error> {
        self.socket.read()
    }

    /// Reads until the server says goodbye; its code and reason, or None for an empty one.
    pub fn goodbye(&mut self) -> Option<(u16, String)> {
        loop {
            match self.socket.read() {
                Ok(Message::Close(frame)) => {
                    return frame.map(|CloseFrame { code, reason }| (code.into(), reason.to_string()));
                }
                Ok(_) => {}
                Err(error) => panic!("the connection ended without a goodbye: {error}"),
            }
        }
    }

    /// Closes as the CLI does, without a code, and waits for the echo.
    pub fn wait_for_goodbye(mut self) {
        self.socket.close(None).unwrap();
        assert_eq!(self.goodbye(), None);
    }

    /// Reads until the socket ends.
    pub fn wait_end(mut self) {
        let _ = self.socket.flush();
        let stream = self.socket.get_mut();
        let mut waste = [0; 4096];
        loop {
            match stream.read(&mut waste) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return,
                Err(error) => panic!("the socket did not end: {error}"),
            }
        }
    }
}
