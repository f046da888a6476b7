//! Serves sessions as a page and over sockets: HTTP and WebSocket on top of `claude_ide_session`, for browsers and
//! other clients.
//!
//! Independent of the editor. The caller provides a [`claude_ide_session::Service`] and a runtime; [`Web::bind`] binds,
//! and the server runs until its handle stops it. It has no thread of its own.
//!
//! Invariants:
//! - No data is sent before a request has passed [`claude_ide_http::Policy`] and `authentication.rs`; no address
//!   contains a token.
//! - Only lines that [`claude_ide_session::Feed`] yields are sent, and no file that a message names.
//! - A GET changes nothing. A socket changes something only if [`Writing`] was given, and only through an [`Editor`].
//! - A reader's behaviour affects no other reader, and its memory is limited, whatever the transcript contains.

mod agents;
mod answer;
mod api;
mod authentication;
mod broker;
mod channel;
mod delivery;
mod display;
mod editor;
mod error;
mod files;
mod frames;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod listing;
mod messages;
mod options;
mod outbox;
mod participant;
mod picture;
mod router;
mod server;
mod sessions;
mod site;
mod socket;
mod stream;
mod topic;

pub use claude_ide_http::Secret;
pub use editor::{Act, Ask, Choice, Decision, Editor, Report, Writing};
pub use error::WebError;
pub use options::{Limits, WebOptions};
pub use picture::rows as qr_rows;
pub use server::{Web, WebHandle};
