use std::io;
use std::path::PathBuf;

/// Why a request about comments fails.
#[derive(Debug, thiserror::Error)]
pub enum CommentError {
    /// The file of the threads.
    #[error("the comments cannot be read or written ({}): {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Neither overwritten nor removed.
    #[error("the comments cannot be read: {} is not as this version writes it: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Where.
        source: serde_json::Error,
    },
    /// Another process has the lock.
    #[error("another program is writing the comments: try again")]
    Busy,
    /// Its words are not those that the request is to replace.
    #[error("another Neovim has changed this comment meanwhile")]
    Changed,
    /// The thread is gone.
    #[error("there is no comment {0}")]
    Unknown(u64),
    /// A limit.
    #[error("{0}")]
    TooMuch(&'static str),
}
