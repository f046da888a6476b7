//! What the other crates need of the operating system, each thing once: a file that is written whole, whether a process
//! runs, which one connects, a group of processes that ends as a whole, a pipe that is let go, whether a name is this
//! machine's, which signals a thread wants. It blocks, and knows no protocol and no editor.

pub mod file;
pub mod group;
pub mod host;
pub mod peer;
pub mod pipe;
pub mod process;
pub mod signal;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
