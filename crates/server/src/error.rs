//! What can go wrong for the one who runs the server. What goes wrong for a client is in `router`.

use std::{io, path::PathBuf};

use crate::editor::ClientId;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The configured address cannot be had.
    #[error("could not listen on {host} port {port}")]
    Bind {
        /// The configured host.
        host: String,
        /// The configured port, or the range of ports.
        port: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The discovery file cannot be written.
    #[error("could not write lock file {path}")]
    LockFile {
        /// The file, or its folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system gives no random bytes for the token.
    #[error("could not get random bytes from the system")]
    Random(#[source] io::Error),
}

/// Why a notification was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// Its client is gone.
    #[error("client {0} is not connected")]
    UnknownClient(ClientId),
    /// The client does not read, and much waits for it already.
    #[error("too many notifications wait for client {0}")]
    QueueFull(ClientId),
    /// Larger than a client should be sent.
    #[error("the parameters of {method} have {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The method.
        method: String,
        /// The size.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
}
