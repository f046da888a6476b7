//! Requests as JSON: an object with one field, which names the request.

use std::path::PathBuf;

use serde::Deserialize;

use crate::board::{Known, Options, Screen};
use crate::render::{Export, RenderRequest};
use crate::search::SearchOptions;
use crate::store::Scope;
use crate::time::Millis;

/// A request of a client.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The sessions of a place.
    List(Place),
    /// The sessions of some places as the rows of a board.
    Board(Box<BoardOf>),
    /// Sessions as the lines of a list to choose from, in this order.
    Lines(LinesOf),
    /// The configuration folder of a running CLI.
    Process(ProcessOf),
    /// The transcript of a session.
    Find(Find),
    /// Opens a transcript, whose changes are reported until it is closed.
    Open(Open),
    /// A question to an open transcript.
    Ask(Ask),
    /// Searches sessions.
    Search(Search),
    /// What the CLI has stored of a session's turn, and its permission mode.
    Stored(StoredOf),
    /// Gives a session a title.
    Rename(Rename),
    /// The copy of a session that the CLI may delete.
    Kept(KeptOf),
    /// Whether the watcher gets events or polls.
    Mode {},
}

/// Which sessions to list.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
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

/// Draws the board.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardOf {
    pub(super) places: Vec<Place>,
    /// Known transcripts: only these are read again. By default, they are looked for.
    pub(super) files: Option<Vec<PathBuf>>,
    pub(super) options: Options,
}

/// Draws a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesOf {
    pub(super) sessions: Vec<LineOf>,
    pub(super) screen: Screen,
}

/// A session of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LineOf {
    /// Its id; empty for a terminal that has no session yet.
    pub(super) id: String,
    /// Its transcript, if it was written.
    pub(super) file: Option<PathBuf>,
    /// The process that runs it.
    pub(super) pid: Option<u32>,
    /// What becomes of it, for the user: "kept", "expires today".
    pub(super) note: Option<String>,
    /// In a list of terminals, what the client knows of it.
    pub(super) known: Option<Known>,
}

/// Asks for a running CLI's configuration folder, whose sessions are read from then on.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessOf {
    pub(super) pid: u32,
}

/// Finds a session's transcript.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Find {
    pub(super) id: String,
}

/// Asks what is stored of a session.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredOf {
    pub(super) id: String,
    /// When its process began.
    #[serde(default)]
    pub(super) since: Millis,
}

/// Renames a session.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    pub(super) id: String,
    /// Its transcript.
    pub(super) file: PathBuf,
    pub(super) title: String,
    /// Whether a process runs it, which may write at any moment.
    pub(super) is_running: bool,
}

/// Keeps a session, or what to do with its copy.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptOf {
    /// Its transcript, as it was listed.
    pub(super) file: PathBuf,
    pub(super) act: KeepAct,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeepAct {
    Keep,
    PutBack,
    /// The copy, beside the session.
    Remove,
    /// The copy, of which nothing else is left.
    Delete,
}

/// Opens a transcript; the request's number becomes its id.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    pub(super) file: PathBuf,
    /// Whether it also has what the CLI shows and has not recorded yet.
    #[serde(default)]
    pub(super) shows: bool,
}

/// Asks an open transcript.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub(super) transcript: u64,
    /// The epoch of the numbers in the question.
    pub(super) epoch: u64,
    pub(super) question: Question,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Question {
    Rows { from: usize, count: usize },
    Messages { ids: Vec<u32>, max_text: usize },
    EditTexts { tool_use_id: String },
    EndedCalls { offset: u64, since: i64 },
    Commands { since: i64 },
    ShowBranch { through: Option<u32> },
    Sidechain { first: u32 },
    Position { id: u32 },
    MessageAtLine { line: u32 },
    Markdown(Export),
    Draw { request: Box<RenderRequest>, max_text: usize },
}

impl Question {
    /// Whether the answer must know what was written until now.
    pub(super) fn is_of_now(&self) -> bool {
        matches!(self, Self::Commands { .. })
    }
}

/// Searches sessions, newest first.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    pattern: String,
    #[serde(default)]
    literal: bool,
    case_sensitive: Option<bool>,
    max_hits: Option<usize>,
    context_lines: Option<usize>,
    place: Place,
}

/// Limit of hits: all of them may queue up while Neovim is busy.
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
