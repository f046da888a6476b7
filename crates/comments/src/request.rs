//! Requests as JSON: an object with one field, which names the request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::anchor::Lines;
use crate::thread::{Author, Side, State, Thread};

/// A request of the editor.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// All threads.
    List(List),
    /// A new thread.
    Add(Add),
    /// New threads of one text. The answer has the number of each; `null`: it could not be added.
    AddAll(Vec<Add>),
    /// What the user wants to say to a thread next, in place of what is not sent yet. A thread without words is removed.
    Write(Write),
    /// What Claude says to a thread.
    Reply(Reply),
    /// The user's word that nothing is left to be done.
    Resolve(Resolve),
    /// Where the lines of a file's threads are in a text.
    Place(Place),
    /// The message of a round.
    Round(Round),
    /// The threads of sessions, for the web page.
    Page(Page),
    /// Claude has got these words.
    Sent(Vec<Said>),
    /// The text that a thread's file had when Claude got the last words.
    Before(Before),
    /// The threads for Claude, as text.
    Tell(Tell),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Compare the files with what they were when Claude got the last words.
    #[serde(default)]
    pub(crate) since: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Before {
    pub(crate) id: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Add {
    pub(crate) by: Author,
    pub(crate) words: String,
    pub(crate) path: Option<String>,
    pub(crate) plan: Option<String>,
    #[serde(default)]
    pub(crate) side: Side,
    pub(crate) lines: Option<LinesOf>,
    /// The text is that of a proposal.
    #[serde(default)]
    pub(crate) proposed: bool,
    /// Whose change of the file it is about.
    pub(crate) session: Option<String>,
    /// Of a tour. The first one begins a new tour, in place of the last one.
    pub(crate) step: Option<u32>,
}

/// Lines, from 0.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinesOf {
    first: usize,
    count: usize,
}

impl From<LinesOf> for Lines {
    fn from(LinesOf { first, count }: LinesOf) -> Self {
        Self { first, count }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    pub(crate) id: u64,
    pub(crate) words: String,
    /// The words that these are to replace; nothing: whatever there is.
    pub(crate) over: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    pub(crate) id: u64,
    pub(crate) words: String,
    #[serde(default)]
    pub(crate) done: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    pub(crate) id: u64,
    pub(crate) resolved: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub(crate) path: Option<String>,
    pub(crate) plan: Option<String>,
    #[serde(default)]
    pub(crate) side: Side,
    /// Where the editor knows lines to be.
    #[serde(default)]
    pub(crate) known: Vec<Known>,
    /// Only look: a text that is shown, but not the file's.
    #[serde(default)]
    pub(crate) passing: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    pub(crate) id: u64,
    pub(crate) first: usize,
    /// 0: they were deleted.
    pub(crate) count: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    pub(crate) ids: Vec<u64>,
    /// Files that are quoted by name only.
    #[serde(default)]
    pub(crate) withheld: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The threads of each.
    pub(crate) sessions: BTreeMap<String, Vec<u64>>,
    /// Files of which nothing is quoted.
    #[serde(default)]
    pub(crate) withheld: Vec<String>,
}

/// What was sent of a thread.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    pub(crate) id: u64,
    pub(crate) words: String,
    pub(crate) session: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tell {
    /// Default: those that are open.
    pub(crate) state: Option<State>,
    #[serde(default)]
    pub(crate) withheld: Vec<String>,
}

/// A thread as the editor gets it.
#[derive(Debug, Serialize)]
pub(crate) struct Shown<'a> {
    #[serde(flatten)]
    pub(crate) thread: &'a Thread,
    pub(crate) state: State,
    /// The user's words that are not sent.
    pub(crate) draft: Option<&'a str>,
    /// What became of the file since Claude got the last words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Since>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Since {
    Same,
    /// The lines commented on are different.
    Lines,
    /// Other lines are.
    File,
    /// There is no such file any more.
    Gone,
}

/// Where a thread is to be shown in a text.
#[derive(Debug, Serialize)]
pub(crate) struct PlacedThread {
    pub(crate) id: u64,
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) kind: &'static str,
}
