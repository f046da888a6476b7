//! Claude Code's sessions, read: which there are, what was said, what each one is doing now.
//!
//! Seven parts, none of which knows an editor or a socket; all but the last can be used alone:
//! - [`Store`] lists the sessions of a folder or of all folders, with titles, times and sizes.
//! - [`Transcript`] opens one session: an index of where its lines lie, a tree of messages, and single messages on demand.
//! - [`Watcher`] follows: new lines of transcripts, new sessions, and the state of each running session.
//! - [`live_sessions`] and [`state_of`] read the state of running sessions once, without watching.
//! - [`Feed`] tells the lines of one transcript as they stand, for whoever shows them elsewhere.
//! - [`search()`] finds text in many sessions.
//! - [`Service`] does all of this for whoever asks: each has a [`Sink`] that is told what comes of it.
//!
//! Everything blocks and nothing spawns a thread except [`Watcher`] and [`Service`], so callers choose where the disk work
//! runs. Long work takes a [`Cancel`]. All results are serde-serialisable, in `snake_case`, times in Unix milliseconds, offsets in bytes.
//!
//! Invariants:
//! - Files of the CLI are only read, never written; `*.key` files beside the session records are never opened.
//! - Lines of type `api-request*`, and what attachments hold (system prompts, tool schemas), never leave this crate.
//! - Half characters in JSON (lone surrogates) are U+FFFD from the reading of a line on: see `claude_ide_protocol`.
//! - The format is undocumented: what is unknown is skipped or passed on raw, never an error. Facts about it were measured
//!   with CLI 2.1.329 and are cited where they are used.

mod agent;
mod body;
mod cancel;
mod config_dir;
mod error;
mod feed;
mod head;
mod id;
mod index;
mod json;
mod lenient;
mod line_buffer;
mod live;
mod message;
mod outcome;
mod process;
pub mod render;
mod search;
mod service;
mod spoken;
mod state;
mod store;
mod tail;
mod time;
mod transcript;
mod watch;
mod words;

pub use agent::{Agent, AgentFolders, agents_of};
pub use cancel::Cancel;
pub use config_dir::{ConfigDir, encode_folder};
pub use error::{SessionError, chain};
pub use feed::{Advance, Feed, FeedPage};
pub use id::{Name, NodeId, SessionId};
pub use index::{Branch, Delta, Row, RowKind, ToolRow, ToolStatus};
pub use live::{LiveChange, LiveSession, Liveness, live_sessions, state_of};
pub use message::{Block, Image, Message, Part, Text, ToolResult, Usage};
pub use outcome::{EditTexts, FileChange, Hunk, Outcome};
pub use search::{Hit, HitRole, SearchOptions, SearchReport, search};
pub use service::{Change, Client, Followed, Growth, Lives, News, Request, Service, ServiceError, Sink};
pub use spoken::Spoken;
pub use state::{Activity, SessionState, StateSource, WaitingFor, infer};
pub use store::{Scope, Store, Summary};
pub use tail::{Line, Tail, TailEvent};
pub use time::Millis;
pub use transcript::{ChangedFile, ChangedFiles, Position, Transcript};
pub use watch::{FollowId, From, Update, WatchMode, Watcher};
