//! A test client over a real socket, and its parts.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    self, Message,
    protocol::{CloseFrame, Role, WebSocket, WebSocketConfig},
};

use super::DEADLINE;

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

/// A connected socket.
#[must_use]
pub fn dial(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Sends a request and returns the response's head.
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

/// One client with its own socket.
pub struct TestClient {
    socket: WebSocket<TcpStream>,
    /// Messages received while waiting for others.
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

    /// Uses a socket that is already upgraded.
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

    /// The raw socket, for protocol violations.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.socket.get_mut()
    }

    pub fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    pub fn try_send(&mut self, message: Message) -> Result<(), tungstenite::Error> {
        self.socket.send(message)
    }

    /// Sends many messages in few writes.
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

    /// The whole response to a request.
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

    /// Calls a tool and returns the request's id.
    pub fn start_call(&mut self, tool: &str, args: &Value) -> u64 {
        self.send("tools/call", &json!({ "name": tool, "arguments": args }))
    }

    /// Proposes a text for a file, a call that waits for the user; returns the request's id.
    pub fn propose(&mut self, path: &str) -> u64 {
        self.start_call("openDiff", &json!({ "old_file_path": path, "new_file_contents": "" }))
    }

    /// The texts of a tool's answer.
    pub fn call(&mut self, tool: &str, args: &Value) -> Vec<String> {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": args }));
        result["content"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for a notification, or a request of the server.
    pub fn wait_method(&mut self, method: &str) -> Value {
        self.take(method, |message| message["method"] == method)
    }

    /// The next message after one text.
    pub fn answer_to(&mut self, text: &str) -> Value {
        self.send_text(text);
        self.next_message()
    }

    /// The next message of any kind.
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

    /// The messages received but not waited for, after a round trip.
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

    /// Reads until the close frame; returns its code and reason, or None if it is empty.
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

    /// Closes like the CLI, without a code, and waits for the echo and the end of the connection.
    pub fn wait_for_goodbye(mut self) {
        self.socket.close(None).unwrap();
        assert_eq!(self.goodbye(), None);
        // The other end may be gone already.
        drop(self.stream().shutdown(Shutdown::Write));
        self.wait_end();
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
