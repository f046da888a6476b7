//! The messages between a Claude Code CLI and an editor: JSON-RPC 2.0, the supported part of MCP, and the IDE
//! notifications.
//!
//! Types and their JSON only: no I/O, no clock, no runtime. Messages are parsed here once; other crates trust the
//! types.
#![forbid(unsafe_code)]

pub mod companion;
pub mod content;
pub mod ide;
pub mod jsonrpc;
pub mod mcp;
pub mod position;
mod surrogates;
mod symbol_kind;

pub use surrogates::{replace_lone_surrogates, without_lone_surrogates};
pub use symbol_kind::SYMBOL_KINDS;
