//! A site over a folder of transcripts, and its clients: raw TCP, and sockets.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]

use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use claude_ide_session::{ConfigDir, Service};
use claude_ide_web::{Ask, Editor, Limits, Web, WebHandle, WebOptions, Writing};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

pub const LONG: Duration = Duration::from_secs(60);

/// An editor that only records its requests.
struct Requests(mpsc::UnboundedSender<Ask>);

impl Editor for Requests {
    fn ask(&self, ask: Ask) -> bool {
        self.0.send(ask).is_ok()
    }
}

pub struct Lab {
    dir: tempfile::TempDir,
    pub handle: WebHandle,
    pub service: Arc<Service>,
    pub at: SocketAddr,
}

impl Lab {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        Self::written(limits, None)
    }

    /// A site that clients may write to, and the requests to its editor.
    pub fn writable(limits: Limits, commands: bool) -> (Self, mpsc::UnboundedReceiver<Ask>) {
        let (tell, asks) = mpsc::unbounded_channel();
        let writing = Writing { editor: Arc::new(Requests(tell)), commands };
        (Self::written(limits, Some(writing)), asks)
    }

    fn written(limits: Limits, writing: Option<Writing>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("projects/-p")).unwrap();
        fs::create_dir_all(dir.path().join("sessions")).unwrap();
        let service = Service::start(ConfigDir::at(dir.path()), dir.path().join("cache.json")).unwrap();
        let options =
            WebOptions { port: 0, names: vec!["box.tail.ts.net".to_owned()], limits, writing, ..WebOptions::default() };
        let (web, handle) = Web::bind(options, &service).unwrap();
        tokio::spawn(web.run());
        let at = handle.address();
        Self { dir, handle, service, at }
    }

    pub fn transcript(&self, id: &str) -> PathBuf {
        self.dir.path().join(format!("projects/-p/{id}.jsonl"))
    }

    pub fn append(&self, id: &str, lines: &[String]) {
        let mut file = File::options().append(true).create(true).open(self.transcript(id)).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Writes a session record for this process.
    pub fn record(&self, id: &str, status: &str, more: &str) {
        let pid = std::process::id();
        let record = format!(r#"{{"pid":{pid},"sessionId":"{id}","cwd":"/p","status":"{status}"{more}}}"#);
        let folder = self.dir.path().join("sessions");
        fs::write(folder.join("new"), record).unwrap();
        fs::rename(folder.join("new"), folder.join(format!("{pid}.json"))).unwrap();
    }

    /// Writes a session record for this process, and waits until it is known.
    pub async fn run(&self, id: &str, status: &str) {
        let lives = self.service.lives();
        let mut changes = lives.changes();
        self.record(id, status, "");
        let known = async {
            while lives.of(id).is_none() {
                changes.changed().await.unwrap();
            }
        };
        timeout(LONG, known).await.expect("a known session");
    }

    /// Sends a request with these lines; returns the whole answer.
    pub async fn ask(&self, first: &str, lines: &[&str], body: &str) -> String {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        let mut text = format!("{first} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        lines.iter().for_each(|line| text += &format!("{line}\r\n"));
        text += &format!("\r\n{body}");
        stream.write_all(text.as_bytes()).await.ok();
        let mut answer = Vec::new();
        // The connection of an early refusal may be reset.
        timeout(LONG, stream.read_to_end(&mut answer)).await.unwrap().ok();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Status and body of an authenticated request.
    pub async fn get(&self, path: &str) -> (u16, Json) {
        let answer = self.ask(&format!("GET {path}"), &[&self.host(), &self.bearer()], "").await;
        (status(&answer), body(&answer))
    }

    pub fn host(&self) -> String {
        format!("Host: {}", self.at)
    }

    pub fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.handle.token().reveal())
    }

    pub fn origin(&self) -> String {
        format!("Origin: http://{}", self.at)
    }

    /// Opens a socket with these headers.
    pub async fn knock(&self, path: &str, lines: &[&str]) -> Result<Socket, u16> {
        let stream = TcpStream::connect(self.at).await.unwrap();
        let mut request = tokio_tungstenite::tungstenite::http::Request::builder()
            .uri(format!("ws://{}{path}", self.at))
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", generate_key());
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        match client_async(request.body(()).unwrap(), stream).await {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn subscribe(&self, id: &str, query: &str) -> Socket {
        let path = format!("/api/claude/sessions/{id}/subscribe{query}");
        self.knock(&path, &[&self.host(), &self.bearer()]).await.unwrap()
    }
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap()
}

pub fn body(answer: &str) -> Json {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or(Json::Null)
}

pub struct Socket(pub WebSocketStream<TcpStream>);

impl Socket {
    /// The next frame, as JSON; `None` once it is closed.
    pub async fn next(&mut self) -> Option<Json> {
        loop {
            match timeout(LONG, self.0.next()).await.expect("a frame in time")? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(other) => panic!("{other:?}"),
            }
        }
    }

    pub async fn say(&mut self, frame: Json) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// The next frame of a type; earlier ones are dropped.
    pub async fn frame(&mut self, kind: &str) -> Json {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("closed before {kind}"));
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// The uuids of the next `count` lines.
    pub async fn uuids(&mut self, count: usize) -> Vec<String> {
        let mut uuids = Vec::new();
        while uuids.len() < count {
            let frame = self.next().await.expect("an open socket");
            uuids.extend(frame["uuid"].as_str().map(str::to_owned));
        }
        uuids
    }

    /// The uuids of the lines until it has caught up.
    pub async fn history(&mut self) -> Vec<String> {
        let mut uuids = Vec::new();
        loop {
            let frame = self.next().await.expect("an open socket");
            if frame["type"] == "caught_up" {
                return uuids;
            }
            uuids.extend(frame["uuid"].as_str().map(str::to_owned));
        }
    }
}

/// A line of a transcript.
pub fn line(number: usize) -> String {
    let parent = number.checked_sub(1).map(|before| format!("u{before}"));
    json!({ "type": "user", "uuid": format!("u{number}"), "parentUuid": parent, "cwd": "/p",
            "message": { "role": "user", "content": format!("prompt {number}") } })
    .to_string()
}

pub fn lines(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(line).collect()
}

pub fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("u{number}")).collect()
}

/// The editor's next request.
pub async fn asked(asks: &mut mpsc::UnboundedReceiver<Ask>) -> Ask {
    timeout(LONG, asks.recv()).await.expect("the editor is asked").unwrap()
}

/// The next message for the editor to deliver.
pub async fn delivered(asks: &mut mpsc::UnboundedReceiver<Ask>) -> (u64, String) {
    match asked(asks).await {
        Ask::Deliver { key, text, .. } => (key, text),
        other => panic!("{other:?}"),
    }
}

/// A prompt's line.
pub fn user(uuid: &str, content: &str) -> String {
    json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": content } }).to_string()
}

/// A socket that has read the two lines of a session.
pub async fn open(lab: &Lab) -> Socket {
    lab.append("s", &lines(0..2));
    let mut socket = lab.subscribe("s", "").await;
    socket.history().await;
    socket
}

/// The error for a refused frame.
pub async fn refused(socket: &mut Socket, frame: Json) -> (String, String) {
    socket.say(frame.clone()).await;
    let error = socket.frame("error").await;
    assert_eq!(error.get("id"), frame.get("id"), "{frame}");
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    (text("error"), text("reason"))
}

/// A prompt's frame.
pub fn message(id: &str, content: &str) -> Json {
    json!({ "type": "user_message", "id": id, "content": content })
}
