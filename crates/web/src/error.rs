//! Why nothing can be served.

use std::io;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// No port could be had.
    #[error("could not listen on {host}")]
    Bind {
        /// The address that was asked for.
        host: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system has no random bytes for a token.
    #[error("could not make a token: the system has no random bytes")]
    Random(#[source] io::Error),
    /// Sessions are read no more.
    #[error("sessions are not watched")]
    Sessions,
}
