//! Which sessions are rows, and what the client knows of them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde::Deserialize;

use crate::time::Millis;

/// Which sessions are rows, and what they look like.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The screen.
    pub screen: Screen,
    /// What the client knows, by session.
    #[serde(default)]
    pub known: HashMap<String, Known>,
    /// Only sessions of this worktree.
    #[serde(default)]
    pub worktree: Option<PathBuf>,
    /// Sessions without a row, until they wait for the user.
    #[serde(default)]
    pub hidden: HashSet<String>,
    /// At most so many ended sessions.
    pub ended: usize,
}

/// What only the client knows of a session.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Known {
    /// What it asks there.
    pub asks: Option<String>,
    /// Changed files to review.
    pub review: u32,
    /// Prompts that wait until it is free.
    pub queued: u32,
    /// Comments of the user's for it, not sent yet.
    pub to_send: u32,
    /// Comments that it has answered.
    pub answered: u32,
    /// What it has cost, in dollars.
    pub cost: Option<f64>,
    /// How full its context is, in percent.
    pub context: Option<u8>,
    /// The name of its terminal.
    pub title: Option<String>,
    /// Its terminal's folder.
    pub cwd: Option<PathBuf>,
    /// Its terminal is on the screen.
    pub shown: bool,
    /// Its terminal ended with Neovim.
    pub remembered: bool,
}

/// Properties of the window.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screen {
    /// Columns.
    pub width: usize,
    /// Characters of ambiguous width take two cells (Neovim's option 'ambiwidth').
    #[serde(default)]
    pub ambiguous_is_wide: bool,
    /// The time to which ages refer; 0: now.
    #[serde(default)]
    pub now: Millis,
    /// Name the project beside the branch; in a list, the folder.
    #[serde(default)]
    pub projects: bool,
    /// Name the configuration folder: the sessions are in several.
    #[serde(skip)]
    pub(super) config_dirs: bool,
}
