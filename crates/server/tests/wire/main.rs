//! The protocol over real sockets.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod abuse;
mod coming_in;
mod elsewhere;
mod golden;
mod handshake;
mod hooks;
mod http;
mod in_flight;
mod lifecycle;
mod mcp;
mod methods;
mod notifications;
