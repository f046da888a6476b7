//! The interface of receivers (an editor, a socket), and the rules for merging queued changes.

use serde::Serialize;
use serde_json::Value as Json;

use crate::index::Delta;
use crate::live::LiveChange;

/// Receives the news of a [`super::Client`]. The implementation decides how they are queued and bounded.
///
/// Both methods run under a lock of the client: they must be quick and must not call the client.
pub trait Sink: Send + Sync + 'static {
    /// Receives news.
    fn tell(&self, news: News);

    /// The request is over: queued news of it are to be dropped.
    fn forget(&self, request: u64);
}

/// A message to a client.
#[derive(Debug)]
pub enum News {
    /// The answer to a request. Only an opened transcript sends more.
    Reply {
        /// The request.
        request: u64,
        /// The answer, or an error.
        outcome: Result<Json, String>,
    },
    /// A search hit; at most as many as the request allowed.
    Hit {
        /// The request.
        request: u64,
        /// The hit.
        hit: Json,
    },
    /// An open transcript changed.
    Change {
        /// The request that opened it.
        transcript: u64,
        /// The change, and the transcript's new state.
        growth: Growth,
    },
    /// A running session changed.
    Live(LiveChange),
}

/// What changed in the rows of an open transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The rows.
    #[serde(flatten)]
    pub delta: Delta,
    /// With `reset`: by how many rows each old row moved; `None` if the old rows are void.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<usize>,
}

/// A change of an open transcript, with its state afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The change.
    pub change: Change,
    /// The transcript's properties.
    pub info: Json,
}

impl Change {
    /// Merges a later change into this one.
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

impl Growth {
    /// Merges a later change into this unsent one.
    #[must_use]
    pub fn then(self, mut later: Self) -> Self {
        // Subagents are only sent when they changed, so an unsent list is still needed.
        if let (Json::Object(mut before), Json::Object(info)) = (self.info, &mut later.info)
            && let Some(agents) = before.remove("agents")
        {
            info.entry("agents").or_insert(agents);
        }
        Self { change: self.change.then(later.change), info: later.info }
    }
}

impl LiveChange {
    /// Merges a later change of the same process into this unsent one.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self { previous: self.previous.or(later.previous), session: later.session }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grown(from: usize, len: usize) -> Change {
        Change { delta: Delta { reset: false, from, len, changed: Vec::new() }, shift: None }
    }

    fn reset(len: usize, shift: Option<usize>) -> Change {
        Change { delta: Delta { reset: true, from: 0, len, changed: Vec::new() }, shift }
    }

    #[test]
    fn a_replacement_voids_earlier_news() {
        assert_eq!(grown(5, 6).then(reset(9, Some(3))), reset(9, Some(3)));
        let mut since = reset(10, Some(3));
        since.delta.changed.clear();
        assert_eq!(reset(9, Some(3)).then(grown(9, 10)), since);
        assert_eq!(
            reset(9, Some(3)).then(reset(2, Some(1))),
            reset(2, None),
            "two of them: nothing is known of old rows"
        );
    }

    #[test]
    fn undelivered_subagents_are_still_news() {
        let growth = |info| Growth { change: grown(0, 1), info };
        let both = growth(json!({ "agents": [1], "len": 1 })).then(growth(json!({ "len": 2 })));
        assert_eq!(both.info, json!({ "agents": [1], "len": 2 }));
        let both = growth(json!({ "agents": [1] })).then(growth(json!({ "agents": [2] })));
        assert_eq!(both.info, json!({ "agents": [2] }));
    }
}
