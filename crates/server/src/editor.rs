//! The server's interface to the editor, which runs named calls and receives events of clients.
//!
//! Invariant: dropping an unresolved call cancels it; a late answer is discarded.

use std::{fmt, future::Future, path::PathBuf, pin::Pin};

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

/// What [`Editor::call`] returns.
pub type EditorReply = Pin<Box<dyn Future<Output = Result<Box<RawValue>, EditorError>> + Send>>;

/// Runs calls that need the editor. Implemented by the boundary, and by `ScriptedEditor` in tests.
pub trait Editor: Send + Sync + 'static {
    /// Runs a call and returns its reply.
    ///
    /// Some calls wait for the user, so there is no timeout; drop the future to cancel.
    fn call(&self, call: EditorCall) -> EditorReply;

    /// Reports an event of a client. Must not block; a client's events come in order.
    fn event(&self, event: ClientEvent);

    /// Tells what a CLI shows of what Claude says. Must not block.
    fn displayed(&self, displayed: &Displayed<'_>);
}

/// A batch of whole lines of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displayed<'a> {
    /// In which session.
    pub session: &'a str,
    /// Names the message.
    pub message: &'a str,
    /// Which batch of it, from 0.
    pub index: u64,
    /// It is the last one.
    pub is_final: bool,
    /// The lines.
    pub delta: &'a str,
}

/// A call with validated, complete arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct EditorCall {
    /// The client.
    pub client: ClientId,
    /// The call's name in snake_case, which is that of its Lua module; a dot separates the folder.
    pub name: &'static str,
    /// The arguments, with all defaults filled in.
    pub args: Map<String, Value>,
    /// The token for progress notifications (`notifications/progress`), if the client wants any.
    pub progress: Option<Value>,
}

/// Why the editor gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditorError {
    /// The client's mistake, detected by the editor.
    #[error("{0}")]
    InvalidParams(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// Too many calls wait for the editor.
    #[error("the editor is busy: too many calls are waiting")]
    Busy,
    /// The editor is exiting.
    #[error("the editor is closing")]
    Closed,
}

/// A client's id, unique for the life of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ClientId(u64);

impl ClientId {
    /// From the number given by [`Self::get`].
    #[must_use]
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// Its number.
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

/// The state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientState {
    /// Its socket is open.
    Connected,
    /// It finished the MCP handshake, or speaks plain JSON-RPC, and accepts notifications.
    Ready,
}

/// The properties of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientInfo {
    /// Its id.
    pub id: ClientId,
    /// Its endpoint: "ide", "nvim".
    pub endpoint: &'static str,
    /// Its state.
    pub state: ClientState,
    /// `clientInfo.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `clientInfo.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its process id, from `ide_connected`; of a program that the editor started, as the system shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The editor's name for it, if the editor started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<str>>,
    /// The negotiated MCP version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<&'static str>,
    /// Its working folders, absolute.
    pub roots: Vec<PathBuf>,
    /// It sees folders under the paths of [`ServerOptions::path_map`](crate::ServerOptions::path_map).
    pub mapped: bool,
    /// It takes this version of the plugin for too old, as it said by `ide_connected`.
    pub unsupported: bool,
}

/// An event of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// It connected with a valid token.
    Connected(ClientInfo),
    /// It accepts notifications from now on.
    Ready(ClientInfo),
    /// A property became known: its process, its folders.
    Changed(ClientInfo),
    /// It disconnected.
    Disconnected {
        /// Its last properties.
        client: ClientInfo,
        /// The reason, for the log.
        reason: String,
    },
}
