//! The way in over TCP, for everything that is served: a listener, connections with limits and deadlines, and what a request must
//! show before it is looked at. What is served, to whom and in which words it is refused, the users of this crate say.
//!
//! Invariants:
//! - There are no more connections than allowed. Of those that showed no secret, the oldest makes room for the next.
//! - The first request, every write and the end of a connection have a deadline. After [`serve`] nothing is left.
//! - A secret has at least 128 random bits, so that guesses need not be counted. It is compared in constant time and never shown
//!   by `Debug`.
#![forbid(unsafe_code)]

mod accept;
mod body;
mod connection;
mod listener;
mod request;
mod secret;
mod wire;

pub use accept::{Limits, Stop, serve, stopping, turn_away};
pub use body::{Body, empty, full, read};
pub use connection::{Caller, Socket, Visit};
pub use listener::bind;
pub use request::{Headers, Hosts, Pages, Policy, Refusal};
pub use secret::{Keys, Secret};
pub use wire::{Liveness, Wire};
