//! Why the service refuses or fails.

use std::io;

use crate::error::SessionError;

/// Why a request was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// No thread could be started.
    #[error("could not start a thread: {0}")]
    Thread(#[source] io::Error),
    /// It is ending, or has ended.
    #[error("sessions are not watched any more")]
    Over,
    /// The requested transcript is not open.
    #[error("no transcript {number} is open")]
    UnknownTranscript {
        /// The transcript's number in the request.
        number: u64,
    },
    /// Too many requests are unanswered.
    #[error("too many requests about sessions are unanswered")]
    Busy,
    /// A bug: the job panicked.
    #[error("it could not be finished: the log file may tell more")]
    Lost,
    /// An error of the disk or the request.
    #[error(transparent)]
    Session(#[from] SessionError),
}
