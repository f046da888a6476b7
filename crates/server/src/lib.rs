//! The IDE server: lets Claude Code CLIs find this editor, connect over a WebSocket, and call its tools.
//!
//! It runs on its own thread and never calls the editor directly: calls go through [`Editor`], the editor's
//! notifications through [`ServerHandle`], which never blocks.
//!
//! Invariants: every request with an id is answered exactly once, or cancelled and then not at all; every queue is
//! bounded or latest-wins; every wait has a deadline or a user; network input is limited before it is stored.
#![forbid(unsafe_code)]

mod client;
mod connection;
mod discovery;
mod disk;
mod editor;
mod endpoint;
mod endpoint_name;
mod error;
mod hooks;
mod http;
mod identity;
mod inbox;
mod last_selection;
mod listing;
mod liveness;
mod methods;
mod notifier;
mod offered;
mod options;
mod outbox;
mod path_map;
mod request;
mod roots;
mod router;
mod routes;
mod server;
mod shared;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tools;
mod workspace;
mod write_order;
mod writer;

pub use claude_ide_http::Secret;
pub use claude_ide_protocol::SYMBOL_KINDS;
pub use editor::{
    ClientEvent, ClientId, ClientInfo, ClientState, Displayed, Editor, EditorCall, EditorError, EditorReply,
};
pub use error::{NotifyError, ServerError};
pub use identity::Identity;
pub use offered::Offers;
pub use options::{Keepalive, Places, ServerOptions, Workspace, WriteFile};
pub use path_map::PathMap;
pub use server::{Server, ServerHandle, ServerInfo, ServerStatus};
pub use tools::nvim::lsp_methods;
