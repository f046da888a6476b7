//! Records Claude's changes to files, turn by turn, and which are unreviewed. Independent of the editor. The caller
//! names the author of a text; only the folder for old texts is written.
//!
//! [`Journal`] is the interface. It keeps a history of each file (`history`); `regions` tracks which lines are
//! Claude's, and `view` maps that onto the current text. `checkpoints` runs git and waits for it.

mod blobs;
mod callers;
pub mod checkpoints;
mod diff;
mod history;
mod journal;
mod lines;
mod on_disk;
mod regions;
#[cfg(test)]
mod testing;
mod three_way;
mod turns;
mod view;

pub use blobs::{Bytes, Stored};
pub use callers::{CallId, Caller};
pub use diff::{Hunk as LineHunk, left_of, line_hunks};
pub use history::{Found, Source};
pub use journal::{Event, File, FileId, Journal, Moment, Opened, Reported, Undo, Undone};
pub use on_disk::OnDisk;
pub use regions::{Actor, State};
pub use three_way::{Merged, three_way};
pub use turns::{Activity, ClientId, Millis, Progress, Prompt, Turn, TurnEvent, TurnId, Turns};
pub use view::{Change, Hunk, Kind, Now, Scope};
