//! What the other crates need of the operating system, each thing once: a file that is written whole, and whether a process
//! runs. It blocks, and knows no protocol and no editor.

pub mod file;
pub mod process;
