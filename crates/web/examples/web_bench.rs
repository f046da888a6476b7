//! How fast a transcript reaches its readers: `cargo run --release -p claude-ide-web --example web_bench`.
//!
//! A transcript of 100 MB to one subscriber and to 64 at once, the first line of it, and each line from its write to a
//! subscriber. Speaks to a site of its own over real sockets; times are wall clock.
#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a measurement may fail loudly"
)]

use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use claude_ide_session::{ConfigDir, Service};
use claude_ide_web::{Limits, Web, WebOptions};
use futures_util::StreamExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::{WebSocketStream, client_async};

const BYTES: usize = 100 * 1024 * 1024;

fn line(number: usize) -> String {
    let text = "What a message of some length says, with \\\"quotes\\\" and lines.\\n".repeat(30);
    format!(
        r#"{{"type":"assistant","uuid":"u{number}","parentUuid":"u{}","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#,
        number.saturating_sub(1)
    ) + "\n"
}

fn write(file: &Path) -> usize {
    let mut out = std::io::BufWriter::new(File::create(file).unwrap());
    let (mut written, mut lines) = (0, 0);
    while written < BYTES {
        let text = line(lines);
        out.write_all(text.as_bytes()).unwrap();
        written += text.len();
        lines += 1;
    }
    lines
}

async fn open(at: SocketAddr, token: &str, query: &str) -> WebSocketStream<TcpStream> {
    let request = Request::builder()
        .uri(format!("ws://{at}/api/claude/sessions/s/subscribe{query}"))
        .header("Host", at.to_string())
        .header("Authorization", format!("Bearer {token}"))
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", generate_key());
    let stream = TcpStream::connect(at).await.unwrap();
    client_async(request.body(()).unwrap(), stream).await.unwrap().0
}

/// Reads until so many lines came; when the first did, and how many bytes all were.
async fn read(mut socket: WebSocketStream<TcpStream>, lines: usize) -> (Instant, usize) {
    let (mut first, mut bytes, mut seen) = (None, 0, 0);
    while seen < lines {
        let message = socket.next().await.unwrap().unwrap();
        let text = message.into_text().unwrap();
        if text.starts_with(r#"{"type":"assistant"#) {
            first.get_or_insert_with(Instant::now);
            seen += 1;
            bytes += text.len();
        }
    }
    (first.unwrap(), bytes)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("projects/-p");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("s.jsonl");
    let lines = write(&file);
    let service = Service::start(ConfigDir::at(dir.path()), dir.path().join("cache.json")).unwrap();
    let options =
        WebOptions { port: 0, limits: Limits { connections: 128, ..Limits::default() }, ..WebOptions::default() };
    let (web, handle) = Web::bind(options, &service).unwrap();
    let (at, token) = (handle.address(), handle.token().reveal().to_owned());
    // On a thread of its own, as in the editor.
    let server = std::thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(web.run());
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let began = Instant::now();
        let (first, bytes) = read(open(at, &token, "").await, lines).await;
        println!("first line of 100 MB: {:.1} ms", milliseconds(first - began));
        println!("100 MB to a subscriber: {:.0} MB/s", bytes as f64 / 1e6 / began.elapsed().as_secs_f64());

        let began = Instant::now();
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..64 {
            readers.spawn(read(open(at, &token, "?last=1000").await, 1000));
        }
        while readers.join_next().await.is_some() {}
        println!("last 1000 lines to 64 subscribers: {:.0} ms", milliseconds(began.elapsed()));

        let mut socket = open(at, &token, "?last=0").await;
        while !socket.next().await.unwrap().unwrap().into_text().unwrap().contains("caught_up") {}
        let mut out = File::options().append(true).open(&file).unwrap();
        let mut times = Vec::new();
        for number in 0..500 {
            let text = line(lines + number);
            let began = Instant::now();
            out.write_all(text.as_bytes()).unwrap();
            while !socket.next().await.unwrap().unwrap().into_text().unwrap().starts_with(r#"{"type":"assistant"#) {}
            times.push(began.elapsed());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        times.sort_unstable();
        let at = |part: usize| milliseconds(times[times.len() * part / 100]);
        println!("line to subscriber: p50 {:.2} ms, p99 {:.2} ms", at(50), at(99));
    });
    handle.stop();
    server.join().unwrap();
}
