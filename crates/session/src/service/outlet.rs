//! What may still be said to one sink.
//!
//! Invariants: nothing is said of a request that was cancelled, nor twice of one that was answered; after the close nothing
//! is said at all. Numbers of requests are never used again in this process, so an old one means nothing new.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;

use super::error::ServiceError;
use super::sink::{Growth, News, Sink};
use crate::live::LiveChange;

/// Requests that may be unanswered, and transcripts that may be open, together.
pub(super) const MAX_OPEN: usize = 4096;

static LAST: AtomicU64 = AtomicU64::new(0);

/// A sink, and the requests of which more may be said to it.
pub(super) struct Outlet {
    sink: Arc<dyn Sink>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    requests: HashSet<u64>,
    over: bool,
}

impl Outlet {
    pub(super) fn new(sink: Arc<dyn Sink>) -> Self {
        Self { sink, open: Mutex::default() }
    }

    /// The number of a new request.
    ///
    /// # Errors
    /// [`ServiceError::Over`] once it is closed, [`ServiceError::Busy`] when too many are unanswered.
    pub(super) fn begin(&self) -> Result<u64, ServiceError> {
        let mut open = self.lock();
        if open.over {
            return Err(ServiceError::Over);
        }
        if open.requests.len() >= MAX_OPEN {
            return Err(ServiceError::Busy);
        }
        let request = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        open.requests.insert(request);
        Ok(request)
    }

    /// Nothing is said of this request any more. Whether anything could still have been.
    pub(super) fn cancel(&self, request: u64) -> bool {
        let mut open = self.lock();
        self.sink.forget(request);
        open.requests.remove(&request)
    }

    /// Nothing is said any more.
    pub(super) fn close(&self) {
        let mut open = self.lock();
        open.over = true;
        open.requests.clear();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().over
    }

    /// The last word about a request.
    pub(super) fn reply(&self, request: u64, outcome: Result<Json, String>) {
        let mut open = self.lock();
        if open.requests.remove(&request) {
            self.sink.tell(News::Reply { request, outcome });
        }
    }

    /// The answer to a request to open a transcript, of which more will be said.
    pub(super) fn opened(&self, request: u64, info: Json) {
        self.say_of(request, || News::Reply { request, outcome: Ok(info) });
    }

    /// A hit of a search.
    pub(super) fn hit(&self, request: u64, hit: Json) {
        self.say_of(request, || News::Hit { request, hit });
    }

    /// An open transcript changed.
    pub(super) fn change(&self, transcript: u64, growth: Growth) {
        self.say_of(transcript, || News::Change { transcript, growth });
    }

    /// A followed file changed.
    pub(super) fn touched(&self, request: u64) {
        self.say_of(request, || News::Touched { request });
    }

    /// A running session changed.
    pub(super) fn live(&self, change: LiveChange) {
        let open = self.lock();
        if !open.over {
            self.sink.tell(News::Live(change));
        }
    }

    /// Says it under the lock, so that a cancel that returned is the end.
    fn say_of(&self, request: u64, news: impl FnOnce() -> News) {
        let open = self.lock();
        if open.requests.contains(&request) {
            self.sink.tell(news());
        }
    }

    /// Never left half-changed.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::index::Delta;
    use crate::service::sink::Change;

    /// Remembers what it is told, in words.
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Sink for Heard {
        fn tell(&self, news: News) {
            let words = match news {
                News::Reply { outcome: Ok(result), .. } => format!("reply {result}"),
                News::Reply { outcome: Err(error), .. } => format!("error {error}"),
                News::Hit { hit, .. } => format!("hit {hit}"),
                News::Change { .. } => "change".to_owned(),
                News::Touched { .. } => "touched".to_owned(),
                News::Live(_) => "live".to_owned(),
            };
            self.0.lock().unwrap().push(words);
        }

        fn forget(&self, _: u64) {
            self.0.lock().unwrap().push("forget".to_owned());
        }
    }

    fn outlet() -> (Outlet, Arc<Heard>) {
        let heard = Arc::<Heard>::default();
        (Outlet::new(Arc::<Heard>::clone(&heard)), heard)
    }

    fn growth() -> Growth {
        Growth { change: Change { delta: Delta::default(), shift: None }, info: json!({}) }
    }

    #[test]
    fn answers_a_request_once() {
        let (outlet, heard) = outlet();
        let id = outlet.begin().unwrap();
        outlet.reply(id, Ok(json!(1)));
        outlet.reply(id, Err("again".into()));
        outlet.hit(id, json!("late"));
        assert_eq!(*heard.0.lock().unwrap(), ["reply 1"]);
    }

    #[test]
    fn more_is_said_of_a_transcript_that_was_opened() {
        let (outlet, heard) = outlet();
        let id = outlet.begin().unwrap();
        outlet.opened(id, json!("info"));
        outlet.change(id, growth());
        assert_eq!(*heard.0.lock().unwrap(), ["reply \"info\"", "change"]);
    }

    #[test]
    fn says_nothing_of_what_was_cancelled() {
        let (outlet, heard) = outlet();
        let (gone, stays) = (outlet.begin().unwrap(), outlet.begin().unwrap());
        outlet.hit(gone, json!(1));
        assert!(outlet.cancel(gone));
        assert!(!outlet.cancel(gone));
        outlet.hit(gone, json!(2));
        outlet.change(gone, growth());
        outlet.reply(gone, Ok(json!(3)));
        outlet.reply(stays, Err("no".into()));
        assert_eq!(*heard.0.lock().unwrap(), ["hit 1", "forget", "forget", "error no"]);
    }

    #[test]
    fn says_nothing_once_it_is_closed() {
        let (outlet, heard) = outlet();
        let id = outlet.begin().unwrap();
        outlet.close();
        assert!(matches!(outlet.begin(), Err(ServiceError::Over)));
        outlet.reply(id, Ok(json!(1)));
        assert!(heard.0.lock().unwrap().is_empty());
    }

    #[test]
    fn requests_are_bounded() {
        let (outlet, _) = outlet();
        let ids: Vec<_> = std::iter::from_fn(|| outlet.begin().ok()).collect();
        assert_eq!(ids.len(), MAX_OPEN);
        assert!(matches!(outlet.begin(), Err(ServiceError::Busy)));
        outlet.cancel(ids[0]);
        assert!(outlet.begin().unwrap() > ids[MAX_OPEN - 1], "numbers are never used again");
    }
}
