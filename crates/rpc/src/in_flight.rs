//! The requests of the other end that are being served, and the batches that their answers belong to.
//!
//! Invariants: whatever is begun ends exactly once: answered, or cancelled and then not answered. Work starts in the order
//! in which the requests came, and only so much of it runs that its answers have room: a peer that asks for much and
//! reads nothing makes its own requests wait.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, AbortRegistration, Abortable, Aborted},
    stream::FuturesUnordered,
};
use serde::Serialize;
use tokio::task::coop::unconstrained;

use claude_ide_protocol::jsonrpc::{self, ErrorCode, ErrorObject, RequestId};

use crate::{
    batch::{BatchId, Batches},
    refusal::Refusal,
};

/// An answer on its way. Dropped to cancel.
pub type Work<A, E> = Pin<Box<dyn Future<Output = Result<A, E>> + Send>>;

/// Starts an answer that takes a while, when it is its turn.
pub type Later<A, E> = Box<dyn FnOnce() -> Work<A, E> + Send>;

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
    /// Begun, but not started yet, the oldest first.
    waiting: VecDeque<Waiting<A, E>>,
    running: FuturesUnordered<Running<A, E>>,
    /// Of what is running.
    cost: usize,
    entries: HashMap<RequestId, Entry<K>>,
    bytes: usize,
    batches: Batches,
    limits: Limits,
}

struct Entry<K> {
    abort: AbortHandle,
    kind: K,
    batch: Option<BatchId>,
    bytes: usize,
}

/// One request that waits for its turn.
struct Waiting<A, E> {
    id: RequestId,
    work: Later<A, E>,
    registration: AbortRegistration,
    cost: usize,
}

/// One request being served.
struct Running<A, E> {
    id: Option<RequestId>,
    cost: usize,
    work: Abortable<Work<A, E>>,
}

impl<A, E> Future for Running<A, E> {
    type Output = (Option<RequestId>, usize, Result<Result<A, E>, Aborted>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(self.work.poll_unpin(context));
        Poll::Ready((self.id.take(), self.cost, outcome))
    }
}

impl<K: Kind, A: Serialize + 'static, E: Into<ErrorObject> + 'static> InFlight<K, A, E> {
    /// Nothing is open yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: FuturesUnordered::new(),
            cost: 0,
            entries: HashMap::new(),
            bytes: 0,
            batches: Batches::default(),
            limits,
        }
    }

    /// How many requests are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nothing is being served, nothing waits for it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
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
        let (abort, registration) = AbortHandle::new_pair();
        self.waiting.push_back(Waiting { id: id.clone(), work, registration, cost: kind.cost() });
        self.entries.insert(id, Entry { abort, kind, batch, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(batch) = batch {
            self.batches.open_part(batch);
        }
    }

    /// Starts what has waited longest, as far as there is room.
    pub fn start_waiting(&mut self) {
        while let Some(next) = self.waiting.front()
            && (self.cost == 0 || self.cost.saturating_add(next.cost) <= self.limits.cost)
            && let Some(Waiting { id, work, registration, cost }) = self.waiting.pop_front()
        {
            let Some(entry) = self.entries.get(&id) else { continue };
            // What was cancelled ends as such, without having begun.
            let work = if entry.abort.is_aborted() { Box::pin(std::future::pending()) } else { work() };
            self.cost = self.cost.saturating_add(cost);
            self.running.push(Running { id: Some(id), cost, work: Abortable::new(work, registration) });
        }
    }

    /// Ends a request without an answer. Unknown ids are ignored, as MCP says: the answer may be on its way.
    pub fn cancel(&mut self, id: &RequestId) -> bool {
        let entry = self.entries.get(id);
        entry.inspect(|entry| entry.abort.abort()).is_some()
    }

    /// Waits until a request is settled. Returns what is to be sent, if anything is. Never resolves while nothing is in
    /// flight; may be dropped and called again.
    pub async fn settle(&mut self) -> Option<Vec<u8>> {
        match self.running.next().await {
            Some((id, cost, outcome)) => self.settled(id, cost, outcome),
            None => std::future::pending().await,
        }
    }

    /// What can be sent of the requests that are settled already; None when there is none.
    pub fn settle_now(&mut self) -> Option<Option<Vec<u8>>> {
        // Without a budget: an answer that is there must not look as if it were not.
        let (id, cost, outcome) = unconstrained(self.running.next()).now_or_never().flatten()?;
        Some(self.settled(id, cost, outcome))
    }

    fn settled(
        &mut self,
        id: Option<RequestId>,
        cost: usize,
        outcome: Result<Result<A, E>, Aborted>,
    ) -> Option<Vec<u8>> {
        self.cost = self.cost.saturating_sub(cost);
        let id = id?;
        let entry = self.entries.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        let answer = outcome.ok().map(|outcome| encode(&id, outcome));
        match entry.batch {
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
            entry.abort.abort();
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
mod tests {
    use std::future::{pending, ready};

    use serde_json::{Value, json, value::RawValue};

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum WaitsFor {
        Person,
        Disk,
    }

    impl Kind for WaitsFor {
        fn cost(self) -> usize {
            match self {
                Self::Person => 0,
                Self::Disk => 2,
            }
        }
    }

    type Served = InFlight<WaitsFor, Value, Refusal>;

    fn served() -> Served {
        InFlight::new(Limits { requests: 4, bytes: 100, cost: 4, batch_bytes: 60 })
    }

    fn id(number: u32) -> RequestId {
        RequestId::from_raw(&RawValue::from_string(number.to_string()).unwrap()).unwrap()
    }

    fn answered(served: &mut Served, number: u32, batch: Option<BatchId>) {
        served.begin(id(number), batch, 10, Box::new(|| Box::pin(ready(Ok(json!("x"))))), WaitsFor::Disk);
    }

    fn open(served: &mut Served, number: u32, kind: WaitsFor) {
        served.begin(id(number), None, 10, Box::new(|| Box::pin(pending())), kind);
    }

    fn settled(served: &mut Served) -> Vec<String> {
        served.start_waiting();
        let answers = std::iter::from_fn(|| served.settle_now()).flatten();
        answers.map(|answer| String::from_utf8(answer).unwrap()).collect()
    }

    #[test]
    fn what_is_begun_is_answered_once_and_its_id_is_free_again() {
        let mut served = served();
        answered(&mut served, 1, None);
        assert_eq!(served.is_free(&id(1)), Err(Refusal::IdInUse(id(1))));
        assert_eq!(settled(&mut served), [r#"{"jsonrpc":"2.0","id":1,"result":"x"}"#]);
        assert_eq!(settled(&mut served), [""; 0]);
        assert!(served.is_free(&id(1)).is_ok() && served.is_empty());
    }

    #[test]
    fn what_is_cancelled_is_never_answered_nor_even_begun() {
        let mut served = served();
        served.begin(id(1), None, 10, Box::new(|| panic!("it was cancelled")), WaitsFor::Disk);
        assert!(served.cancel(&id(1)));
        assert!(!served.cancel(&id(2)));
        assert_eq!(settled(&mut served), [""; 0]);
        assert_eq!(served.len(), 0);
    }

    #[test]
    fn only_as_much_runs_as_its_answers_have_room_for_and_a_person_holds_up_nothing() {
        let mut served = served();
        open(&mut served, 1, WaitsFor::Disk);
        open(&mut served, 2, WaitsFor::Person);
        open(&mut served, 3, WaitsFor::Disk);
        answered(&mut served, 4, None);
        assert_eq!(settled(&mut served), [""; 0], "the fourth waits");
        served.cancel(&id(1));
        assert_eq!(settled(&mut served), [""; 0]);
        assert_eq!(settled(&mut served), [r#"{"jsonrpc":"2.0","id":4,"result":"x"}"#]);
    }

    #[test]
    fn both_number_and_size_are_bounded() {
        let mut served = served();
        assert!(served.has_room(1000).is_ok(), "one may be as large as a message can be");
        open(&mut served, 1, WaitsFor::Person);
        assert_eq!(served.has_room(91), Err(Refusal::TooLarge { limit: 100 }));
        for number in 2..=4 {
            assert!(served.has_room(10).is_ok());
            open(&mut served, number, WaitsFor::Person);
        }
        assert_eq!(served.has_room(0), Err(Refusal::TooMany { limit: 4 }));
    }

    #[test]
    fn what_is_given_up_is_told_so_and_nothing_else() {
        let mut served = served();
        open(&mut served, 1, WaitsFor::Person);
        answered(&mut served, 2, None);
        let told = served.give_up(|kind| kind == WaitsFor::Person, || Refusal::TooMany { limit: 0 });
        assert_eq!(told.len(), 1);
        assert_eq!(settled(&mut served), [r#"{"jsonrpc":"2.0","id":2,"result":"x"}"#]);
        assert_eq!(settled(&mut served), [""; 0]);
    }

    #[test]
    fn a_batch_is_answered_whole_when_its_last_part_is_there_and_is_bounded() {
        let mut served = served();
        let batch = served.begin_batch();
        answered(&mut served, 1, Some(batch));
        answered(&mut served, 2, Some(batch));
        served.add_to_batch(batch, None, Some(b"0".to_vec()));
        assert_eq!(served.end_batch(batch), None);
        let whole = settled(&mut served);
        let answers: Vec<Value> = serde_json::from_str(&whole[0]).unwrap();
        assert_eq!((whole.len(), answers.len()), (1, 3));
        let batch = served.begin_batch();
        for number in 1..=3 {
            answered(&mut served, number, Some(batch));
        }
        served.end_batch(batch);
        settled(&mut served);
        let whole = settled(&mut served);
        let answers: Vec<Value> = serde_json::from_str(&whole[0]).unwrap();
        let refused = answers.iter().filter(|answer| answer["error"]["code"] == -32000).count();
        assert_eq!((answers.len(), refused), (3, 1), "{answers:?}");
    }

    #[test]
    fn a_batch_of_nothing_is_answered_with_nothing() {
        let mut served = served();
        let batch = served.begin_batch();
        assert_eq!(served.end_batch(batch), None);
    }
}
