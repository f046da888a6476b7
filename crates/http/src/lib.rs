//! HTTP over TCP for all servers of the plugin: a listener, limits and deadlines of connections, and the checks of a
//! request's head. The content and the wording of refusals are up to the users of this crate.
//!
//! Invariants:
//! - The number of connections is limited. Among those without a secret, the oldest is closed for a new one.
//! - The first request, every write and the end of a connection have a deadline. After [`serve`] no connection is left.
//! - A secret has at least 128 random bits, so guesses need not be counted. It is compared in constant time and never
//!   shown by `Debug`.
#![forbid(unsafe_code)]

mod accept;
mod body;
mod connection;
mod limits;
mod listener;
mod refusal;
mod request;
mod secret;
mod wire;

pub use accept::serve;
pub use body::{Body, empty, full, read};
pub use connection::{Caller, Socket, Visit};
pub use limits::{Limits, Stop, stopping};
pub use listener::{bind, hold};
pub use refusal::Refusal;
pub use request::{Headers, Hosts, Pages, Policy};
pub use secret::{Keys, Secret};
pub use wire::{Liveness, Wire};
