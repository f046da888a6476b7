use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config_dir::ConfigDir;
use crate::id::SessionId;
use crate::time::Millis;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Its id, as for `--resume`.
    pub id: SessionId,
    /// Its transcript.
    pub file: PathBuf,
    /// The folder it was started in.
    pub cwd: Option<PathBuf>,
    /// The user's name for it, else the CLI's, else the beginning of the first prompt.
    pub title: Option<String>,
    /// Whether a user named it.
    pub named: bool,
    /// The beginning of the first prompt.
    pub first_prompt: Option<String>,
    /// The beginning of the last prompt.
    pub last_prompt: Option<String>,
    /// The git branch at the last write.
    pub branch: Option<String>,
    /// The model of the last reply.
    pub model: Option<String>,
    /// How full the model's context was at the last reply, in percent; `None` if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u8>,
    /// When it began.
    pub started: Option<Millis>,
    /// When it was last written to.
    pub updated: Millis,
    /// Size of the transcript, in bytes.
    pub bytes: u64,
    /// Prompts and replies; `None` until the whole file was read: see [`crate::Store::tally`].
    pub messages: Option<u32>,
    /// Number of turns, if the CLI records it.
    pub turns: Option<u32>,
    /// The session it was forked from.
    pub forked_from: Option<SessionId>,
    /// The copy that the user keeps of it.
    #[serde(skip)]
    pub kept: Option<Keeping>,
}

/// A copy of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// The configuration folder of its CLI.
    pub config_dir: ConfigDir,
    /// The CLI has deleted its own: only the copy is left.
    pub only: bool,
    /// The session has other text than the copy.
    pub stale: bool,
}

impl Summary {
    /// The configuration folder of its CLI.
    #[must_use]
    pub fn config_dir(&self) -> Option<ConfigDir> {
        let kept = self.kept.as_ref().map(|kept| kept.config_dir.clone());
        kept.or_else(|| ConfigDir::of_transcript(&self.file))
    }

    /// Whether it has no message yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first_prompt.is_none() && self.model.is_none() && self.messages.is_none_or(|count| count == 0)
    }
}
