//! Test support: an editor controlled by the test, a server on its own thread, as in the editor, and a client over a
//! real socket. Every wait has a deadline.
#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "only tests use it, and they may fail loudly"
)]

mod client;
mod editor;
mod server;

use std::time::Duration;

pub use client::{TestClient, dial, http, upgrade_request};
pub use editor::{ScriptedEditor, Shared};
pub use server::TestServer;

/// How long a test waits for what should happen at once.
pub const DEADLINE: Duration = Duration::from_secs(120);
