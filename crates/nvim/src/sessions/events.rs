//! Session events queued for Lua: replies, search hits, changes of open transcripts and of running sessions.
//!
//! Invariant: an unread change of a transcript moves to the end when it grows, so it never overtakes an earlier reply.

use claude_ide_session::{Growth, LiveChange, News, Sink};
use serde::Serialize;
use serde_json::Value as Json;

use crate::queue::Queue;
use crate::value::Value;
use crate::waiting::{Bound, Event, Turn, Waiting};

impl Sink for Queue {
    fn tell(&self, news: News) {
        match news {
            News::Reply { request, outcome } => self.put(Reply { request, outcome }),
            News::Hit { request, hit } => self.put(Hits { request, hits: vec![hit] }),
            News::Change { transcript, growth } => self.put(Changed { transcript, growth }),
            News::Live(change) => self.put(Live(change)),
        }
    }

    fn forget(&self, request: u64) {
        self.change(|waiting| {
            waiting.remove::<Reply>(request);
            waiting.remove::<Hits>(request);
            waiting.remove::<Changed>(request);
        });
    }
}

/// Drops all waiting events of sessions. Events of chats have the same turn, and stay.
pub(super) fn clear(waiting: &mut Waiting) {
    waiting.clear::<Reply>();
    waiting.clear::<Hits>();
    waiting.clear::<Changed>();
    waiting.clear::<Live>();
}

/// The answer to a request; at most one per request.
struct Reply {
    request: u64,
    outcome: Result<Json, String>,
}

impl Event for Reply {
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.request
    }

    fn into_value(self) -> Value {
        let outcome = match self.outcome {
            Ok(result) => ("result", Value::Json(result)),
            Err(message) => ("err", Value::Json(Json::String(message))),
        };
        event("session_reply", vec![("id", Value::Id(self.request)), outcome])
    }
}

/// A search's unread hits; no more than the request allowed.
struct Hits {
    request: u64,
    hits: Vec<Json>,
}

impl Event for Hits {
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.request
    }

    fn then(mut self, later: Self) -> Self {
        self.hits.extend(later.hits);
        self
    }

    fn into_value(self) -> Value {
        event("session_hits", vec![("id", Value::Id(self.request)), ("hits", Value::Json(Json::Array(self.hits)))])
    }
}

/// The unread changes of an open transcript.
struct Changed {
    transcript: u64,
    growth: Growth,
}

impl Event for Changed {
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::LatestAtEnd;

    fn key(&self) -> u64 {
        self.transcript
    }

    fn then(self, later: Self) -> Self {
        Self { growth: self.growth.then(later.growth), ..later }
    }

    fn into_value(self) -> Value {
        let Growth { change, info } = self.growth;
        let id = Value::Id(self.transcript);
        event("session_change", vec![("id", id), ("delta", json(&change)), ("info", Value::Json(info))])
    }
}

/// The unread change of a running session.
struct Live(LiveChange);

impl Event for Live {
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.0.session.pid.into()
    }

    fn then(self, later: Self) -> Self {
        Self(self.0.then(later.0))
    }

    fn into_value(self) -> Value {
        event("session_live", vec![("change", json(&self.0))])
    }
}

fn event(kind: &'static str, mut fields: Vec<(&'static str, Value)>) -> Value {
    fields.push(("type", Value::Text(kind)));
    Value::Table(fields)
}

fn json<T: Serialize>(value: &T) -> Value {
    Value::Json(serde_json::to_value(value).unwrap_or_default())
}

#[cfg(test)]
mod tests;
