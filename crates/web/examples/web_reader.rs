//! Reads sessions served by `:Claude serve` and measures the waits: `make bench` runs it against a Neovim
//! (`tests/bench/web.py`). Times are wall clock; each run prints one line of JSON.
//!
//! `web_reader AT TOKEN SESSION read LINES`: one client reads everything. `… many LINES COUNT`: several do at once. `…
//! follow FILE COUNT`: appends lines to the file one by one, waiting for each to arrive.
#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a measurement may fail loudly"
)]

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::{WebSocketStream, client_async};

/// A served session, and its token.
#[derive(Clone)]
struct Site {
    at: String,
    token: String,
    session: String,
}

impl Site {
    async fn open(&self, query: &str) -> WebSocketStream<TcpStream> {
        let Self { at, token, session } = self;
        let request = Request::builder()
            .uri(format!("ws://{at}/api/claude/sessions/{session}/subscribe{query}"))
            .header("Host", at)
            .header("Authorization", format!("Bearer {token}"))
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", generate_key());
        let stream = TcpStream::connect(at).await.unwrap();
        client_async(request.body(()).unwrap(), stream).await.unwrap().0
    }
}

/// Whether this frame is a transcript line.
fn is_line(text: &str) -> bool {
    text.contains("\"parentUuid\"")
}

/// Reads until `lines` lines arrived; returns the time of the first, and the bytes of all.
async fn read(mut socket: WebSocketStream<TcpStream>, lines: usize) -> (Instant, usize) {
    let (mut first, mut bytes, mut seen) = (None, 0, 0);
    while seen < lines {
        let text = socket.next().await.unwrap().unwrap().into_text().unwrap();
        if is_line(&text) {
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

async fn one(site: Site, lines: usize) -> serde_json::Value {
    let began = Instant::now();
    let (first, bytes) = read(site.open("").await, lines).await;
    let took = began.elapsed().as_secs_f64();
    json!({ "first_ms": milliseconds(first - began), "mb_per_s": bytes as f64 / 1e6 / took })
}

async fn many(site: Site, lines: usize, count: usize) -> serde_json::Value {
    let began = Instant::now();
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..count {
        let site = site.clone();
        readers.spawn(async move { read(site.open("").await, lines).await.1 });
    }
    let bytes: usize = readers.join_all().await.into_iter().sum();
    json!({ "ms": milliseconds(began.elapsed()), "bytes": bytes })
}

async fn follow(site: Site, file: &str, count: usize) -> serde_json::Value {
    let mut socket = site.open("?last=0").await;
    while !socket.next().await.unwrap().unwrap().into_text().unwrap().contains("caught_up") {}
    let mut out = File::options().append(true).open(file).unwrap();
    let mut times = Vec::new();
    for number in 0..count {
        let line = json!({ "type": "user", "uuid": format!("added-{number}"), "parentUuid": null,
                           "message": { "role": "user", "content": "One more line of a session." } });
        let began = Instant::now();
        out.write_all(format!("{line}\n").as_bytes()).unwrap();
        while !is_line(&socket.next().await.unwrap().unwrap().into_text().unwrap()) {}
        times.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    times.sort_unstable();
    json!({ "p50_ms": milliseconds(times[times.len() / 2]), "p99_ms": milliseconds(times[times.len() * 99 / 100]) })
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let [at, token, session, what, rest @ ..] = asked.as_slice() else { panic!("see the top of this file") };
    let site = Site { at: at.clone(), token: token.clone(), session: session.clone() };
    let number = |at: usize| rest[at].parse().expect("a number");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let figures = runtime.block_on(async {
        match what.as_str() {
            "read" => one(site, number(0)).await,
            "many" => many(site, number(0), number(1)).await,
            "follow" => follow(site, &rest[0], number(1)).await,
            other => panic!("{other}?"),
        }
    });
    println!("{figures}");
}
