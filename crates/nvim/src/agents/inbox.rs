//! A chat's events that Lua has not taken.
//!
//! Invariants: events keep their order and come once; a text comes in pieces of at most [`AT_ONCE`] bytes, since Lua
//! takes them on Neovim's main thread. The chat's limit (`claude_ide_agent::Gate`) bounds them; it is notified of each
//! that is taken.

use std::collections::VecDeque;

use claude_ide_agent::{Event, Reserved};
use serde_json::Value as Json;

use crate::value;

/// Bytes of a text.
const AT_ONCE: usize = 64 * 1024;

/// An event, and what Lua gets of it, converted on the chat's thread.
struct Piece {
    event: Event,
    json: Json,
    weight: usize,
}

impl From<Event> for Piece {
    fn from(event: Event) -> Self {
        event.read_arguments();
        let json = serde_json::to_value(&event).unwrap_or_default();
        // Values that nest too deep are left out when they are handed to Lua.
        let measured = json.as_object().and_then(value::measure).unwrap_or(AT_ONCE);
        Self { weight: measured.max(event.weight()), event, json }
    }
}

#[derive(Default)]
pub(super) struct Inbox {
    pieces: VecDeque<Piece>,
    reserved: Option<Reserved>,
}

impl Inbox {
    pub(super) fn put(&mut self, events: Vec<Event>, reserved: Reserved) {
        for event in events.into_iter().flat_map(|event| event.in_pieces(AT_ONCE)) {
            let rest = match self.pieces.back_mut() {
                Some(last) => match last.event.join_up_to(event, AT_ONCE) {
                    Ok(()) => {
                        last.weight = last.event.weight();
                        None
                    }
                    Err(event) => Some(event),
                },
                None => Some(event),
            };
            self.pieces.extend(rest.map(Piece::from));
        }
        self.reserved = Some(match self.reserved.take() {
            Some(before) => before.and(reserved),
            None => reserved,
        });
    }

    pub(super) fn next(&mut self) -> Option<(Event, Json)> {
        let Piece { event, json, weight } = self.pieces.pop_front()?;
        match &mut self.reserved {
            Some(reserved) if !self.pieces.is_empty() => drop(reserved.part(weight)),
            _ => self.reserved = None,
        }
        Some((event, json))
    }
}

#[cfg(test)]
mod tests;
