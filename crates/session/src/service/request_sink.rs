//! Filters what reaches one sink.
//!
//! Invariants: the sink receives nothing for a cancelled request, and one answer for any other; after the close it
//! receives nothing at all. Request numbers are never reused within a process.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;

use super::error::ServiceError;
use super::sink::{Growth, News, Sink};
use crate::live::LiveChange;

/// Limit of unanswered requests and open transcripts, together.
pub(super) const MAX_OPEN: usize = 4096;

static LAST: AtomicU64 = AtomicU64::new(0);

/// A sink and its open requests.
pub(super) struct RequestSink {
    sink: Arc<dyn Sink>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    requests: HashSet<u64>,
    over: bool,
}

impl RequestSink {
    pub(super) fn new(sink: Arc<dyn Sink>) -> Self {
        Self { sink, open: Mutex::default() }
    }

    /// Opens a new request and returns its number.
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

    /// Silences a request; returns whether it was still open.
    pub(super) fn cancel(&self, request: u64) -> bool {
        let mut open = self.lock();
        self.sink.forget(request);
        open.requests.remove(&request)
    }

    /// Silences all requests.
    pub(super) fn close(&self) {
        let mut open = self.lock();
        open.over = true;
        open.requests.clear();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().over
    }

    /// Answers a request, which closes it.
    pub(super) fn reply(&self, request: u64, outcome: Result<Json, String>) {
        let mut open = self.lock();
        if open.requests.remove(&request) {
            self.sink.tell(News::Reply { request, outcome });
        }
    }

    /// Answers a request to open a transcript, which stays open.
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

    /// A running session changed.
    pub(super) fn live(&self, change: LiveChange) {
        let open = self.lock();
        if !open.over {
            self.sink.tell(News::Live(change));
        }
    }

    /// Sends under the lock: after a cancel has returned, nothing is sent.
    fn say_of(&self, request: u64, news: impl FnOnce() -> News) {
        let open = self.lock();
        if open.requests.contains(&request) {
            self.sink.tell(news());
        }
    }

    /// A panic cannot leave this state half-changed, so a poisoned lock is fine.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that still has to be answered. If it is dropped unanswered, because the transcript was closed or a job
/// panicked, it sends an error. A cancelled request stays silent.
pub(super) struct Pending {
    id: u64,
    sink: Option<Arc<RequestSink>>,
}

impl Pending {
    pub(super) fn new(id: u64, sink: Arc<RequestSink>) -> Self {
        Self { id, sink: Some(sink) }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn answer(mut self, outcome: Result<Json, String>) {
        self.send(outcome);
    }

    /// Answers a request to open a transcript, which stays open.
    pub(super) fn opened(mut self, info: Json) {
        if let Some(sink) = self.sink.take() {
            sink.opened(self.id, info);
        }
    }

    fn send(&mut self, outcome: Result<Json, String>) {
        if let Some(sink) = self.sink.take() {
            sink.reply(self.id, outcome);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.send(Err(ServiceError::Lost.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::index::Delta;
    use crate::service::sink::Change;

    /// Records what it receives, as text.
    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl Sink for Recorder {
        fn tell(&self, news: News) {
            let words = match news {
                News::Reply { outcome: Ok(result), .. } => format!("reply {result}"),
                News::Reply { outcome: Err(error), .. } => format!("error {error}"),
                News::Hit { hit, .. } => format!("hit {hit}"),
                News::Change { .. } => "change".to_owned(),
                News::Live(_) => "live".to_owned(),
            };
            self.0.lock().unwrap().push(words);
        }

        fn forget(&self, _: u64) {
            self.0.lock().unwrap().push("forget".to_owned());
        }
    }

    fn sink() -> (RequestSink, Arc<Recorder>) {
        let recorder = Arc::<Recorder>::default();
        (RequestSink::new(Arc::<Recorder>::clone(&recorder)), recorder)
    }

    fn growth() -> Growth {
        Growth { change: Change { delta: Delta::default(), shift: None }, info: json!({}) }
    }

    #[test]
    fn answers_a_request_once() {
        let (sink, recorder) = sink();
        let id = sink.begin().unwrap();
        sink.reply(id, Ok(json!(1)));
        sink.reply(id, Err("again".into()));
        sink.hit(id, json!("late"));
        assert_eq!(*recorder.0.lock().unwrap(), ["reply 1"]);
    }

    #[test]
    fn an_opened_transcript_gets_further_events() {
        let (sink, recorder) = sink();
        let id = sink.begin().unwrap();
        sink.opened(id, json!("info"));
        sink.change(id, growth());
        assert_eq!(*recorder.0.lock().unwrap(), ["reply \"info\"", "change"]);
    }

    #[test]
    fn a_cancelled_request_gets_no_events() {
        let (sink, recorder) = sink();
        let (gone, stays) = (sink.begin().unwrap(), sink.begin().unwrap());
        sink.hit(gone, json!(1));
        assert!(sink.cancel(gone));
        assert!(!sink.cancel(gone));
        sink.hit(gone, json!(2));
        sink.change(gone, growth());
        sink.reply(gone, Ok(json!(3)));
        sink.reply(stays, Err("no".into()));
        assert_eq!(*recorder.0.lock().unwrap(), ["hit 1", "forget", "forget", "error no"]);
    }

    #[test]
    fn a_closed_client_gets_no_events() {
        let (sink, recorder) = sink();
        let id = sink.begin().unwrap();
        sink.close();
        assert!(matches!(sink.begin(), Err(ServiceError::Over)));
        sink.reply(id, Ok(json!(1)));
        assert!(recorder.0.lock().unwrap().is_empty());
    }

    #[test]
    fn requests_are_bounded() {
        let (sink, _) = sink();
        let ids: Vec<_> = std::iter::from_fn(|| sink.begin().ok()).collect();
        assert_eq!(ids.len(), MAX_OPEN);
        assert!(matches!(sink.begin(), Err(ServiceError::Busy)));
        sink.cancel(ids[0]);
        assert!(sink.begin().unwrap() > ids[MAX_OPEN - 1], "numbers are never used again");
    }
}
