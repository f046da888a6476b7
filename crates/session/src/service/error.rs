//! Why the service does not take a request, or does not end.

use std::io;

/// Why a request was not taken, or why the service did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// No thread could be had.
    #[error("could not start a thread: {0}")]
    Thread(#[source] io::Error),
    /// It ends, or has ended.
    #[error("sessions are not watched any more")]
    Over,
    /// The transcript that a question is about is not open.
    #[error("no transcript {number} is open")]
    UnknownTranscript {
        /// The number that the question gave.
        number: u64,
    },
    /// Too many requests wait for their answers.
    #[error("too many requests about sessions are unanswered")]
    Busy,
    /// A thread did not end in time, and was left to itself.
    #[error("not everything stopped in time; what did not was left behind")]
    Stuck,
}
