//! Errors for the program that runs the server. Those for clients are in `router`.

use std::{io, path::PathBuf};

use crate::editor::ClientId;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The configured address is unavailable.
    #[error("could not listen on {host} port {port}")]
    Bind {
        /// The configured host.
        host: String,
        /// The configured port, or the range of ports.
        port: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The discovery file cannot be written.
    #[error("could not write lock file {path}")]
    LockFile {
        /// The file, or its folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The system has no random bytes for the token.
    #[error("could not get random bytes from the system")]
    Random(#[source] io::Error),
}

/// Why a notification was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotifyError {
    /// The client is not connected.
    #[error("client {0} is not connected")]
    UnknownClient(ClientId),
    /// The client does not read, and its queue is full.
    #[error("too many notifications wait for client {0}")]
    QueueFull(ClientId),
    /// The notification is too large.
    #[error("the parameters of {method} have {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The method.
        method: String,
        /// The size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}
