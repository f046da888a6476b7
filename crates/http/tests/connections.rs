//! Limits of connections, independent of what is served.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used, reason = "tests may fail loudly")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use claude_ide_http::{Body, Caller, Limits, Socket, Visit, bind, empty, full, serve};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);
const LIMITS: Limits = Limits { connections: 3, strangers: 3, handshake: LONG, idle: LONG, stall: LONG };
/// Limits only connections without a secret.
const STRANGERS: Limits = Limits { connections: usize::MAX, ..LIMITS };

/// `/known` shows a secret, `/much` is answered with more than a socket holds, `/never` is not answered, `/socket` is
/// upgraded and echoes.
struct Site(Arc<Caller>);

impl Visit for Site {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        match request.uri().path() {
            "/known" => self.0.set_known(),
            "/much" => return Response::new(full(vec![b'x'; 64 << 20])),
            "/never" => {
                self.0.set_known();
                std::future::pending::<()>().await;
            }
            "/socket" => {
                let mut upgrade = Response::new(empty());
                *upgrade.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
                return upgrade;
            }
            _ => {}
        }
        Response::new(full("done"))
    }

    async fn upgraded(self: Arc<Self>, mut socket: Socket) {
        socket.stream.write_all(&socket.rest).await.unwrap();
    }
}

struct Lab {
    at: SocketAddr,
    stop: watch::Sender<Option<Instant>>,
    served: JoinHandle<()>,
}

impl Lab {
    fn new(limits: Limits) -> Self {
        let listener = bind("127.0.0.1", [0]).unwrap();
        let (at, stop) = (listener.local_addr().unwrap(), watch::Sender::new(None));
        let served = tokio::spawn(serve(listener, limits, stop.subscribe(), |caller| Arc::new(Site(caller))));
        Self { at, stop, served }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }

    /// A connection that has requested this path and read the answer.
    async fn asked(&self, path: &str) -> Result<TcpStream, String> {
        let mut stream = self.connect().await;
        let answer = ask(&mut stream, path).await;
        if answer.starts_with("HTTP/1.1 200") { Ok(stream) } else { Err(answer) }
    }
}

async fn ask(stream: &mut TcpStream, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).await.ok();
    let mut answer = vec![0; 4096];
    let count = timeout(LONG, stream.read(&mut answer)).await.unwrap().unwrap_or(0);
    String::from_utf8_lossy(&answer[..count]).into_owned()
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    timeout(LONG, stream.read_to_end(&mut answer)).await.expect("it is dropped").ok();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_connection_without_a_request_in_time_gets_an_error() {
    let lab = Lab::new(Limits { handshake: Duration::from_millis(50), ..LIMITS });
    for said in ["", "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "] {
        let mut stream = lab.connect().await;
        stream.write_all(said.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.ends_with("in time\n"), "{answer}");
    }
}

#[tokio::test]
async fn the_oldest_unauthenticated_connection_makes_room_and_authenticated_ones_stay() {
    for limits in [LIMITS, STRANGERS] {
        let lab = Lab::new(limits);
        let mut known = lab.asked("/known").await.unwrap();
        let mut strangers = Vec::new();
        for round in 0..50 {
            strangers.push(lab.connect().await);
            // It is accepted by then.
            assert!(lab.asked("/").await.is_ok(), "{round}");
        }
        assert_eq!(rest(&mut strangers[0]).await, "", "unheard");
        assert!(ask(&mut known, "/").await.starts_with("HTTP/1.1 200"));
        assert!(ask(strangers.last_mut().unwrap(), "/known").await.starts_with("HTTP/1.1 200"), "the newest is heard");
    }
}

#[tokio::test]
async fn one_connection_too_many_is_refused_until_a_place_is_free() {
    let lab = Lab::new(LIMITS);
    let mut known = Vec::new();
    for _ in 0..LIMITS.connections {
        known.push(lab.asked("/known").await.unwrap());
    }
    let refused = lab.asked("/").await.unwrap_err();
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 503"), "{refused}");
    drop(known.pop());
    let deadline = Instant::now() + LONG;
    while lab.asked("/").await.is_err() {
        assert!(Instant::now() < deadline);
    }
}

#[tokio::test]
async fn a_stalled_connection_is_dropped_even_if_authenticated() {
    let lab = Lab::new(Limits { connections: 1, stall: Duration::from_millis(50), ..LIMITS });
    let mut unread = lab.asked("/known").await.unwrap();
    unread.write_all(b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let deadline = Instant::now() + LONG;
    while lab.asked("/").await.is_err() {
        assert!(Instant::now() < deadline, "it is dropped");
    }
}

#[tokio::test]
async fn heads_of_requests_are_bounded() {
    let lab = Lab::new(LIMITS);
    for lines in [format!("X-Filler: {}\r\n", "x".repeat(20_000)), "X: x\r\n".repeat(65)] {
        let mut stream = lab.connect().await;
        stream.write_all(format!("GET / HTTP/1.1\r\n{lines}\r\n").as_bytes()).await.ok();
        assert!(rest(&mut stream).await.starts_with("HTTP/1.1 431 "));
    }
}

#[tokio::test]
async fn bytes_sent_with_an_upgrade_request_are_not_lost() {
    let lab = Lab::new(LIMITS);
    let mut stream = lab.connect().await;
    stream.write_all(b"GET /socket HTTP/1.1\r\nHost: localhost\r\n\r\nfirst frame").await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 101 ") && answer.ends_with("\r\n\r\nfirst frame"), "{answer}");
}

#[tokio::test]
async fn after_the_end_nothing_is_left() {
    let lab = Lab::new(LIMITS);
    let mut idle = lab.asked("/known").await.unwrap();
    let mut stranger = lab.asked("/").await.unwrap();
    let mut waiting = lab.connect().await;
    waiting.write_all(b"GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    // It is served by then.
    lab.asked("/").await.unwrap();
    lab.stop.send_replace(Some(Instant::now() + Duration::from_millis(100)));
    timeout(LONG, lab.served).await.expect("it ends by its deadline").unwrap();
    for stream in [&mut idle, &mut stranger, &mut waiting] {
        assert_eq!(rest(stream).await, "");
    }
    assert!(TcpStream::connect(lab.at).await.is_err());
}
