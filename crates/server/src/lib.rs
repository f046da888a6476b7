//! The IDE server: lets Claude Code CLIs find this editor, connect over a WebSocket, and call its tools.
//!
//! It runs on its own thread and never calls the editor directly: calls go through [`Editor`], the editor's
//! notifications through [`ServerHandle`], which never blocks.
//!
//! Invariants: every request with an id is answered exactly once, or cancelled and then not at all; every queue is
//! bounded or latest-wins; every wait has a deadline or a user; network input is limited before it is stored.
#![forbid(unsafe_code)]

mod announce;
mod client;
mod companions;
mod connection;
mod disk;
mod door;
mod editor;
mod endpoint;
mod error;
mod handover;
mod hooks;
mod http;
mod inbox;
mod last_selection;
mod listing;
mod liveness;
mod lock_file;
mod methods;
mod notifier;
mod options;
mod outbox;
mod path_map;
mod roots;
mod router;
mod server;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tools;
mod workspace;
mod write_order;
mod writer;

pub use claude_ide_http::Secret;
pub use claude_ide_protocol::SYMBOL_KINDS;
pub use companions::Places;
pub use editor::{
    ClientEvent, ClientId, ClientInfo, ClientState, Displayed, Editor, EditorCall, EditorError, EditorReply,
};
pub use error::{NotifyError, ServerError};
pub use methods::Offers;
pub use options::{Identity, Keepalive, ServerOptions, Workspace, WriteFile};
pub use path_map::PathMap;
pub use server::{Server, ServerHandle, ServerInfo, ServerStatus};
pub use tools::nvim::lsp_methods;
