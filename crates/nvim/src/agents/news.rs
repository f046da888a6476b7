//! What a chat told since Lua looked, as it waits in the queue.
//!
//! Invariants: it is told in its order and nothing of it twice, however it is parted. What Lua takes at one look is about
//! [`AT_ONCE`] bytes: more only where one thing that is no text is larger. What waits is bounded by what the chat may have waiting
//! (`claude_ide_agent::Gate`), which hears of each part that was taken.

use std::collections::VecDeque;

use claude_ide_agent::{Held, Told};
use serde_json::Value as Json;

use crate::value::{self, Value};
use crate::waiting::{Bound, Event, Turn};

/// Bytes that Lua takes at one look: what becomes of it in Lua is Neovim's main thread's work.
const AT_ONCE: usize = 64 * 1024;

/// A text goes on, or anything else, made ready on the chat's thread.
enum Piece {
    Text(Told),
    Other { told: Json, weight: usize },
}

impl From<Told> for Piece {
    fn from(told: Told) -> Self {
        if matches!(told, Told::Text { .. }) {
            return Self::Text(told);
        }
        let told = json(&told);
        // What nests too deep is left out where it is handed to Lua.
        let weight = told.as_object().and_then(value::measure).unwrap_or(AT_ONCE);
        Self::Other { told, weight }
    }
}

impl Piece {
    fn weight(&self) -> usize {
        match self {
            Self::Text(told) => told.weight(),
            Self::Other { weight, .. } => *weight,
        }
    }

    fn into_json(self) -> Json {
        match self {
            Self::Text(told) => json(&told),
            Self::Other { told, .. } => told,
        }
    }
}

fn json(told: &Told) -> Json {
    serde_json::to_value(told).unwrap_or_default()
}

pub(super) struct ChatNews {
    chat: u64,
    told: VecDeque<Piece>,
    held: Held,
}

impl ChatNews {
    pub(super) fn new(chat: u64, told: Vec<Told>, held: Held) -> Self {
        let told = told.into_iter().flat_map(|told| told.in_pieces(AT_ONCE)).map(Piece::from).collect();
        Self { chat, told, held }
    }
}

impl Event for ChatNews {
    const TURN: Turn = Turn::News;
    /// One that is taken in parts keeps its place and is joined by what comes meanwhile. Others do not wait long for that: Lua
    /// takes faster than an agent's lines are read.
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.chat
    }

    fn weight(&self) -> usize {
        self.held.bytes()
    }

    fn then(mut self, later: Self) -> Self {
        let mut more = later.told.into_iter();
        if let Some(first) = more.next() {
            let rest = match (self.told.back_mut(), first) {
                (Some(Piece::Text(last)), Piece::Text(text)) => last.join_up_to(text, AT_ONCE).err().map(Piece::Text),
                (_, first) => Some(first),
            };
            self.told.extend(rest);
        }
        self.told.extend(more);
        self.held = self.held.and(later.held);
        self
    }

    fn part(mut self) -> (Self, Option<Self>) {
        let mut weight = 0_usize;
        let count = self.told.iter().take_while(|piece| {
            let is_first = weight == 0;
            weight = weight.saturating_add(piece.weight());
            is_first || weight <= AT_ONCE
        });
        let count = count.count();
        if count >= self.told.len() {
            return (self, None);
        }
        let told: VecDeque<Piece> = self.told.drain(..count).collect();
        let held = self.held.part(told.iter().map(Piece::weight).sum());
        (Self { chat: self.chat, told, held }, Some(self))
    }

    fn into_value(self) -> Value {
        Value::Table(vec![
            ("type", Value::Text("chat_news")),
            ("id", Value::Id(self.chat)),
            ("told", Value::Json(Json::Array(self.told.into_iter().map(Piece::into_json).collect()))),
        ])
    }
}

#[cfg(test)]
mod tests;
