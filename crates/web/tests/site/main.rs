//! A site over real sockets.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

#[path = "../lab/mod.rs"]
mod lab;

mod comments;
mod decisions;
mod let_in;
mod speech;
mod subscribe;
mod write;
