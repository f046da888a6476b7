//! The IDE server: it lets Claude Code CLIs find this editor, connect to it over a WebSocket, and call its tools.
//!
//! It runs on one thread of its own and never calls the editor directly: what needs the editor goes through [`Editor`],
//! what the editor has to say goes through [`ServerHandle`], which never blocks.
//!
//! Invariants: every request that has an id is answered exactly once, or was cancelled and then is not; every queue is bounded or
//! latest-wins; every wait has a deadline or a user; what comes from the network is bounded before it is stored.
#![forbid(unsafe_code)]

mod announce;
mod client;
mod connection;
mod disk;
mod door;
mod editor;
mod endpoint;
mod error;
mod http;
mod inbox;
mod listing;
mod liveness;
mod lock_file;
mod methods;
mod notifier;
mod options;
mod outbox;
mod roots;
mod router;
mod selection;
mod server;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tools;
mod workspace;
mod write_order;
mod writer;

pub use claude_ide_http::Secret;
pub use claude_ide_protocol::SYMBOL_KINDS;
pub use editor::{ClientEvent, ClientId, ClientInfo, ClientState, Editor, EditorCall, EditorError, EditorReply};
pub use error::{NotifyError, ServerError};
pub use options::{Identity, Keepalive, ServerOptions, Workspace, WriteFile};
pub use server::{Server, ServerHandle, ServerInfo, ServerStatus};
pub use tools::nvim::lsp_methods;
