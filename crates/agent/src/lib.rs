//! Chats with agents: processes that communicate over stdin and stdout. Independent of Neovim.
//!
//! A [`Chat`] is one conversation with one process, which it starts, feeds and ends. A [`Backend`] speaks the process's
//! protocol: that of the headless Claude Code CLI ([`stream_json`]), or the Agent Client Protocol ([`acp`]). Output
//! reaches a [`Sink`] as protocol-independent [`Event`]s; the user's input comes as [`Command`]s.
//!
//! ```text
//! stdout → reader ─┐                              ┌→ Sink::tell, every 40 ms if there is something
//! stderr → reader ─┼→ the chat's thread: Backend ─┤
//! Chat::command  ──┘                              └→ writer → stdin
//! ```
//!
//! Threads and plain pipes, not tokio's processes: those need a handler for SIGCHLD, which belongs to Neovim's event
//! loop.
//!
//! Invariants:
//! - Callers never wait: starting, reading, writing and ending happen on the chat's own threads.
//! - Events and the agent's input are limited ([`Gate`]), and so is the number of its open questions. At a limit its
//!   output is not read, so that it blocks, and the user's commands are refused.
//! - The agent and its children end with the chat and with this process, within some seconds, in whatever way either
//!   ends: they form a group with a keeper. A process that leaves the group (`setsid`) is not followed.
//! - stdin stays open until the end. Each message is one line of JSON, written by serde.

pub mod acp;
mod ask;
mod backend;
mod chat;
mod command;
mod destructive;
mod event;
mod file_part;
mod form;
mod gate;
mod json;
mod lenient;
mod process;
mod reply;
mod settings;
pub mod stream_json;
mod transcript;
mod writes;

pub use ask::{
    Ask, Change, ChoiceKind, Edit, Field, FieldChoice, FieldKind, FieldValue, Form, Part, Permission, PermissionChoice,
    Question, QuestionOption, Step, Style,
};
pub use backend::{Backend, Output, Streamed};
pub use chat::{Chat, Sink};
pub use command::{Command, CommandError};
pub use event::{Abilities, Answer, Event, ListedSession, Rewound, SignInMethod, SlashCommand, TextKind, TurnEnd};
pub use file_part::FilePart;
pub use gate::{Gate, Reserved};
pub use process::Program;
pub use reply::{ReplyCode, ReplyError};
pub use settings::{Choice, Setting, SettingKind, SettingValue};
pub use transcript::{Change as TranscriptChange, ChatTranscript, TranscriptRequest};
pub use writes::writing_tools;
