//! Sessions on a page and on a socket: HTTP and WebSocket over `claude_ide_session`, for browsers and other clients.
//!
//! Knows no editor. Whoever runs it gives it a [`claude_ide_session::Service`] and a runtime; it binds when it is asked to
//! ([`Web::bind`]), serves until its handle says stop, and holds no thread of its own.
//!
//! Invariants:
//! - Nothing is told before a request has passed [`claude_ide_http::Policy`] and `authentication.rs`; a token is in no address.
//! - Only lines that [`claude_ide_session::Feed`] lets out leave, and no file that a message names.
//! - A GET changes nothing. A socket changes something only where [`Writing`] was given, and through an [`Editor`] alone.
//! - What one reader does, or does not, slows and costs only itself: memory for it is bounded, whatever the transcript holds.

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
mod permission;
mod picture;
mod router;
mod server;
mod sessions;
mod socket;
mod stream;
mod topic;
mod words;

pub use authentication::Hooks;
pub use claude_ide_http::{Secret, turn_away};
pub use editor::{Ask, Choice, Decision, Editor, Told, Writing};
pub use error::WebError;
pub use options::{Limits, WebOptions};
pub use picture::rows as qr_rows;
pub use server::{Web, WebHandle};
