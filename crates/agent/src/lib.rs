//! Chats with agents, each a process that is spoken to over its standard input and output. No Neovim.
//!
//! A [`Chat`] is one conversation with one process, which it starts, feeds and ends. How that process speaks is its
//! [`Backend`]: the Claude Code CLI, headless ([`stream_json`]), or
//! an agent that speaks the Agent Client Protocol ([`acp`]). What it says reaches a [`Sink`] as [`Event`], in words that
//! are not those of any wire; what a user wants goes the other way as a [`Command`].
//!
//! ```text
//! stdout → reader ─┐                              ┌→ Sink::tell, each 40 ms while there is something
//! stderr → reader ─┼→ the chat's thread: Backend ─┤
//! Chat::command  ──┘                              └→ writer → stdin
//! ```
//!
//! Threads and plain pipes, not tokio's processes: those need a handler for SIGCHLD, which belongs to Neovim's event loop.
//!
//! Invariants:
//! - Nothing that a caller waits for: starting, reading, writing and ending happen on the chat's own threads.
//! - What waits to be told, or for the agent to read it, is bounded ([`Gate`]), as what it may ask at once is: past that the
//!   agent's output is not read, and the agent waits. What the user says is refused then.
//! - The agent and what it started end with the chat and with this process, within some seconds, however either ends: they are a
//!   group with a keeper. What leaves the group by itself (`setsid`) is not followed.
//! - stdin stays open until the end. What is written is one line of JSON each, made by serde.

pub mod acp;
mod ask;
mod backend;
mod chat;
mod command;
mod event;
mod file_part;
mod form;
mod gate;
mod lenient;
mod process;
mod settings;
pub mod stream_json;

pub use ask::{
    Ask, Change, ChoiceKind, Edit, Field, FieldChoice, FieldKind, FieldValue, Form, Part, Permission, PermissionChoice,
    Question, QuestionOption, Step, Style,
};
pub use backend::{Backend, Output, Streamed};
pub use chat::{Chat, Sink};
pub use command::{Command, CommandError, ReplyCode, ReplyError};
pub use event::{
    Abilities, Answer, Event, ListedSession, Rewound, SignInMethod, SlashCommand, Speaker, TextKind, TurnEnd,
};
pub use file_part::FilePart;
pub use gate::{Gate, Held};
pub use process::Program;
pub use settings::{Choice, Setting, SettingKind, SettingValue};
