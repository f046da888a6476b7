//! One end of a JSON-RPC conversation, without the socket or pipe: the requests of the other end that are being served, and
//! those of ours that it has yet to answer.
//!
//! Whoever reads the wire hands in what came and sends what is given back. Nothing here waits for the wire, and nothing
//! here knows what the methods mean.
//!
//! Invariants: a request is answered exactly once, or cancelled and then not at all; both sides are bounded.
#![forbid(unsafe_code)]

mod asked;
mod batch;
mod in_flight;
mod refusal;

pub use asked::{Asked, TooMany};
pub use batch::BatchId;
pub use in_flight::{InFlight, Kind, Later, Limits, Work, encode};
pub use refusal::Refusal;

/// One end of a conversation.
///
/// `T` is what it remembers of a request of its own, `K` what a served one waits for, `A` and `E` are what serving gives.
pub struct Peer<T, K, A, E> {
    /// What we asked the other end.
    pub asked: Asked<T>,
    /// What it asked us.
    pub in_flight: InFlight<K, A, E>,
}
