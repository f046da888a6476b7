//! The editor, as the server sees it: something that runs named calls and hears about clients.
//!
//! Invariant: a call that is dropped before it resolved is cancelled; its answer, should one come, goes nowhere.

use std::{fmt, future::Future, path::PathBuf, pin::Pin};

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

/// What [`Editor::call`] returns.
pub type EditorReply = Pin<Box<dyn Future<Output = Result<Box<RawValue>, EditorError>> + Send>>;

/// Runs what needs the editor. Implemented by the boundary, and by `ScriptedEditor` in tests.
pub trait Editor: Send + Sync + 'static {
    /// Asks the editor to run a call and waits for its reply.
    ///
    /// Some calls wait for a user, so there is no timeout; drop the future to cancel.
    fn call(&self, call: EditorCall) -> EditorReply;

    /// Tells the editor about a client. Must not block; events of one client come in order.
    fn event(&self, event: ClientEvent);
}

/// One call, its arguments checked and complete.
#[derive(Debug, Clone, PartialEq)]
pub struct EditorCall {
    /// Who asks.
    pub client: ClientId,
    /// What: snake_case, the name of the module that serves it; a dot before it ends the name of its folder.
    pub name: &'static str,
    /// With what; every default is filled in.
    pub args: Map<String, Value>,
    /// What news of its progress must carry (`notifications/progress`); none: nobody wants any.
    pub progress: Option<Value>,
}

/// Why the editor gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditorError {
    /// The caller's mistake, which only the editor could see.
    #[error("{0}")]
    InvalidParams(String),
    /// It ran and did not succeed.
    #[error("{0}")]
    Failed(String),
    /// Too many calls wait for the editor.
    #[error("the editor is busy: too many calls are waiting")]
    Busy,
    /// The editor is going away.
    #[error("the editor is closing")]
    Closed,
}

/// A client, unique for the life of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ClientId(u64);

impl ClientId {
    /// From the number that [`Self::get`] gave.
    #[must_use]
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How far a client has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientState {
    /// Its socket is open.
    Connected,
    /// It finished the MCP handshake, or speaks plain JSON-RPC, and takes notifications.
    Ready,
}

/// What is known of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientInfo {
    /// Which one.
    pub id: ClientId,
    /// Behind which door it is: "ide", "nvim".
    pub endpoint: &'static str,
    /// How far it has come.
    pub state: ClientState,
    /// `clientInfo.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `clientInfo.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its process, from `ide_connected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Which of the programs that the editor started it is, by the editor's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<str>>,
    /// The negotiated version of MCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<&'static str>,
    /// The folders it works in, absolute.
    pub roots: Vec<PathBuf>,
}

/// Something happened to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// Its socket opened and its token was right.
    Connected(ClientInfo),
    /// It takes notifications from now on.
    Ready(ClientInfo),
    /// Something about it became known: its process, its folders.
    Changed(ClientInfo),
    /// It is gone.
    Disconnected {
        /// As it was.
        client: ClientInfo,
        /// Why, for the log.
        reason: String,
    },
}
