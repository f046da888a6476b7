//! The peer's requests that are being served, and the batches of their responses.
//!
//! Invariants: every request ends exactly once: answered, or cancelled and then not answered. Work starts in the order
//! of the requests, and the cost of running work is limited: a peer that asks for much and reads nothing delays only
//! itself.

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
    /// The relative memory cost of its response.
    fn cost(self) -> usize;
}

/// Limits for one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of open requests.
    pub requests: usize,
    /// Total size of open requests; a single one may be as large as a message.
    pub bytes: usize,
    /// Total [`Kind::cost`] of running work.
    pub cost: usize,
    /// Beyond this size the rest of a batch is refused: its responses leave together, so nothing else limits them.
    pub batch_bytes: usize,
}

/// The open requests of one peer. `K` is what they wait for, `A` and `E` are the results of serving them.
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

    /// Whether no work is waiting or running.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Checks that no open request has this id.
    ///
    /// # Errors
    /// [`Refusal::IdInUse`].
    pub fn is_free(&self, id: &RequestId) -> Result<(), Refusal> {
        if self.entries.contains_key(id) {
            return Err(Refusal::IdInUse(id.clone()));
        }
        Ok(())
    }

    /// Checks that a request of this size may be opened.
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

    /// Opens a request that takes time.
    pub fn begin(&mut self, id: RequestId, batch: Option<BatchId>, bytes: usize, work: Later<A, E>, kind: K) {
        let turn = self.turns.queue(id.clone(), work, kind.cost());
        self.entries.insert(id, Entry { turn, kind, batch, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(batch) = batch {
            self.batches.open_part(batch);
        }
    }

    /// Starts waiting work, oldest first, up to the cost limit.
    pub fn start_waiting(&mut self) {
        self.turns.start_waiting();
    }

    /// Ends a request without a response. Unknown ids are ignored, as MCP requires: the response may be on its way.
    pub fn cancel(&mut self, id: &RequestId) -> bool {
        let entry = self.entries.get(id);
        entry.inspect(|entry| entry.turn.end()).is_some()
    }

    /// Waits until a request is settled. Returns the message to send, if any. Never resolves while nothing is in
    /// flight; cancel safe.
    pub async fn settle(&mut self) -> Option<Vec<u8>> {
        let settled = self.turns.settle().await;
        self.settled(settled)
    }

    /// The message of a request that is settled already; `None` if there is no such request.
    pub fn settle_now(&mut self) -> Option<Option<Vec<u8>>> {
        let settled = self.turns.settle_now()?;
        Some(self.settled(settled))
    }

    fn settled(&mut self, Settled { id, number, outcome }: Settled<A, E>) -> Option<Vec<u8>> {
        // A new request may have the id of one that was given up.
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

    /// Ends every matching request with an error, because what it waits for goes away. Returns the messages to send.
    pub fn give_up(&mut self, which: impl Fn(K) -> bool, why: impl Fn() -> E) -> Vec<Vec<u8>> {
        let given_up: Vec<_> = self.entries.extract_if(|_, entry| which(entry.kind)).collect();
        let mut answers = Vec::new();
        for (id, entry) in given_up {
            // Its future ends as aborted, finds no entry, and sends nothing.
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

    /// Begins a batch; [`Self::end_batch`] must follow when all of its messages were read.
    pub fn begin_batch(&mut self) -> BatchId {
        self.batches.begin()
    }

    /// Adds the response to one message of a batch; `request` is its id, if it has one.
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

    /// Returns the responses, if all are there already.
    pub fn end_batch(&mut self, batch: BatchId) -> Option<Vec<u8>> {
        self.batches.close_part(batch)
    }
}

/// The response to a request.
pub fn encode<A: Serialize, E: Into<ErrorObject>>(id: &RequestId, outcome: Result<A, E>) -> Vec<u8> {
    let encoded = match outcome {
        Ok(answer) => jsonrpc::result(id, &answer),
        Err(error) => jsonrpc::error(Some(id), &error.into()),
    };
    encoded.unwrap_or_else(|error| {
        // Only a map with a non-string key could fail, and there is none.
        tracing::error!(%error, "a response does not serialise");
        let message = "the answer could not be written".into();
        let error = ErrorObject { code: ErrorCode::InternalError, message };
        jsonrpc::error(Some(id), &error).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests;
