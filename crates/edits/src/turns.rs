//! Turns: an agent's activity between two prompts.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::blobs::Bytes;

/// Older turns are forgotten, with their changes; unreviewed changes stay.
const MAX_TURNS: usize = 200;

/// The id of a turn.
pub type TurnId = u64;

/// The client of a turn; negative for clients without a connection.
pub type ClientId = i64;

/// A client's activity between two prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Counts up from 1.
    pub id: TurnId,
    /// Its client.
    pub client: ClientId,
    /// In seconds since the epoch.
    pub started: u64,
    /// `None` while it runs.
    pub ended: Option<u64>,
    /// The paths that Claude changed.
    pub files: Vec<Bytes>,
    /// Files that commands changed and that cannot be undone.
    pub left_out: BTreeSet<Bytes>,
}

/// A change of a turn, for Lua.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// It began.
    Started(Turn),
    /// It ended.
    Ended(Turn),
    /// It was forgotten: there are too many.
    Forgotten(TurnId),
}

/// The turns of all clients.
#[derive(Debug, Default)]
pub struct Turns {
    /// Oldest first.
    turns: VecDeque<Turn>,
    newest: TurnId,
    last_of: HashMap<ClientId, TurnId>,
    pub(crate) events: Vec<TurnEvent>,
}

impl Turns {
    fn add(&mut self, client: ClientId, now: u64, ended: Option<u64>) -> Turn {
        self.newest += 1;
        let turn =
            Turn { id: self.newest, client, started: now, ended: None, files: Vec::new(), left_out: BTreeSet::new() };
        self.turns.push_back(Turn { ended, ..turn.clone() });
        if self.turns.len() > MAX_TURNS {
            self.events.extend(self.turns.pop_front().map(|turn| TurnEvent::Forgotten(turn.id)));
        }
        self.events.push(TurnEvent::Started(turn.clone()));
        Turn { ended, ..turn }
    }

    /// Starts a turn with a prompt. `now` is in seconds since the epoch, here and below.
    pub fn start(&mut self, client: ClientId, now: u64) -> Turn {
        self.finish(client, now);
        let turn = self.add(client, now, None);
        self.last_of.insert(client, turn.id);
        turn
    }

    /// A turn for a write by this editor on a client's behalf, beside the client's current turn.
    pub fn alone(&mut self, client: ClientId, now: u64) -> Turn {
        let turn = self.add(client, now, Some(now));
        self.events.push(TurnEvent::Ended(turn.clone()));
        turn
    }

    /// A client's current turn; a new one if none was started. A turn whose edits seemed over is resumed.
    pub fn current(&mut self, client: ClientId, now: u64) -> Turn {
        let last = self.last_of.get(&client).copied();
        if let Some(turn) = last.and_then(|id| self.get_mut(id)) {
            turn.ended = None;
            return turn.clone();
        }
        self.start(client, now)
    }

    /// Ends the last turn of a client.
    pub fn finish(&mut self, client: ClientId, now: u64) {
        let last = self.last_of.get(&client).copied();
        if let Some(turn) = last.and_then(|id| self.get_mut(id)).filter(|turn| turn.ended.is_none()) {
            turn.ended = Some(now);
            let turn = turn.clone();
            self.events.push(TurnEvent::Ended(turn));
        }
    }

    /// Forgets a client; its turns stay.
    pub fn leave(&mut self, client: ClientId, now: u64) {
        self.finish(client, now);
        self.last_of.remove(&client);
    }

    /// A turn that is not forgotten.
    #[must_use]
    pub fn get(&self, id: TurnId) -> Option<&Turn> {
        self.turns.iter().rev().find(|turn| turn.id == id)
    }

    fn get_mut(&mut self, id: TurnId) -> Option<&mut Turn> {
        self.turns.iter_mut().rev().find(|turn| turn.id == id)
    }

    /// The last turn of a connected client.
    #[must_use]
    pub fn last_of(&self, client: ClientId) -> Option<TurnId> {
        self.last_of.get(&client).copied()
    }

    pub(crate) fn client_of(&self, id: TurnId) -> Option<ClientId> {
        self.get(id).map(|turn| turn.client)
    }

    pub(crate) fn touch(&mut self, id: TurnId, path: &Bytes) {
        if let Some(turn) = self.get_mut(id).filter(|turn| !turn.files.contains(path)) {
            turn.files.push(Bytes::clone(path));
        }
    }

    /// Records files that commands changed in a turn and that cannot be undone.
    pub fn leave_out(&mut self, id: TurnId, paths: impl IntoIterator<Item = Bytes>) {
        if let Some(turn) = self.get_mut(id) {
            turn.left_out.extend(paths);
        }
    }

    /// All turns, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.turns.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_ends_the_turn_before() {
        let mut turns = Turns::default();
        let first = turns.start(1, 10);
        let second = turns.start(1, 20);
        assert_eq!(turns.get(first.id).unwrap().ended, Some(20));
        assert_eq!(turns.current(1, 30).id, second.id);
        let kinds = [TurnEvent::Started(first.clone()), TurnEvent::Ended(Turn { ended: Some(20), ..first })];
        assert_eq!(turns.events.get(..2), Some(kinds.as_slice()));
    }

    #[test]
    fn a_side_turn_ends_at_once_and_is_not_the_clients_current_one() {
        let mut turns = Turns::default();
        let going = turns.start(1, 10);
        assert_eq!(turns.alone(1, 11).ended, Some(11));
        assert_eq!(turns.last_of(1), Some(going.id));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut turns = Turns::default();
        for client in 0..=200 {
            turns.start(client, 1);
        }
        assert!(turns.get(1).is_none() && turns.get(2).is_some());
        assert!(turns.events.contains(&TurnEvent::Forgotten(1)));
        assert_eq!(turns.all().count(), 200);
    }
}
