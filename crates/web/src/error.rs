//! Errors of the server.

use std::io;

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// No port could be bound.
    #[error("could not listen on {host}")]
    Bind {
        /// The requested address.
        host: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The system has no random bytes for a token.
    #[error("could not make a token: the system has no random bytes")]
    Random(#[source] io::Error),
    /// The sessions' service has ended.
    #[error("sessions are not watched")]
    Sessions,
}
