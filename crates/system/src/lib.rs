//! Access to the operating system, each thing once: atomic file writes, processes and their groups, the process behind
//! a connection, interruptible pipes, host names, freed memory, signal masks, git's work trees; digests of bytes, and which are text. It
//! blocks, and knows no protocol and no editor.

pub mod digest;
pub mod encoding;
pub mod file;
pub mod group;
pub mod host;
pub mod memory;
pub mod peer;
pub mod pipe;
pub mod process;
pub mod signal;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod worktree;
