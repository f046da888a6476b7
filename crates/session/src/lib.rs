//! Reads Claude Code's sessions: which exist, what was said, what each is doing.
//!
//! Seven parts, independent of editor and sockets; all but the last work alone:
//! - [`Store`] lists the sessions of a folder or of all folders, with titles, times and sizes.
//! - [`Transcript`] opens one session: an index of its lines, a tree of messages, and single messages on demand.
//! - [`live_sessions`] and [`state_of`] read the state of running sessions once.
//! - [`Feed`] yields the lines of one transcript verbatim, for display elsewhere.
//! - [`search()`] finds text in many sessions.
//! - [`board`] draws sessions as rows: what each does, asks, has changed and cost.
//! - [`Service`] offers all of this to several clients, each with a [`Sink`] for its results, and reports changes of
//!   transcripts and running sessions.
//!
//! Everything blocks, and only [`Service`] spawns threads, so callers choose where the disk work runs.
//! Long work takes a [`Cancel`]. All results serialise in `snake_case`, times as Unix milliseconds, offsets in bytes.
//!
//! Invariants:
//! - The CLI's files are only read, never written, except that a kept session is put back if it is gone; `*.key` files beside the session records are never opened.
//! - Lines of type `api-request*`, and attachments (system prompts, tool schemas) except queued prompts and what ran instead of a call,
//!   never leave this crate.
//! - Lone surrogates in JSON are replaced by U+FFFD as soon as a line is read: see `claude_ide_protocol`.
//! - The format is undocumented: unknown content is skipped or passed on raw, never an error. Facts were measured with
//!   CLI 2.1.329 and are cited where they are used.

mod agent;
mod arguments;
pub mod board;
mod cancel;
mod config_dir;
mod error;
mod feed;
mod id;
mod index;
mod json;
mod kept;
mod lenient;
mod line_body;
mod line_buffer;
mod line_head;
mod live;
mod message;
mod model;
mod process;
pub mod prompt_input;
pub mod render;
mod search;
mod service;
mod state;
mod store;
mod stored;
mod stream_line;
mod tail;
mod text;
mod time;
mod title;
mod tool_result;
mod transcript;
mod user_words;
mod watch;

pub use agent::{Agent, AgentFolders, agents_of, described_agent};
pub use arguments::Arguments;
pub use cancel::Cancel;
pub use config_dir::{ConfigDir, ConfigDirs};
pub use error::{SessionError, chain};
pub use feed::{Advance, Feed, FeedPage};
pub use id::{Name, NodeId, SessionId};
pub use index::{Branch, CommandTime, Delta, Row, Step, ToolRow};
pub use live::{LiveChange, LiveSession, Liveness, live_sessions, state_of};
pub use message::{Block, Image, Message, Part, ToolResult};
pub use model::{AllowedBy, HitRole, RowKind, ToolStatus, Usage};
pub use search::{Hit, SearchOptions, SearchReport, search};
pub use service::{Change, Client, Followed, Growth, Lives, News, Request, Service, ServiceError, Sink};
pub use state::{Activity, SessionState, StateSource, WaitingFor, infer};
pub use store::{Keeping, Scope, Store, Summary, Tally, Task};
pub use stored::Stored;
pub use stream_line::Spoken;
pub use text::Text;
pub use time::{Millis, age};
pub use tool_result::{EditTexts, FileChange, Hunk, Outcome};
pub use transcript::{
    Batch, ChangedFile, EndedCall, EndedCalls, Failure, Location, LocationKind, Position, Transcript,
};
