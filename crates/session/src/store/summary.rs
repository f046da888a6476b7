//! What a list says of a session.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::time::Millis;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Its id: what `--resume` takes.
    pub id: SessionId,
    /// Its transcript.
    pub file: PathBuf,
    /// The folder it was started in.
    pub cwd: Option<PathBuf>,
    /// The name that a user gave it, else the one the CLI made up, else the beginning of the first prompt.
    pub title: Option<String>,
    /// Whether a user named it.
    pub named: bool,
    /// The beginning of the first prompt.
    pub first_prompt: Option<String>,
    /// The beginning of the last prompt.
    pub last_prompt: Option<String>,
    /// The git branch, when it was last written to.
    pub branch: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// When it began.
    pub started: Option<Millis>,
    /// When it was last written to.
    pub updated: Millis,
    /// Size of the transcript.
    pub bytes: u64,
    /// Prompts and replies; `None` until all of the file was read: see [`crate::Store::count`].
    pub messages: Option<u32>,
    /// How many turns it had, where the CLI says so.
    pub turns: Option<u32>,
    /// The session it was forked from.
    pub forked_from: Option<SessionId>,
}

impl Summary {
    /// Whether nobody said anything in it yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first_prompt.is_none() && self.model.is_none() && self.messages.is_none_or(|count| count == 0)
    }
}
