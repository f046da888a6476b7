//! The messages that a Claude Code CLI and an editor exchange: JSON-RPC 2.0, the part of MCP that is spoken, and the
//! IDE notifications beside it.
//!
//! Types and their JSON only: no I/O, no clock, no runtime. What a peer sent is parsed here once and trusted inside.
#![forbid(unsafe_code)]

pub mod content;
pub mod ide;
pub mod jsonrpc;
pub mod mcp;
pub mod position;
mod surrogates;
mod symbol_kind;

pub use surrogates::{replace_lone_surrogates, without_lone_surrogates};
pub use symbol_kind::SYMBOL_KINDS;
