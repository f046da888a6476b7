//! The events sent for one POST, or to a listening client, each with an id from which the stream can be resumed. MCP,
//! "Resumability and Redelivery"; WHATWG HTML, "Server-sent events".
//!
//! Invariants: a stream has one reader, the newest; its content is limited; the answer is its last event.

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use claude_ide_http::Body;
use futures_util::stream::unfold;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::{Response, body::Frame, header};
use tokio::{sync::watch, time::timeout};

/// Limit of waiting events; progress and list changes are dropped, oldest first.
const MAX_EVENTS: usize = 64;
/// The number of the stream for listening clients.
pub(super) const UNASKED: u64 = 0;

/// The events sent for one POST, or to a listening client.
#[derive(Debug)]
pub(super) struct Stream {
    session: u64,
    number: u64,
    /// Interval of comments on a silent stream: proxies and clients close one that is silent for minutes.
    beat: Duration,
    log: Mutex<Log>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Log {
    events: VecDeque<(u64, Bytes)>,
    /// The number of the last event.
    last: u64,
    /// The number of the last event that a reader took.
    taken: u64,
    answer: Option<Bytes>,
    ended: bool,
    reader: u64,
}

/// `Last-Event-ID`: an event of a stream of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) session: u64,
    pub(super) stream: u64,
    pub(super) event: u64,
}

impl EventId {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers = std::str::from_utf8(text).ok()?.split('.').map(|number| number.parse().ok());
        let (session, stream, event) = (numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(Self { session, stream, event })
    }

    /// Whether it belongs to the stream for listening clients.
    pub(super) const fn is_unasked(self) -> bool {
        self.stream == UNASKED
    }

    /// The event's text. Our JSON has no line breaks, so it is one line of data.
    fn text(self, data: &[u8]) -> Bytes {
        let Self { session, stream, event } = self;
        let kind = if data.is_empty() { "" } else { "event: message\n" };
        [format!("{kind}id: {session}.{stream}.{event}\ndata: ").as_bytes(), data, b"\n\n"].concat().into()
    }
}

impl Stream {
    pub(super) fn new(session: u64, number: u64, beat: Duration) -> Self {
        Self { session, number, beat, log: Mutex::default(), changed: watch::Sender::new(()) }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // A panic cannot leave this state half-changed, so a poisoned lock is fine.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn push(&self, message: Bytes) {
        let mut log = self.log();
        log.last = log.last.saturating_add(1);
        let number = log.last;
        if log.events.len() >= MAX_EVENTS {
            log.events.pop_front();
        }
        log.events.push_back((number, message));
        drop(log);
        self.changed.send_replace(());
    }

    pub(super) fn answer(&self, answer: Bytes) {
        self.log().answer = Some(answer.clone());
        self.push(answer);
    }

    /// Ends the stream.
    pub(super) fn end(&self) {
        self.log().ended = true;
        self.changed.send_replace(());
    }

    pub(super) fn has_ended(&self) -> bool {
        self.log().ended
    }

    /// The answer, if it is the only event; `Some(None)` if the stream ended without any.
    pub(super) fn whole(&self) -> Option<Option<Bytes>> {
        let log = self.log();
        let others = log.events.len().saturating_sub(usize::from(log.answer.is_some()));
        (log.ended && others == 0).then(|| log.answer.clone())
    }

    pub(super) fn bytes(&self) -> usize {
        self.log().events.iter().map(|(_, message)| message.len()).sum()
    }

    /// The last event that a reader took.
    pub(super) fn taken(&self) -> u64 {
        self.log().taken
    }

    /// Resolves when the stream has ended or has an event.
    pub(super) async fn settled(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            let is_settled = {
                let log = self.log();
                log.ended || !log.events.is_empty()
            };
            if is_settled || changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// The next event after `after`; `None` if none follows, or a newer reader came.
    async fn next(&self, after: u64, reader: u64) -> Option<(u64, Bytes)> {
        let mut changed = self.changed.subscribe();
        loop {
            {
                let mut log = self.log();
                if log.reader != reader {
                    return None;
                }
                if let Some((number, message)) = log.events.iter().find(|(number, _)| *number > after).cloned() {
                    log.taken = log.taken.max(number);
                    return Some((number, message));
                }
                if log.ended {
                    return None;
                }
            }
            changed.changed().await.ok()?;
        }
    }

    /// A response that streams the events after `after`, including future ones. `prime` begins it with an empty event
    /// that has an id, so that the client can resume from the first moment on; older clients cannot handle it.
    pub(super) fn events(self: &Arc<Self>, presence: impl Send + 'static, after: u64, prime: bool) -> Response<Body> {
        struct Reading<P> {
            stream: Arc<Stream>,
            reader: u64,
            after: u64,
            prime: bool,
            _presence: P,
        }
        let reader = {
            let mut log = self.log();
            log.reader = log.reader.saturating_add(1);
            log.reader
        };
        self.changed.send_replace(());
        let reading = Reading { stream: Arc::clone(self), reader, after, prime, _presence: presence };
        let events = unfold(reading, |mut reading| async move {
            let id = |event| EventId { session: reading.stream.session, stream: reading.stream.number, event };
            let bytes = if std::mem::take(&mut reading.prime) {
                id(reading.after).text(b"")
            } else {
                match timeout(reading.stream.beat, reading.stream.next(reading.after, reading.reader)).await {
                    Err(_) => Bytes::from_static(b": nothing new\n\n"),
                    Ok(None) => return None,
                    Ok(Some((number, message))) => {
                        reading.after = number;
                        id(number).text(&message)
                    }
                }
            };
            Some((Ok::<_, Infallible>(Frame::data(bytes)), reading))
        });
        let response = Response::builder()
            .header(header::CONTENT_TYPE, "text/event-stream")
            .header(header::CACHE_CONTROL, "no-store");
        response.body(StreamBody::new(events).boxed_unsync()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_the_session_the_stream_and_the_event() {
        let id = EventId { session: 7, stream: 2, event: 3 };
        assert_eq!(id.text(b"{}"), "event: message\nid: 7.2.3\ndata: {}\n\n");
        assert_eq!(EventId::parse(b"7.2.3"), Some(id));
        for odd in ["", "7.2", "7.2.3.4", "7.2.x", "-1.2.3"] {
            assert_eq!(EventId::parse(odd.as_bytes()), None, "{odd}");
        }
    }

    #[tokio::test]
    async fn unread_events_go_to_the_next_reader_and_end_the_previous_one() {
        let stream = Stream::new(1, 1, Duration::MAX);
        stream.log().reader = 1;
        stream.push("one".into());
        stream.answer("two".into());
        stream.end();
        assert_eq!(stream.next(0, 1).await, Some((1, "one".into())));
        stream.log().reader = 2;
        assert_eq!(stream.next(1, 1).await, None);
        assert_eq!(stream.next(1, 2).await, Some((2, "two".into())));
        assert_eq!(stream.next(2, 2).await, None);
    }

    #[test]
    fn pending_events_are_bounded() {
        let stream = Stream::new(1, UNASKED, Duration::MAX);
        for _ in 0..=MAX_EVENTS {
            stream.push("x".into());
        }
        assert_eq!(stream.log().events.len(), MAX_EVENTS);
    }
}
