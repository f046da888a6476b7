//! One end of a JSON-RPC connection, without the transport: the peer's requests being served, and our own unanswered
//! ones.
//!
//! The caller reads the wire, passes messages in, and sends those returned. Nothing here waits for the wire or knows
//! the methods.
//!
//! Invariants: a request is answered exactly once, or cancelled and then not at all; both sides are limited.
#![forbid(unsafe_code)]

mod asked;
mod batch;
mod in_flight;
mod refusal;

pub use asked::{Asked, TooMany};
pub use batch::BatchId;
pub use in_flight::{InFlight, Kind, Later, Limits, Work, encode};
pub use refusal::Refusal;

/// One end of a connection.
///
/// `T` is the data of our requests, `K` what a served request waits for, `A` and `E` are the results of serving it.
pub struct Peer<T, K, A, E> {
    /// Our open requests.
    pub asked: Asked<T>,
    /// The peer's open requests.
    pub in_flight: InFlight<K, A, E>,
}
