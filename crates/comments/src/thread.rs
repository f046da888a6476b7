//! A thread: a comment on lines, and what was said to it.

use serde::{Deserialize, Serialize};

use crate::anchor::Lines;

/// Unix milliseconds.
pub(crate) type Millis = u64;

/// Which text of a file: as it is, or as it was before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    #[default]
    New,
    Old,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Author {
    User,
    Claude,
}

/// What is to be done about a thread next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// The user has words that are not sent.
    Draft,
    /// Claude has not answered.
    Sent,
    Answered,
    /// Claude says that it is done.
    Done,
    /// The user says so.
    Resolved,
}

/// What one of them said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) by: Author,
    pub(crate) words: String,
    pub(crate) at: Millis,
    /// Of the user's: Claude has got it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) sent: bool,
    /// Of Claude's: it is done.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) done: bool,
}

/// The lines commented on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Anchor {
    /// From 0, in the text commented on, or in a later one in which all lines were found.
    pub(crate) first: usize,
    pub(crate) lines: Vec<String>,
    /// The name of that text; `None`: it was too large to keep.
    pub(crate) text: Option<String>,
    /// Where they are in the last text that was looked at.
    pub(crate) now: Now,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Now {
    /// At `first`.
    Same,
    /// Some were changed or removed.
    Changed { first: usize, count: usize },
    /// None is left. The line that stands there.
    Outdated {
        first: usize,
        /// The editor saw them go: lines that look alike are others.
        #[serde(default, skip_serializing_if = "is_false")]
        deleted: bool,
    },
}

impl Anchor {
    pub(crate) const fn lines(&self) -> Lines {
        Lines { first: self.first, count: self.lines.len() }
    }

    /// Where to show the comment.
    pub(crate) const fn shown(&self) -> Lines {
        match self.now {
            Now::Same => self.lines(),
            Now::Changed { first, count } => Lines { first, count },
            Now::Outdated { first, .. } => Lines { first, count: 0 },
        }
    }
}

/// When Claude got the user's last words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LastRound {
    pub(crate) at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The name of the file's text then; `None`: there was none, or it was too large to keep.
    pub(crate) text: Option<String>,
    /// The lines commented on, in that text.
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// A comment on lines, on a file, or on everything, and what was said to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Thread {
    pub(crate) id: u64,
    /// Relative to the worktree; `None`: it is about a plan, or about everything.
    pub(crate) path: Option<String>,
    /// It is about the plans of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<String>,
    #[serde(default)]
    pub(crate) side: Side,
    /// `None`: it is about the whole file.
    pub(crate) anchor: Option<Anchor>,
    /// It is about a proposal's text, which the file has not had since.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) proposed: bool,
    /// The session that had changed the file last when the comment was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// Its place in the tour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<u32>,
    pub(crate) entries: Vec<Entry>,
    /// `None`: nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) round: Option<LastRound>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) resolved: bool,
}

impl Thread {
    pub(crate) fn state(&self) -> State {
        match self.entries.last() {
            _ if self.draft().is_some() => State::Draft,
            _ if self.resolved => State::Resolved,
            Some(last) if last.by == Author::User => State::Sent,
            Some(last) if last.done => State::Done,
            _ => State::Answered,
        }
    }

    /// The user's words that are not sent.
    pub(crate) fn draft(&self) -> Option<&Entry> {
        self.entries.get(self.draft_at()?)
    }

    pub(crate) fn draft_at(&self) -> Option<usize> {
        self.entries.iter().position(|entry| entry.by == Author::User && !entry.sent)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}
