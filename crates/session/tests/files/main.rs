//! Whole transcripts, valid and damaged.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod any_chunking;
mod code_mode;
mod odd_lines;
mod real_transcripts;
mod subagents;
mod torture;
