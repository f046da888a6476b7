//! What the page and the socket are served with.

use std::time::Duration;

use crate::editor::Writing;

/// What the page and the socket are served with.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// The address to listen on.
    pub host: String,
    /// The port to listen on; if it is taken, the next free one.
    pub port: u16,
    /// Names beside the loopback's under which browsers may reach it: what a tunnel or a proxy is called.
    pub names: Vec<String>,
    /// That clients may write; nothing: they only read.
    pub writing: Option<Writing>,
    /// How much of everything.
    pub limits: Limits,
}

/// How much of everything.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at one time.
    pub connections: usize,
    /// How long a connection may take to ask, and a client to say who it is.
    pub handshake: Duration,
    /// Bytes of one frame that comes in.
    pub frame_bytes: usize,
    /// How often a socket is pinged.
    pub ping: Duration,
    /// How long a socket may be silent, or take nothing, before it counts as dead.
    pub silence: Duration,
    /// Bytes of one message that is written.
    pub message_bytes: usize,
    /// Messages of a session that wait.
    pub messages: usize,
    /// Messages and answers at once, of all clients; one more comes with each second.
    pub burst: u32,
    /// How long a message that Claude has may take to appear in the transcript.
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
