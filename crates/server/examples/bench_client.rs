//! The client of `make bench`: measures one thing and prints the figures as JSON.
//!
//! `bench_client <measurement> [<port> <token> …]`. It frames messages itself and blocks on one socket, so that it adds
//! about as much to a round trip as the raw TCP echo; `tests/bench` explains the comparison.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a tool for developers: it stops at the first thing that is wrong"
)]

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Size of one raw echo message: about that of a ping and its answer.
const ECHO_BYTES: usize = 128;

/// Round trips before the measurement, to warm caches and branch predictors.
const WARM_UP: usize = 200;

const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let figures = match *arguments.as_slice() {
        ["tcp", count] => echo(number(count), "serve-echo"),
        ["hops", count] => echo(number(count), "serve-hops"),
        ["serve-echo", address] => return serve_echo(address),
        ["serve-hops", address] => return serve_hops(address),
        ["ping", port, token, count] => round_trips(&mut Client::connect(port, token), number(count), &ping),
        ["list", port, token, count] => {
            round_trips(&mut Client::connect(port, token), number(count), &|id| request(id, "tools/list", &json!({})))
        }
        ["tool", port, token, count, name, args] => {
            round_trips(&mut Client::connect(port, token), number(count), &tool(name, args))
        }
        ["ping-for", port, token, milliseconds] => pings_for(port, token, Duration::from_millis(number(milliseconds))),
        ["pipeline", port, token, count, name, args] => pipeline(port, token, number(count), &tool(name, args)),
        ["frames", port, token, count, name, args] => frames(port, token, number(count), &tool(name, args)),
        ["diff", port, token, path, bytes] => return diff(port, token, path, number(bytes)),
        ["connects", port, token, count] => connects(port, token, number(count)),
        _ => panic!("usage: bench_client tcp|hops|ping|list|tool|ping-for|pipeline|frames|diff|connects …"),
    };
    println!("{figures}");
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn ping(id: u64) -> String {
    request(id, "ping", &json!({}))
}

fn tool(name: &str, args: &str) -> impl Fn(u64) -> String {
    let params = json!({ "name": name, "arguments": serde_json::from_str::<Value>(args).expect("arguments are JSON") });
    move |id| request(id, "tools/call", &params)
}

/// The round trip of a plain TCP echo on loopback to another process: the baseline of all measurements.
fn echo(count: usize, server: &str) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let program = std::env::current_exe().expect("this program");
    let mut server = Command::new(program).args([server, &address.to_string()]).spawn().expect("the other process");
    let start = Instant::now();
    let mut socket = loop {
        match TcpStream::connect(address) {
            Ok(socket) => break socket,
            Err(error) => assert!(start.elapsed() < PATIENCE, "the echo does not listen: {error}"),
        }
    };
    socket.set_nodelay(true).expect("nodelay");
    let mut message = [0; ECHO_BYTES];
    let figures = time_each(count, |_| {
        socket.write_all(&message).expect("the echo reads");
        socket.read_exact(&mut message).expect("the echo answers");
    });
    drop(socket);
    server.wait().expect("the other process ends");
    figures
}

fn serve_echo(address: &str) {
    let (mut socket, _) = TcpListener::bind(address).expect("the port").accept().expect("a connection");
    socket.set_nodelay(true).expect("nodelay");
    let mut message = [0; ECHO_BYTES];
    while socket.read_exact(&mut message).is_ok() && socket.write_all(&message).is_ok() {}
}

/// The same echo by the way of a tool call: a runtime reads, wakes another thread that answers, is woken and writes. No
/// answer from Neovim's main loop can be faster.
fn serve_hops(address: &str) {
    type Frame = ([u8; ECHO_BYTES], tokio::sync::oneshot::Sender<[u8; ECHO_BYTES]>);
    let (ask, asked) = std::sync::mpsc::channel::<Frame>();
    let editor = std::thread::spawn(move || {
        for (message, answer) in asked {
            answer.send(message).expect("a waiting caller");
        }
    });
    let listener = TcpListener::bind(address).expect("the port");
    listener.set_nonblocking(true).expect("nonblocking");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("the runtime takes it");
        let (mut socket, _) = listener.accept().await.expect("a connection");
        socket.set_nodelay(true).expect("nodelay");
        let mut message = [0; ECHO_BYTES];
        while socket.read_exact(&mut message).await.is_ok() {
            let (answer, answered) = tokio::sync::oneshot::channel();
            ask.send((message, answer)).expect("the other thread listens");
            let message = answered.await.expect("an answer");
            if socket.write_all(&message).await.is_err() {
                break;
            }
        }
    });
    drop(ask);
    editor.join().expect("the other thread ends");
}

fn round_trips(client: &mut Client, count: usize, message: &dyn Fn(u64) -> String) -> Value {
    time_each(count, |_| {
        let id = client.next_id();
        client.send(&message(id));
        client.wait(id);
    })
}

fn time_each(count: usize, mut once: impl FnMut(usize)) -> Value {
    for turn in 0..WARM_UP.min(count) {
        once(turn);
    }
    let mut times = Vec::with_capacity(count);
    for turn in 0..count {
        let start = Instant::now();
        once(turn);
        times.push(start.elapsed());
    }
    percentiles(times)
}

/// Pings in sequence for a while: the slowest shows how other work in Neovim delays it.
fn pings_for(port: &str, token: &str, length: Duration) -> Value {
    let mut client = Client::connect(port, token);
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < length {
        let id = client.next_id();
        let sent = Instant::now();
        client.send(&ping(id));
        client.wait(id);
        times.push(sent.elapsed());
        std::thread::sleep(Duration::from_micros(500));
    }
    percentiles(times)
}

/// All requests in one write, then all answers: requests per second.
fn pipeline(port: &str, token: &str, count: u64, message: &dyn Fn(u64) -> String) -> Value {
    send_all(port, token, count, message, |frames| vec![frames.concat()])
}

/// Like [`pipeline`], with a write per request.
fn frames(port: &str, token: &str, count: u64, message: &dyn Fn(u64) -> String) -> Value {
    send_all(port, token, count, message, |frames| frames)
}

fn send_all(
    port: &str,
    token: &str,
    count: u64,
    message: &dyn Fn(u64) -> String,
    writes: fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>,
) -> Value {
    let mut client = Client::connect(port, token);
    let first = client.next_id();
    client.send(&message(first));
    client.wait(first);
    let from = first + 1;
    let writes = writes((from..from + count).map(|id| frame(message(id).as_bytes())).collect());
    let mut writer = client.writer.try_clone().expect("a second handle");
    let start = Instant::now();
    let sender =
        std::thread::spawn(move || writes.iter().for_each(|bytes| writer.write_all(bytes).expect("the server reads")));
    for _ in 0..count {
        client.wait_any();
    }
    let elapsed = start.elapsed();
    sender.join().expect("all was sent");
    json!({ "seconds": elapsed.as_secs_f64(), "per_second": f64::from(u32::try_from(count).expect("few")) / elapsed.as_secs_f64() })
}

/// Sends a large openDiff, then at once a ping and a small tool call, and measures when each is answered. The diff
/// stays open until standard input ends.
fn diff(port: &str, token: &str, path: &str, bytes: usize) {
    let mut client = Client::connect(port, token);
    let line = "let answer = 42; // ünï\n";
    let contents = line.repeat(bytes / line.len());
    let args =
        json!({ "old_file_path": path, "new_file_path": path, "new_file_contents": contents, "tab_name": "bench" });
    let open = client.next_id();
    let message = request(open, "tools/call", &json!({ "name": "openDiff", "arguments": args }));
    let start = Instant::now();
    client.send(&message);
    let sent = start.elapsed();
    let (ping_id, tool_id) = (client.next_id(), client.next_id());
    client.send(&ping(ping_id));
    client.send(&tool("checkDocumentDirty", &json!({ "filePath": path }).to_string())(tool_id));
    let (mut ping_after, mut tool_after) = (None, None);
    while ping_after.is_none() || tool_after.is_none() {
        match client.wait_any() {
            id if id == ping_id => ping_after = Some(start.elapsed()),
            id if id == tool_id => tool_after = Some(start.elapsed()),
            id => assert!(id == open, "an answer to {id}"),
        }
    }
    let (ping_after, tool_after) = (ping_after.expect("answered"), tool_after.expect("answered"));
    let figures = json!({ "sent_ms": milliseconds(sent), "ping_ms": milliseconds(ping_after), "tool_ms": milliseconds(tool_after) });
    println!("{figures}");
    // The diff is open as long as the connection: until the caller closes the pipe.
    io::stdin().read_to_end(&mut Vec::new()).expect("the other end of the pipe closes");
}

/// Connects and drops repeatedly.
fn connects(port: &str, token: &str, count: usize) -> Value {
    time_each(count, |_| drop(Client::connect(port, token)))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn percentiles(mut times: Vec<Duration>) -> Value {
    times.sort_unstable();
    let microseconds = |part: usize| {
        let index = (times.len() * part / 1000).min(times.len().saturating_sub(1));
        times.get(index).map(|time| time.as_secs_f64() * 1e6)
    };
    json!({ "count": times.len(), "p50_us": microseconds(500), "p99_us": microseconds(990), "max_us": microseconds(1000) })
}

/// One initialized MCP client over WebSocket.
struct Client {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    last_id: u64,
}

#[derive(Deserialize)]
struct Answer {
    id: Option<u64>,
    #[serde(default)]
    method: Option<String>,
}

impl Client {
    fn connect(port: &str, token: &str) -> Self {
        let writer = TcpStream::connect(format!("127.0.0.1:{port}")).expect("the server listens");
        writer.set_nodelay(true).expect("nodelay");
        writer.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut client = Self {
            reader: BufReader::with_capacity(1 << 16, writer.try_clone().expect("a second handle")),
            writer,
            last_id: 0,
        };
        write!(
            client.writer,
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: mcp\r\nX-Claude-Code-Ide-Authorization: {token}\r\n\r\n"
        )
        .expect("the server reads");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.reader.read_exact(&mut byte).expect("the server answers the upgrade");
            head.extend_from_slice(&byte);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        let id = client.next_id();
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        client.send(&request(id, "initialize", &hello));
        client.wait(id);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn send(&mut self, message: &str) {
        self.writer.write_all(&frame(message.as_bytes())).expect("the server reads");
    }

    fn wait(&mut self, id: u64) {
        while self.wait_any() != id {}
    }

    /// The id of the next response; requests and notifications of the server are skipped.
    fn wait_any(&mut self) -> u64 {
        loop {
            let payload = self.receive().expect("the server answers");
            if let Ok(Answer { id: Some(id), method: None }) = serde_json::from_slice(&payload) {
                return id;
            }
        }
    }

    /// The payload of the next frame. The server does not fragment messages.
    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 2];
        self.reader.read_exact(&mut head)?;
        let len = match head[1] & 0x7f {
            126 => {
                let mut long = [0; 2];
                self.reader.read_exact(&mut long)?;
                u64::from(u16::from_be_bytes(long))
            }
            127 => {
                let mut long = [0; 8];
                self.reader.read_exact(&mut long)?;
                u64::from_be_bytes(long)
            }
            short => u64::from(short),
        };
        assert!(head[0] & 0x0f != 8, "the server closed the connection");
        let mut payload = vec![0; usize::try_from(len).expect("it fits")];
        self.reader.read_exact(&mut payload)?;
        Ok(payload)
    }
}

/// A text frame, with a zero mask: valid and free.
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x81);
    match payload.len() {
        len @ 0..126 => frame.push(0x80 | u8::try_from(len).expect("short")),
        len @ 126..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(len).expect("checked").to_be_bytes());
        }
        len => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&u64::try_from(len).expect("it fits").to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}
