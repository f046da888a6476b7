//! Errors returned to Lua, as the second value after nil.

use claude_ide_agent::stream_json::SettingsError;
use claude_ide_comments::CommentError;
use claude_ide_notebook::NotebookError;
use claude_ide_server::{NotifyError, ServerError};
use claude_ide_session::{ServiceError, SessionError, chain};
use claude_ide_system::file::words_of;
use claude_ide_web::WebError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("argument {position} ({name}): expected {expected}, got {found}")]
    Argument { position: usize, name: &'static str, expected: &'static str, found: &'static str },
    #[error("{name} is no valid JSON for this: {source}")]
    Json { name: &'static str, source: serde_json::Error },
    #[error("the server runs already")]
    Running,
    #[error("the server does not run")]
    NotRunning,
    #[error("no call {id} waits for an answer")]
    UnknownCall { id: u64 },
    #[error("code must be \"invalid_params\" or \"failed\", not {code:?}")]
    UnknownCode { code: String },
    #[error("could not start a thread: {0}")]
    Thread(std::io::Error),
    #[error("not everything stopped in time; what did not was left behind")]
    Stuck,
    #[error("{}", chain(.0))]
    Server(#[from] ServerError),
    #[error(transparent)]
    Notify(#[from] NotifyError),
    #[error("{}", chain(.0))]
    Session(#[from] SessionError),
    #[error("sessions are not watched yet: sessions_start comes first")]
    NoSessions,
    #[error(transparent)]
    Sessions(#[from] ServiceError),
    #[error("the sources of the library cannot be read: {0}")]
    SourcesOfLibrary(std::io::Error),
    #[error("sessions are not served")]
    NotServed,
    #[error("{}", chain(.0))]
    Web(#[from] WebError),
    #[error(transparent)]
    Notebook(#[from] NotebookError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Comments(#[from] CommentError),
    #[error("the processes cannot be kept together: {0}")]
    Group(std::io::Error),
    #[error("{}", words_of(.0))]
    File(std::io::Error),
    #[error("this chat is over")]
    NoChat,
    #[error("what was said before was not read yet")]
    ChatFull,
    #[error("there is no operation {name:?}")]
    UnknownOperation { name: String },
    #[error("this is a bug in claude-ide.nvim: the log file tells more")]
    Panicked,
}
