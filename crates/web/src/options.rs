//! Options of the server.

use std::time::Duration;

use crate::editor::Writing;

/// Options of the server.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// The address to listen on.
    pub host: String,
    /// The port to listen on; if it is taken, the next free one.
    pub port: u16,
    /// Other host names for browsers, of tunnels or proxies; loopback names are always accepted.
    pub names: Vec<String>,
    /// Set if clients may write.
    pub writing: Option<Writing>,
    /// The limits.
    pub limits: Limits,
}

/// Limits of the server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Concurrent connections.
    pub connections: usize,
    /// Time for a connection's first request, and for a client to authenticate.
    pub handshake: Duration,
    /// Size of an incoming frame.
    pub frame_bytes: usize,
    /// The ping interval of a socket.
    pub ping: Duration,
    /// Time without data or accepted output until a socket counts as dead.
    pub silence: Duration,
    /// Size of a client's message.
    pub message_bytes: usize,
    /// Waiting messages of a session.
    pub messages: usize,
    /// Burst limit of messages and answers, over all clients; it refills by one per second.
    pub burst: u32,
    /// Time for a sent message to appear in the transcript.
    pub ack: Duration,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self { host: "127.0.0.1".to_owned(), port: 12345, names: Vec::new(), writing: None, limits: Limits::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            handshake: Duration::from_secs(5),
            frame_bytes: 1024 * 1024,
            ping: Duration::from_secs(30),
            silence: Duration::from_secs(75),
            message_bytes: 64 * 1024,
            messages: 16,
            burst: 30,
            ack: Duration::from_secs(60),
        }
    }
}
