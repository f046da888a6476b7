//! Errors of this crate's interface. Malformed file content is never an error; failing disks and invalid arguments are.

use std::io;
use std::path::{Path, PathBuf};

use claude_ide_system::file::words_of;

/// Why a session could not be read, watched or searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A file of the CLI could not be read.
    #[error("could not read {path}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The cache of summaries could not be written.
    #[error("could not write the session cache {path}")]
    Cache {
        /// The cache file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Why the copy of a session could not be made, removed or put back. The message does not name the session.
    #[error(transparent)]
    Keep(io::Error),
    /// No session has this id.
    #[error("no session with the id {id}")]
    UnknownSession {
        /// The requested id.
        id: String,
    },
    /// The row or message does not exist, perhaps because the transcript was replaced.
    #[error("no such message in the transcript")]
    UnknownMessage,
    /// The search pattern is not a regular expression.
    #[error("not a valid search pattern: {message}")]
    Pattern {
        /// The reason, in one line.
        message: String,
    },
    /// A session could not be renamed.
    #[error("{}", words_of(.0))]
    Title(io::Error),
    /// The watcher's thread could not be started.
    #[error("could not start the session watcher")]
    Watcher(#[source] io::Error),
}

impl SessionError {
    /// Adds the path to an I/O error.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Read { path, source }
    }
}

/// An error with all its causes in one line.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
