//! What Lua may ask about sessions, as JSON: an object with one field that names the request.

use std::path::PathBuf;

use claude_ide_session::{Scope, SearchOptions};
use serde::Deserialize;

use crate::logging::LogOptions;

/// Everything `sessions_start` needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionsOptions {
    /// Claude's configuration folder.
    pub(super) config_dir: PathBuf,
    /// Where to remember what was read of each session.
    pub(super) cache_file: PathBuf,
    pub(super) log: LogOptions,
}

/// One request.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    List(Place),
    Find(Find),
    Open(Open),
    Ask(Ask),
    Search(Search),
    State(StateOf),
    /// How the watcher learns of changes.
    Mode {},
}

/// Which sessions are meant.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    scope: ScopeName,
    #[serde(default)]
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScopeName {
    Folder,
    Tree,
    All,
}

impl From<Place> for Scope {
    fn from(place: Place) -> Self {
        match place.scope {
            ScopeName::Folder => Self::Folder(place.folder),
            ScopeName::Tree => Self::Tree(place.folder),
            ScopeName::All => Self::All,
        }
    }
}

/// Where a session's transcript lies.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Find {
    pub(super) id: String,
}

/// What a session is doing, also one that no record speaks of.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateOf {
    pub(super) id: String,
    pub(super) file: PathBuf,
}

/// Opens a transcript; the request's number names it from then on.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    pub(super) file: PathBuf,
}

/// Asks an open transcript.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    pub(super) transcript: u64,
    /// Which life of the transcript the numbers in the question belong to.
    pub(super) epoch: u64,
    pub(super) question: Question,
}

/// What a transcript can be asked.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Question {
    Rows { from: usize, count: usize },
    Messages { ids: Vec<u32>, max_text: usize },
    EditTexts { tool_use_id: String },
    MessageOfTool { tool_use_id: String },
    ShowBranch { through: Option<u32> },
    Sidechain { first: u32 },
    Agents {},
    Position { id: u32 },
    MessageAtLine { line: u32 },
}

/// Searches sessions, the one last written to first.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    pattern: String,
    #[serde(default)]
    literal: bool,
    case_sensitive: Option<bool>,
    max_hits: Option<usize>,
    context_lines: Option<usize>,
    place: Place,
}

/// What one search may find at most: all of it may wait for Neovim to look.
const MAX_HITS: usize = 10_000;

impl Search {
    pub(super) fn into_parts(self) -> (Scope, SearchOptions) {
        let defaults = SearchOptions::default();
        let options = SearchOptions {
            pattern: self.pattern,
            literal: self.literal,
            case_sensitive: self.case_sensitive,
            max_hits: self.max_hits.unwrap_or(defaults.max_hits).min(MAX_HITS),
            context_lines: self.context_lines.unwrap_or(defaults.context_lines).min(20),
            ..defaults
        };
        (self.place.into(), options)
    }
}
