//! What the other crates need of the operating system, each thing once: a file that is written whole, whether a process
//! runs, whether a name is this machine's. It blocks, and knows no protocol and no editor.

pub mod file;
pub mod host;
pub mod process;
