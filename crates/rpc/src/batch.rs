//! Batches: several messages that came in one JSON array, and are answered in one.

use std::collections::HashMap;

/// The id of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchId(u64);

/// The unanswered batches.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: HashMap<BatchId, Batch>,
    next: u64,
}

#[derive(Debug, Default)]
struct Batch {
    answers: Vec<Vec<u8>>,
    bytes: usize,
    /// Requests still being served, plus one while the batch is being read.
    parts: usize,
}

impl Batches {
    /// Begins a batch as one part: [`Self::close_part`] must follow when all of its messages were read.
    pub(crate) fn begin(&mut self) -> BatchId {
        let id = BatchId(self.next);
        self.next = self.next.wrapping_add(1);
        self.open.insert(id, Batch { parts: 1, ..Batch::default() });
        id
    }

    /// Adds a request that will be answered later.
    pub(crate) fn open_part(&mut self, id: BatchId) {
        if let Some(batch) = self.open.get_mut(&id) {
            batch.parts = batch.parts.saturating_add(1);
        }
    }

    /// Bytes of its answers so far.
    pub(crate) fn bytes(&self, id: BatchId) -> usize {
        self.open.get(&id).map_or(0, |batch| batch.bytes)
    }

    pub(crate) fn add(&mut self, id: BatchId, answer: Vec<u8>) {
        if let Some(batch) = self.open.get_mut(&id) {
            batch.bytes = batch.bytes.saturating_add(answer.len());
            batch.answers.push(answer);
        }
    }

    /// Returns the whole answer after the last part. If every part was a notification or was cancelled, JSON-RPC
    /// requires silence, not an empty array.
    pub(crate) fn close_part(&mut self, id: BatchId) -> Option<Vec<u8>> {
        let batch = self.open.get_mut(&id)?;
        batch.parts = batch.parts.saturating_sub(1);
        if batch.parts > 0 {
            return None;
        }
        let answers = self.open.remove(&id)?.answers;
        if answers.is_empty() {
            return None;
        }
        let mut whole = vec![b'['];
        whole.extend(answers.join(&b','));
        whole.push(b']');
        Some(whole)
    }
}
