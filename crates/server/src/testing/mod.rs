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

use std::{path::Path, sync::atomic::AtomicBool, time::Duration};

pub use client::{TestClient, dial, http, upgrade_request};
pub use editor::{ScriptedEditor, Shared};
pub use server::TestServer;

use serde_json::value::RawValue;

use crate::{
    PathMap,
    listing::{self, Pattern},
};

/// How long a test waits for what should happen at once.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// The files of a folder, as `listFiles` names them.
#[must_use]
pub fn list(folder: &Path) -> Vec<String> {
    listing::list(&[folder.to_owned()], None, usize::MAX, &AtomicBool::new(false)).files
}

/// A client's path here, and a path of this machine for a client.
#[must_use]
pub fn mapped(map: &PathMap, named: &str) -> [Option<String>; 2] {
    [map.here(named), map.there(Path::new(named))]
}

/// A client's message here, and one of this machine for a client; `None` if it stays as it is.
#[must_use]
pub fn mapped_message(map: &PathMap, message: &RawValue) -> [Option<Box<RawValue>>; 2] {
    [map.incoming(message), map.outgoing(message)]
}

/// Whether a pattern for `listFiles` means this path.
///
/// # Errors
/// It is no pattern.
pub fn matches(pattern: &str, relative: &str) -> Result<bool, String> {
    Pattern::new(pattern).map(|pattern| pattern.matches(Path::new(relative)))
}
