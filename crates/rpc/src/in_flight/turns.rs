//! A queue of work, of which a limited cost runs at a time.
//!
//! Invariant: each item comes out once, with its outcome, also if it is ended before it began.

use std::{
    collections::VecDeque,
    future::pending,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, AbortRegistration, Abortable, Aborted},
    stream::FuturesUnordered,
};
use tokio::task::coop::unconstrained;

use claude_ide_protocol::jsonrpc::RequestId;

/// A response in progress. Dropped to cancel.
pub type Work<A, E> = Pin<Box<dyn Future<Output = Result<A, E>> + Send>>;

/// Starts the work for a response, when its turn has come.
pub type Later<A, E> = Box<dyn FnOnce() -> Work<A, E> + Send>;

/// A handle to end one item.
pub(super) struct Turn {
    /// Unique, unlike request ids, which may be reused.
    pub(super) number: u64,
    abort: AbortHandle,
}

impl Turn {
    pub(super) fn end(&self) {
        self.abort.abort();
    }
}

/// The outcome of an item.
pub(super) struct Settled<A, E> {
    pub(super) id: RequestId,
    pub(super) number: u64,
    pub(super) outcome: Result<Result<A, E>, Aborted>,
}

struct Waiting<A, E> {
    id: RequestId,
    number: u64,
    work: Later<A, E>,
    registration: AbortRegistration,
    cost: usize,
}

struct Running<A, E> {
    id: RequestId,
    number: u64,
    cost: usize,
    work: Abortable<Work<A, E>>,
}

impl<A, E> Future for Running<A, E> {
    type Output = (usize, Settled<A, E>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(self.work.poll_unpin(context));
        Poll::Ready((self.cost, Settled { id: self.id.clone(), number: self.number, outcome }))
    }
}

pub(super) struct Turns<A, E> {
    /// Not yet started, oldest first.
    waiting: VecDeque<Waiting<A, E>>,
    running: FuturesUnordered<Running<A, E>>,
    /// Of the running items.
    cost: usize,
    limit: usize,
    last: u64,
}

impl<A: 'static, E: 'static> Turns<A, E> {
    pub(super) fn new(limit: usize) -> Self {
        Self { waiting: VecDeque::new(), running: FuturesUnordered::new(), cost: 0, limit, last: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn queue(&mut self, id: RequestId, work: Later<A, E>, cost: usize) -> Turn {
        let (abort, registration) = AbortHandle::new_pair();
        self.last = self.last.wrapping_add(1);
        let number = self.last;
        self.waiting.push_back(Waiting { id, number, work, registration, cost });
        Turn { number, abort }
    }

    /// Starts waiting items, oldest first, up to the cost limit.
    pub(super) fn start_waiting(&mut self) {
        while let Some(next) = self.waiting.front()
            && (self.cost == 0 || self.cost.saturating_add(next.cost) <= self.limit)
            && let Some(Waiting { id, number, work, registration, cost }) = self.waiting.pop_front()
        {
            // An ended item comes out as aborted, without having begun.
            let work = if registration.handle().is_aborted() { Box::pin(pending()) } else { work() };
            self.cost = self.cost.saturating_add(cost);
            self.running.push(Running { id, number, cost, work: Abortable::new(work, registration) });
        }
    }

    /// Never resolves while nothing runs; cancel safe.
    pub(super) async fn settle(&mut self) -> Settled<A, E> {
        match self.running.next().await {
            Some((cost, settled)) => self.leave_room(cost, settled),
            None => pending().await,
        }
    }

    /// An item that is settled already.
    pub(super) fn settle_now(&mut self) -> Option<Settled<A, E>> {
        // Outside tokio's budget: a settled item must not look unsettled.
        let (cost, settled) = unconstrained(self.running.next()).now_or_never().flatten()?;
        Some(self.leave_room(cost, settled))
    }

    fn leave_room(&mut self, cost: usize, settled: Settled<A, E>) -> Settled<A, E> {
        self.cost = self.cost.saturating_sub(cost);
        settled
    }
}
