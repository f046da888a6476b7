//! The requests of the other end that are being served, and the batches that their answers belong to.
//!
//! Invariants: whatever is begun ends exactly once: answered, or cancelled and then not answered. Work starts in the order
//! in which the requests came, and only so much of it runs that its answers have room: a peer that asks for much and
//! reads nothing makes its own requests wait.

mod turns;

use std::collections::HashMap;

use serde::Serialize;

use claude_ide_protocol::jsonrpc::{self, ErrorCode, ErrorObject, RequestId};

use crate::{
    batch::{BatchId, Batches},
    refusal::Refusal,
};

pub use turns::{Later, Work};
use turns::{Settled, Turn, Turns};

/// What a request waits for.
pub trait Kind: Copy {
    /// How much room its answer may need, relative to others.
    fn cost(self) -> usize;
}

/// How much one peer may have going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many of its requests may be open.
    pub requests: usize,
    /// How large its open requests may be together; a single one may be as large as a message can be.
    pub bytes: usize,
    /// How much work runs at a time, counted in [`Kind::cost`].
    pub cost: usize,
    /// From here on the rest of a batch is refused: its answers leave together, so nothing else bounds them.
    pub batch_bytes: usize,
}

/// The open requests of one peer. `K` is what they wait for, `A` and `E` are what serving them gives.
pub struct InFlight<K, A, E> {
    turns: Turns<A, E>,
    entries: HashMap<RequestId, Entry<K>>,
    bytes: usize,
    batches: Batches,
    limits: Limits,
}

struct Entry<K> {
    turn: Turn,
    kind: K,
    batch: Option<BatchId>,
    bytes: usize,
}

impl<K: Kind, A: Serialize + 'static, E: Into<ErrorObject> + 'static> InFlight<K, A, E> {
    /// Nothing is open yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { turns: Turns::new(limits.cost), entries: HashMap::new(), bytes: 0, batches: Batches::default(), limits }
    }

    /// How many requests are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nothing is being served, nothing waits for it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether that id names no open request.
    ///
    /// # Errors
    /// [`Refusal::IdInUse`].
    pub fn is_free(&self, id: &RequestId) -> Result<(), Refusal> {
        if self.entries.contains_key(id) {
            return Err(Refusal::IdInUse(id.clone()));
        }
        Ok(())
    }

    /// Whether another request of that size may wait for its answer.
    ///
    /// # Errors
    /// [`Refusal::TooMany`], [`Refusal::TooLarge`].
    pub fn has_room(&self, bytes: usize) -> Result<(), Refusal> {
        let Limits { requests, bytes: limit, .. } = self.limits;
        if self.entries.len() >= requests {
            return Err(Refusal::TooMany { limit: requests });
        }
        if self.bytes > 0 && self.bytes.saturating_add(bytes) > limit {
            return Err(Refusal::TooLarge { limit });
        }
        Ok(())
    }

    /// Opens a request whose answer takes a while.
    pub fn begin(&mut self, id: RequestId, batch: Option<BatchId>, bytes: usize, work: Later<A, E>, kind: K) {
        let turn = self.turns.queue(id.clone(), work, kind.cost());
        self.entries.insert(id, Entry { turn, kind, batch, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(batch) = batch {
            self.batches.open_part(batch);
        }
    }

    /// Starts what has waited longest, as far as there is room.
    pub fn start_waiting(&mut self) {
        self.turns.start_waiting();
    }

    /// Ends a request without an answer. Unknown ids are ignored, as MCP says: the answer may be on its way.
    pub fn cancel(&mut self, id: &RequestId) -> bool {
        let entry = self.entries.get(id);
        entry.inspect(|entry| entry.turn.end()).is_some()
    }

    /// Waits until a request is settled. Returns what is to be sent, if anything is. Never resolves while nothing is in
    /// flight; may be dropped and called again.
    pub async fn settle(&mut self) -> Option<Vec<u8>> {
        let settled = self.turns.settle().await;
        self.settled(settled)
    }

    /// What can be sent of the requests that are settled already; None when there is none.
    pub fn settle_now(&mut self) -> Option<Option<Vec<u8>>> {
        let settled = self.turns.settle_now()?;
        Some(self.settled(settled))
    }

    fn settled(&mut self, Settled { id, number, outcome }: Settled<A, E>) -> Option<Vec<u8>> {
        // Not of another request that came with the same id after this one was given up.
        let entry = self.entries.get(&id).filter(|entry| entry.turn.number == number)?;
        let (batch, bytes) = (entry.batch, entry.bytes);
        self.entries.remove(&id);
        self.bytes = self.bytes.saturating_sub(bytes);
        let answer = outcome.ok().map(|outcome| encode(&id, outcome));
        match batch {
            None => answer,
            Some(batch) => {
                self.add_to_batch(batch, Some(&id), answer);
                self.batches.close_part(batch)
            }
        }
    }

    /// Ends every request of this kind with an error, because what it waits for goes away. Returns what is to be sent.
    pub fn give_up(&mut self, which: impl Fn(K) -> bool, why: impl Fn() -> E) -> Vec<Vec<u8>> {
        let given_up: Vec<_> = self.entries.extract_if(|_, entry| which(entry.kind)).collect();
        let mut answers = Vec::new();
        for (id, entry) in given_up {
            // Its future ends as aborted, finds no entry, and says nothing.
            entry.turn.end();
            self.bytes = self.bytes.saturating_sub(entry.bytes);
            let answer = encode::<A, E>(&id, Err(why()));
            match entry.batch {
                None => answers.push(answer),
                Some(batch) => {
                    self.add_to_batch(batch, Some(&id), Some(answer));
                    answers.extend(self.batches.close_part(batch));
                }
            }
        }
        answers
    }

    /// A batch begins; [`Self::end_batch`] must follow when all of its messages were read.
    pub fn begin_batch(&mut self) -> BatchId {
        self.batches.begin()
    }

    /// The answer to one message of a batch; `request` is its id, if it has one.
    pub fn add_to_batch(&mut self, batch: BatchId, request: Option<&RequestId>, answer: Option<Vec<u8>>) {
        let Some(mut answer) = answer else { return };
        let limit = self.limits.batch_bytes;
        if self.batches.bytes(batch) >= limit
            && let Some(request) = request
        {
            answer = encode::<A, _>(request, Err(Refusal::BatchTooLarge { limit }));
        }
        self.batches.add(batch, answer);
    }

    /// Returns the answers, if all are there already.
    pub fn end_batch(&mut self, batch: BatchId) -> Option<Vec<u8>> {
        self.batches.close_part(batch)
    }
}

/// The whole message that answers a request.
pub fn encode<A: Serialize, E: Into<ErrorObject>>(id: &RequestId, outcome: Result<A, E>) -> Vec<u8> {
    let encoded = match outcome {
        Ok(answer) => jsonrpc::result(id, &answer),
        Err(error) => jsonrpc::error(Some(id), &error.into()),
    };
    encoded.unwrap_or_else(|error| {
        // Only an answer with a key that is no string could fail, and there is none.
        tracing::error!(%error, "an answer could not be written");
        let message = "the answer could not be written".into();
        let error = ErrorObject { code: ErrorCode::InternalError, message };
        jsonrpc::error(Some(id), &error).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests;
