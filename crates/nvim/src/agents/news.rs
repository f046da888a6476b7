//! A chat's events, queued for Lua.
//!
//! Invariants: events keep their order and come once, however they are split. One poll takes about [`AT_ONCE`] bytes,
//! more only for a single larger event that is no text. The chat's limit (`claude_ide_agent::Gate`) bounds the queue;
//! it is notified of each part taken.

use std::collections::VecDeque;

use claude_ide_agent::{Event as AgentEvent, Reserved};
use serde_json::Value as Json;

use crate::value::{self, Value};
use crate::waiting::{Bound, Event, Turn};

/// Bytes per poll: Lua handles them on Neovim's main thread.
const AT_ONCE: usize = 64 * 1024;

/// A continued text, or another event, converted on the chat's thread.
enum Piece {
    Text(AgentEvent),
    Other { event: Json, weight: usize },
}

impl From<AgentEvent> for Piece {
    fn from(event: AgentEvent) -> Self {
        if matches!(event, AgentEvent::Text { .. }) {
            return Self::Text(event);
        }
        let event = json(&event);
        // Values that nest too deep are left out when they are handed to Lua.
        let weight = event.as_object().and_then(value::measure).unwrap_or(AT_ONCE);
        Self::Other { event, weight }
    }
}

impl Piece {
    fn weight(&self) -> usize {
        match self {
            Self::Text(event) => event.weight(),
            Self::Other { weight, .. } => *weight,
        }
    }

    fn into_json(self) -> Json {
        match self {
            Self::Text(event) => json(&event),
            Self::Other { event, .. } => event,
        }
    }
}

fn json(event: &AgentEvent) -> Json {
    serde_json::to_value(event).unwrap_or_default()
}

pub(super) struct ChatNews {
    chat: u64,
    events: VecDeque<Piece>,
    reserved: Reserved,
}

impl ChatNews {
    pub(super) fn new(chat: u64, events: Vec<AgentEvent>, reserved: Reserved) -> Self {
        let events = events.into_iter().flat_map(|event| event.in_pieces(AT_ONCE)).map(Piece::from).collect();
        Self { chat, events, reserved }
    }
}

impl Event for ChatNews {
    const TURN: Turn = Turn::News;
    /// A partly taken event keeps its place and grows by new ones. Other chats do not wait long: Lua takes faster than
    /// an agent's lines are read.
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.chat
    }

    fn weight(&self) -> usize {
        self.reserved.bytes()
    }

    fn then(mut self, later: Self) -> Self {
        let mut more = later.events.into_iter();
        if let Some(first) = more.next() {
            let rest = match (self.events.back_mut(), first) {
                (Some(Piece::Text(last)), Piece::Text(text)) => last.join_up_to(text, AT_ONCE).err().map(Piece::Text),
                (_, first) => Some(first),
            };
            self.events.extend(rest);
        }
        self.events.extend(more);
        self.reserved = self.reserved.and(later.reserved);
        self
    }

    fn part(mut self) -> (Self, Option<Self>) {
        let mut weight = 0_usize;
        let count = self.events.iter().take_while(|piece| {
            let is_first = weight == 0;
            weight = weight.saturating_add(piece.weight());
            is_first || weight <= AT_ONCE
        });
        let count = count.count();
        if count >= self.events.len() {
            return (self, None);
        }
        let events: VecDeque<Piece> = self.events.drain(..count).collect();
        let reserved = self.reserved.part(events.iter().map(Piece::weight).sum());
        (Self { chat: self.chat, events, reserved }, Some(self))
    }

    fn into_value(self) -> Value {
        Value::Table(vec![
            ("type", Value::Text("chat_news")),
            ("id", Value::Id(self.chat)),
            ("events", Value::Json(Json::Array(self.events.into_iter().map(Piece::into_json).collect()))),
        ])
    }
}

#[cfg(test)]
mod tests;
