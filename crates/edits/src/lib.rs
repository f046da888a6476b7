//! What Claude changed in files, turn by turn, and what of it is still to be reviewed. No editor. The caller
//! reads the user's files and says whose a text is; written is only the folder that old texts move to.
//!
//! [`Journal`] is the whole of it. It keeps a history of each file (`history`), of which `regions` says which lines are Claude's, and
//! `view` what that means in the text of now. `checkpoints` asks git, and waits for it.

mod blobs;
pub mod checkpoints;
mod diff;
mod history;
mod journal;
mod lines;
mod regions;
#[cfg(test)]
mod testing;
mod three_way;
mod turns;
mod view;

pub use blobs::{Bytes, Stored};
pub use history::{Found, Source};
pub use journal::{Event, File, FileId, Journal, Moment, Opened, Told, Undo, Undone};
pub use regions::{Actor, State};
pub use three_way::{Merged, three_way};
pub use turns::{ClientId, Turn, TurnEvent, TurnId, Turns};
pub use view::{Change, Hunk, Kind, Now, Scope};
