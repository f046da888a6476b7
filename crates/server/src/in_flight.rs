//! The requests of one client that are being served, and the batches that their answers belong to.
//!
//! Invariant: whatever is begun ends exactly once: answered, or cancelled and then not answered.

use std::{
    collections::HashMap,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, Aborted},
    stream::FuturesUnordered,
};

use tokio::task::coop::unconstrained;

use claude_ide_protocol::jsonrpc::{self, RequestId};

use crate::router::{Later, Outcome, RequestError, WaitsFor};

/// How many requests of one client may be open. A person's session has a handful; a test of speed has thousands.
pub(crate) const MAX_REQUESTS: usize = 16_384;

/// Several messages that came in one JSON array and are answered in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BatchId(u64);

pub(crate) struct InFlight {
    running: FuturesUnordered<Running>,
    entries: HashMap<RequestId, Entry>,
    bytes: usize,
    max_bytes: usize,
    batches: HashMap<BatchId, Batch>,
    next_batch: u64,
}

struct Entry {
    abort: AbortHandle,
    waits_for: WaitsFor,
    batch: Option<BatchId>,
    bytes: usize,
}

#[derive(Default)]
struct Batch {
    answers: Vec<Vec<u8>>,
    /// Requests that are still being served, and one more while the batch is being read.
    open: usize,
}

/// One request being served.
struct Running {
    id: Option<RequestId>,
    work: Abortable<Later>,
}

impl Future for Running {
    type Output = (Option<RequestId>, Result<Outcome, Aborted>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(self.work.poll_unpin(context));
        Poll::Ready((self.id.take(), outcome))
    }
}

impl InFlight {
    /// `max_bytes`: how large the open requests may be together; a single one may be as large as a message can be.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            running: FuturesUnordered::new(),
            entries: HashMap::new(),
            bytes: 0,
            max_bytes,
            batches: HashMap::new(),
            next_batch: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether that id names no open request.
    pub(crate) fn is_free(&self, id: &RequestId) -> Result<(), RequestError> {
        if self.entries.contains_key(id) {
            return Err(RequestError::InvalidRequest(format!("the id {id} is in use by a request in flight")));
        }
        Ok(())
    }

    /// Whether another request of that size may wait for its answer.
    pub(crate) fn has_room(&self, bytes: usize) -> Result<(), RequestError> {
        if self.entries.len() >= MAX_REQUESTS {
            return Err(RequestError::Busy(format!("too many requests in flight: the limit is {MAX_REQUESTS}")));
        }
        if self.bytes > 0 && self.bytes.saturating_add(bytes) > self.max_bytes {
            let limit = self.max_bytes;
            return Err(RequestError::Busy(format!(
                "the requests in flight are too large: the limit is {limit} bytes"
            )));
        }
        Ok(())
    }

    pub(crate) fn begin(
        &mut self,
        id: RequestId,
        batch: Option<BatchId>,
        bytes: usize,
        work: Later,
        waits_for: WaitsFor,
    ) {
        let (abort, registration) = AbortHandle::new_pair();
        self.running.push(Running { id: Some(id.clone()), work: Abortable::new(work, registration) });
        self.entries.insert(id, Entry { abort, waits_for, batch, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.open = batch.open.saturating_add(1);
        }
    }

    /// Ends a request without an answer. Unknown ids are ignored, as MCP says: the answer may be on its way.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> bool {
        let entry = self.entries.get(id);
        entry.inspect(|entry| entry.abort.abort()).is_some()
    }

    /// Waits until a request is settled. Returns what is to be sent, if anything is. Never resolves while nothing is in
    /// flight; may be dropped and called again.
    pub(crate) async fn settle(&mut self) -> Option<Vec<u8>> {
        match self.running.next().await {
            Some((id, outcome)) => self.settled(id, outcome),
            None => std::future::pending().await,
        }
    }

    /// What can be sent of the requests that are settled already; None when there is none.
    pub(crate) fn settle_now(&mut self) -> Option<Option<Vec<u8>>> {
        // Without a budget: an answer that is there must not look as if it were not.
        let (id, outcome) = unconstrained(self.running.next()).now_or_never().flatten()?;
        Some(self.settled(id, outcome))
    }

    fn settled(&mut self, id: Option<RequestId>, outcome: Result<Outcome, Aborted>) -> Option<Vec<u8>> {
        let id = id?;
        let entry = self.entries.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        let answer = outcome.ok().map(|outcome| encode(&id, outcome));
        match entry.batch {
            None => answer,
            Some(batch) => {
                self.add_to_batch(batch, answer);
                self.close_part(batch)
            }
        }
    }

    /// Ends every request that only the editor can answer, because it will not any more. Returns what is to be sent.
    pub(crate) fn give_up(&mut self, which: Option<WaitsFor>) -> Vec<Vec<u8>> {
        let given_up: Vec<_> =
            self.entries.extract_if(|_, entry| which.is_none_or(|which| which == entry.waits_for)).collect();
        let mut answers = Vec::new();
        for (id, entry) in given_up {
            // Its future ends as aborted, finds no entry, and says nothing.
            entry.abort.abort();
            self.bytes = self.bytes.saturating_sub(entry.bytes);
            let answer = encode(&id, Err(RequestError::Failed("the editor is closing".to_owned())));
            match entry.batch {
                None => answers.push(answer),
                Some(batch) => {
                    self.add_to_batch(batch, Some(answer));
                    answers.extend(self.close_part(batch));
                }
            }
        }
        answers
    }

    /// A batch begins; [`Self::end_batch`] must follow when all of its messages were read.
    pub(crate) fn begin_batch(&mut self) -> BatchId {
        let id = BatchId(self.next_batch);
        self.next_batch = self.next_batch.wrapping_add(1);
        self.batches.insert(id, Batch { answers: Vec::new(), open: 1 });
        id
    }

    pub(crate) fn add_to_batch(&mut self, id: BatchId, answer: Option<Vec<u8>>) {
        if let Some(batch) = self.batches.get_mut(&id) {
            batch.answers.extend(answer);
        }
    }

    /// Returns the answers, if all are there already.
    pub(crate) fn end_batch(&mut self, id: BatchId) -> Option<Vec<u8>> {
        self.close_part(id)
    }

    fn close_part(&mut self, id: BatchId) -> Option<Vec<u8>> {
        let batch = self.batches.get_mut(&id)?;
        batch.open = batch.open.saturating_sub(1);
        if batch.open > 0 {
            return None;
        }
        let answers = self.batches.remove(&id)?.answers;
        if answers.is_empty() {
            // Notifications only, or all cancelled: JSON-RPC wants silence, not an empty array.
            return None;
        }
        let mut whole = vec![b'['];
        whole.extend(answers.join(&b','));
        whole.push(b']');
        Some(whole)
    }
}

/// The whole message that answers a request.
pub(crate) fn encode(id: &RequestId, outcome: Outcome) -> Vec<u8> {
    let encoded = match outcome {
        Ok(payload) => jsonrpc::result(id, &payload),
        Err(error) => jsonrpc::error(Some(id), &error.into_object()),
    };
    encoded.unwrap_or_else(|error| {
        // Only a payload with a key that is no string could fail, and there is none.
        tracing::error!(%error, "an answer could not be written");
        let error = RequestError::Failed("the answer could not be written".to_owned()).into_object();
        jsonrpc::error(Some(id), &error).unwrap_or_default()
    })
}
