//! Comments on lines of files, and what is answered: one thread for each place. Independent of the editor.
//!
//! [`Store`] keeps the threads of a worktree in one file, for all editors of the user. A thread remembers the text that it was written
//! on, so that `anchor` finds its lines in the text of today, or says that they are gone. `round` makes the message that is sent.

mod anchor;
mod error;
mod page;
mod request;
mod round;
mod store;
mod thread;

pub use error::CommentError;
pub use request::Request;
pub use store::Store;
