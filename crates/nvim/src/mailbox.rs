//! What was found out about sessions and waits for Lua to take it: replies, hits of searches, changes of open transcripts
//! and of running sessions. Part of the queue and guarded by its lock.
//!
//! Invariants:
//! - Nothing is said of a request that was cancelled, nor twice of one that was answered.
//! - It is bounded while Neovim does not look: requests are counted, a search gives no more hits than it was allowed to,
//!   and changes of one transcript or of one running session are merged.
//! - A change of a transcript that Lua has not seen moves to the end when it grows, so it never overtakes a reply that was
//!   given before it.

use std::collections::{HashSet, VecDeque};

use claude_ide_session::{Delta, LiveChange};
use serde::Serialize;
use serde_json::Value as Json;

use crate::value::Value;

/// Requests that may be unanswered, and transcripts that may be open, together.
const MAX_OPEN: usize = 4096;

/// What changed in the rows of an open transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    #[serde(flatten)]
    pub(crate) delta: Delta,
    /// With `reset`: how many rows further each old row is now; nothing when the old rows are void.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shift: Option<usize>,
}

impl Change {
    /// This change and then a later one, as one.
    fn then(self, later: Self) -> Self {
        if later.delta.reset {
            let shift = if self.delta.reset { None } else { later.shift };
            return Self { shift, ..later };
        }
        let from = self.delta.from.min(later.delta.from);
        let mut changed = self.delta.changed;
        changed.extend(later.delta.changed);
        changed.retain(|row| *row < from);
        changed.sort_unstable();
        changed.dedup();
        Self { delta: Delta { reset: self.delta.reset, from, len: later.delta.len, changed }, shift: self.shift }
    }
}

#[derive(Debug)]
enum Mail {
    Reply { request: u64, outcome: Result<Json, String> },
    Hits { request: u64, hits: Vec<Json> },
    Change { transcript: u64, change: Change, info: Json },
    Live(Box<LiveChange>),
}

impl Mail {
    fn request(&self) -> Option<u64> {
        match self {
            Self::Reply { request: id, .. } | Self::Hits { request: id, .. } | Self::Change { transcript: id, .. } => {
                Some(*id)
            }
            Self::Live(_) => None,
        }
    }

    fn into_event(self) -> Value {
        let (kind, mut fields) = match self {
            Self::Reply { request, outcome: Ok(result) } => {
                ("session_reply", vec![("id", Value::Id(request)), ("result", Value::Json(result))])
            }
            Self::Reply { request, outcome: Err(message) } => {
                ("session_reply", vec![("id", Value::Id(request)), ("err", Value::Json(Json::String(message)))])
            }
            Self::Hits { request, hits } => {
                ("session_hits", vec![("id", Value::Id(request)), ("hits", Value::Json(Json::Array(hits)))])
            }
            Self::Change { transcript, change, info } => {
                let delta = Value::Json(serde_json::to_value(change).unwrap_or_default());
                ("session_change", vec![("id", Value::Id(transcript)), ("delta", delta), ("info", Value::Json(info))])
            }
            Self::Live(change) => {
                ("session_live", vec![("change", Value::Json(serde_json::to_value(change).unwrap_or_default()))])
            }
        };
        fields.push(("type", Value::Text(kind)));
        Value::Table(fields)
    }
}

/// The mail and the requests that more of it may be about.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    waiting: VecDeque<Mail>,
    open: HashSet<u64>,
    last: u64,
}

impl Mailbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of a new request; nothing when too many are unanswered.
    pub(crate) fn open(&mut self) -> Option<u64> {
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        self.last += 1;
        self.open.insert(self.last);
        Some(self.last)
    }

    /// Nothing is said of this request any more. Whether anything could still have been.
    pub(crate) fn close(&mut self, request: u64) -> bool {
        self.waiting.retain(|mail| mail.request() != Some(request));
        self.open.remove(&request)
    }

    /// Nothing of before is said any more.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.open.clear();
    }

    /// The last word about a request.
    pub(crate) fn reply(&mut self, request: u64, outcome: Result<Json, String>) {
        if self.open.remove(&request) {
            self.waiting.push_back(Mail::Reply { request, outcome });
        }
    }

    /// The answer to a request to open a transcript, of which more will be said.
    pub(crate) fn opened(&mut self, request: u64, info: Json) {
        if self.open.contains(&request) {
            self.waiting.push_back(Mail::Reply { request, outcome: Ok(info) });
        }
    }

    /// A hit of a search.
    pub(crate) fn hit(&mut self, request: u64, hit: Json) {
        if !self.open.contains(&request) {
            return;
        }
        let unseen = self.waiting.iter_mut().rev().find(|mail| mail.request() == Some(request));
        match unseen {
            Some(Mail::Hits { hits: before, .. }) => before.push(hit),
            Some(Mail::Reply { .. } | Mail::Change { .. } | Mail::Live(_)) | None => {
                self.waiting.push_back(Mail::Hits { request, hits: vec![hit] });
            }
        }
    }

    /// What changed in an open transcript, and how it stands now.
    pub(crate) fn change(&mut self, transcript: u64, change: Change, info: Json) {
        if !self.open.contains(&transcript) {
            return;
        }
        let unseen = |mail: &Mail| matches!(mail, Mail::Change { transcript: of, .. } if *of == transcript);
        let before = self.waiting.iter().position(unseen).and_then(|at| self.waiting.remove(at));
        let change = match before {
            Some(Mail::Change { change: before, .. }) => before.then(change),
            Some(Mail::Reply { .. } | Mail::Hits { .. } | Mail::Live(_)) | None => change,
        };
        self.waiting.push_back(Mail::Change { transcript, change, info });
    }

    /// A running session changed.
    pub(crate) fn live(&mut self, change: LiveChange) {
        let unseen = self.waiting.iter_mut().find_map(|mail| match mail {
            Mail::Live(before) if before.session.pid == change.session.pid => Some(before),
            Mail::Live(_) | Mail::Reply { .. } | Mail::Hits { .. } | Mail::Change { .. } => None,
        });
        match unseen {
            Some(before) => {
                before.previous = before.previous.take().or(change.previous);
                before.session = change.session;
            }
            None => self.waiting.push_back(Mail::Live(Box::new(change))),
        }
    }

    /// Takes the oldest, as a table for Lua.
    pub(crate) fn take(&mut self) -> Option<Value> {
        self.waiting.pop_front().map(Mail::into_event)
    }
}

#[cfg(test)]
mod tests;
