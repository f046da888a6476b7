//! Who is told what was found out: an editor, a socket. What waits there is merged by the rules that stand here.

use serde::Serialize;
use serde_json::Value as Json;

use crate::index::Delta;
use crate::live::LiveChange;

/// Takes what a [`super::Client`] is told. It decides how that waits, and how it stays bounded while nobody looks.
///
/// Both methods are called under a lock of the client: they are quick, and ask the client nothing.
pub trait Sink: Send + Sync + 'static {
    /// Something to say.
    fn tell(&self, news: News);

    /// Nothing is said of this request any more, nor what waits of it.
    fn forget(&self, request: u64);
}

/// What a client is told.
#[derive(Debug)]
pub enum News {
    /// The answer to a request, of which more comes only if it opened a transcript.
    Reply {
        /// The request.
        request: u64,
        /// The answer, or why there is none.
        outcome: Result<Json, String>,
    },
    /// A search found something. No more come than the request allowed.
    Hit {
        /// The request.
        request: u64,
        /// What it found.
        hit: Json,
    },
    /// An open transcript changed.
    Change {
        /// The request that opened it.
        transcript: u64,
        /// What changed, and how it stands now.
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
    /// With `reset`: how many rows further each old row is now; nothing when the old rows are void.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift: Option<usize>,
}

/// A change of an open transcript, and how it stands after that.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// What changed.
    pub change: Change,
    /// What is known of it without asking.
    pub info: Json,
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

impl Growth {
    /// This one, which nobody saw, and then a later one, as one.
    #[must_use]
    pub fn then(self, mut later: Self) -> Self {
        // Subagents are told of when they changed only: what nobody saw of them is still news.
        if let (Json::Object(mut before), Json::Object(info)) = (self.info, &mut later.info)
            && let Some(agents) = before.remove("agents")
        {
            info.entry("agents").or_insert(agents);
        }
        Self { change: self.change.then(later.change), info: later.info }
    }
}

impl LiveChange {
    /// This one, which nobody saw, and then a later one of the same process, as one.
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
    fn a_replacement_makes_what_came_before_it_void() {
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
    fn subagents_that_nobody_saw_are_still_news() {
        let growth = |info| Growth { change: grown(0, 1), info };
        let both = growth(json!({ "agents": [1], "len": 1 })).then(growth(json!({ "len": 2 })));
        assert_eq!(both.info, json!({ "agents": [1], "len": 2 }));
        let both = growth(json!({ "agents": [1] })).then(growth(json!({ "agents": [2] })));
        assert_eq!(both.info, json!({ "agents": [2] }));
    }
}
