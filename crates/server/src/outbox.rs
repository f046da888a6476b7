//! The queue of one client's outgoing messages.
//!
//! Responses and our requests are never dropped; the reader limits them by pausing while [`Outbox::is_full`].
//! Notifications are limited or latest-wins: a client that does not read cannot make the editor use more memory.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::sync::Notify;

/// Beyond this, the client is not read from until it has read some responses.
const FULL_AT_BYTES: usize = 8 << 20;
/// Limit of ordered notifications.
const MAX_NOTICES: usize = 1024;
/// Limit of unsent answers to pings.
const MAX_PONGS: usize = 64;
/// Size limit of ordered notifications.
const MAX_NOTICE_BYTES: usize = 4 << 20;
/// Limit of latest-wins notifications; beyond it the oldest is dropped.
const MAX_LATEST: usize = 1024;

/// One WebSocket frame to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outgoing {
    Text(Bytes),
    Ping(Bytes),
    Pong(Bytes),
    /// The last frame. Without a code it is empty, as RFC 6455 requires.
    Close(Option<(u16, &'static str)>),
}

/// Whether a notification was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Offer {
    Taken,
    Full,
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Wakes the writer.
    filled: Notify,
    /// Wakes the reader.
    drained: Notify,
}

#[derive(Debug, Default)]
struct State {
    ping: bool,
    /// Answers to pings, one each; only the last ones if the client does not read (RFC 6455, 5.5.3).
    pongs: VecDeque<Bytes>,
    messages: VecDeque<Bytes>,
    message_bytes: usize,
    notices: VecDeque<Bytes>,
    notice_bytes: usize,
    /// By subject, in sending order.
    latest: VecDeque<(Box<str>, Bytes)>,
    /// Whether notifications may be sent.
    ready: bool,
    /// Bytes that the writer has taken.
    writing_bytes: usize,
    close: Option<Option<(u16, &'static str)>>,
    closed: bool,
}

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave this state half-changed, so a poisoned lock is fine.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a response, or a request of ours.
    pub(crate) fn push(&self, message: Vec<u8>) {
        let mut state = self.state();
        if state.close.is_none() {
            state.message_bytes = state.message_bytes.saturating_add(message.len());
            state.messages.push_back(message.into());
        }
        drop(state);
        self.filled.notify_one();
    }

    /// Queues a notification in order.
    pub(crate) fn push_notice(&self, notice: Bytes) -> Offer {
        let mut state = self.state();
        let bytes = state.notice_bytes.saturating_add(notice.len());
        if state.notices.len() >= MAX_NOTICES || (bytes > MAX_NOTICE_BYTES && !state.notices.is_empty()) {
            return Offer::Full;
        }
        state.notice_bytes = bytes;
        state.notices.push_back(notice);
        drop(state);
        self.filled.notify_one();
        Offer::Taken
    }

    /// Queues a notification that replaces an unsent one with the same subject.
    pub(crate) fn push_latest(&self, about: &str, notice: Bytes) {
        let mut state = self.state();
        state.latest.retain(|(other, _)| **other != *about);
        if state.latest.len() >= MAX_LATEST {
            state.latest.pop_front();
        }
        state.latest.push_back((about.into(), notice));
        drop(state);
        self.filled.notify_one();
    }

    /// Allows notifications, including those that waited.
    pub(crate) fn set_ready(&self) {
        self.state().ready = true;
        self.filled.notify_one();
    }

    pub(crate) fn ping(&self) {
        self.state().ping = true;
        self.filled.notify_one();
    }

    pub(crate) fn pong(&self, payload: Bytes) {
        let mut state = self.state();
        if state.pongs.len() >= MAX_PONGS {
            state.pongs.pop_front();
        }
        state.pongs.push_back(payload);
        drop(state);
        self.filled.notify_one();
    }

    /// Queues the close frame as the last one. Later messages are refused; the first close counts.
    pub(crate) fn close(&self, goodbye: Option<(u16, &'static str)>) {
        self.state().close.get_or_insert(goodbye);
        self.filled.notify_one();
    }

    pub(crate) fn is_full(&self) -> bool {
        let state = self.state();
        state.message_bytes.saturating_add(state.writing_bytes) >= FULL_AT_BYTES
    }

    /// Resolves when something was sent; check [`Self::is_full`] again.
    pub(crate) async fn drained(&self) {
        self.drained.notified().await;
    }

    /// The number of queued bytes.
    pub(crate) fn queued_bytes(&self) -> usize {
        let state = self.state();
        let latest: usize = state.latest.iter().map(|(_, notice)| notice.len()).sum();
        [state.notice_bytes, state.writing_bytes, latest].into_iter().fold(state.message_bytes, usize::saturating_add)
    }

    /// Takes all queued responses, for a client without a single socket. Drops ordered notifications, which such a
    /// client does not get.
    pub(crate) fn take_answers(&self) -> Vec<Bytes> {
        let mut state = self.state();
        state.message_bytes = 0;
        state.notice_bytes = 0;
        state.notices.clear();
        state.messages.drain(..).collect()
    }

    /// For such a client: waits for notifications whose subject starts with `about`, and takes them. Cancel safe.
    pub(crate) async fn next_about(&self, about: &str) -> Vec<(Box<str>, Bytes)> {
        loop {
            let news = self.state().take_about(about);
            if !news.is_empty() {
                return news;
            }
            self.filled.notified().await;
        }
    }

    /// For the writer: waits for messages and moves all of them to `batch`; its previous batch counts as sent. Returns
    /// `false` at the end.
    pub(crate) async fn next_batch(&self, batch: &mut Vec<Outgoing>) -> bool {
        loop {
            {
                let mut state = self.state();
                if state.writing_bytes > 0 {
                    state.writing_bytes = 0;
                    self.drained.notify_one();
                }
                state.take(batch);
                if !batch.is_empty() {
                    return true;
                }
                if state.closed {
                    return false;
                }
            }
            self.filled.notified().await;
        }
    }
}

impl State {
    fn take_about(&mut self, about: &str) -> Vec<(Box<str>, Bytes)> {
        let mut news = Vec::new();
        self.latest.retain_mut(|entry| {
            let is_meant = entry.0.starts_with(about);
            if is_meant {
                news.push(std::mem::take(entry));
            }
            !is_meant
        });
        news
    }

    fn take(&mut self, batch: &mut Vec<Outgoing>) {
        if self.closed {
            return;
        }
        batch.extend(self.pongs.drain(..).map(Outgoing::Pong));
        if std::mem::take(&mut self.ping) {
            batch.push(Outgoing::Ping(Bytes::new()));
        }
        self.writing_bytes = std::mem::take(&mut self.message_bytes);
        batch.extend(self.messages.drain(..).map(Outgoing::Text));
        if self.ready {
            self.writing_bytes = self.writing_bytes.saturating_add(std::mem::take(&mut self.notice_bytes));
            batch.extend(self.notices.drain(..).map(Outgoing::Text));
            for (_, notice) in self.latest.drain(..) {
                self.writing_bytes = self.writing_bytes.saturating_add(notice.len());
                batch.push(Outgoing::Text(notice));
            }
        }
        if let Some(goodbye) = self.close {
            self.closed = true;
            batch.push(Outgoing::Close(goodbye));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(outbox: &Outbox) -> Vec<Outgoing> {
        let mut batch = Vec::new();
        outbox.state().take(&mut batch);
        batch
    }

    fn text(text: &'static str) -> Outgoing {
        Outgoing::Text(Bytes::from_static(text.as_bytes()))
    }

    fn notice(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn keeps_the_order_of_answers_and_of_notices() {
        let outbox = Outbox::default();
        outbox.set_ready();
        assert_eq!(outbox.push_notice(notice("n1")), Offer::Taken);
        outbox.push(b"a1".to_vec());
        outbox.push(b"a2".to_vec());
        assert_eq!(outbox.push_notice(notice("n2")), Offer::Taken);
        assert_eq!(taken(&outbox), [text("a1"), text("a2"), text("n1"), text("n2")]);
    }

    #[test]
    fn the_latest_replaces_the_unsent_one_about_the_same_thing() {
        let outbox = Outbox::default();
        outbox.set_ready();
        outbox.push_latest("selection", notice("old"));
        outbox.push_latest("file:///a", notice("diagnostics"));
        outbox.push_latest("selection", notice("new"));
        assert_eq!(taken(&outbox), [text("diagnostics"), text("new")]);
    }

    #[test]
    fn news_of_one_thing_is_taken_alone() {
        let outbox = Outbox::default();
        outbox.push_latest("progress 1", notice("old"));
        outbox.push_latest("list", notice("changed"));
        outbox.push_latest("progress 1", notice("new"));
        assert_eq!(outbox.state().take_about("progress"), [("progress 1".into(), notice("new"))]);
        assert!(outbox.state().take_about("progress").is_empty());
        outbox.set_ready();
        assert_eq!(taken(&outbox), [text("changed")]);
    }

    #[test]
    fn holds_notices_back_until_the_client_is_ready() {
        let outbox = Outbox::default();
        assert_eq!(outbox.push_notice(notice("mention")), Offer::Taken);
        outbox.push(b"answer".to_vec());
        assert_eq!(taken(&outbox), [text("answer")]);
        outbox.set_ready();
        assert_eq!(taken(&outbox), [text("mention")]);
    }

    #[test]
    fn refuses_notices_beyond_the_limit() {
        let outbox = Outbox::default();
        for _ in 0..MAX_NOTICES {
            assert_eq!(outbox.push_notice(notice("x")), Offer::Taken);
        }
        assert_eq!(outbox.push_notice(notice("x")), Offer::Full);
    }

    #[test]
    fn gives_up_the_oldest_of_too_many_latest() {
        let outbox = Outbox::default();
        outbox.set_ready();
        for number in 0..=MAX_LATEST {
            outbox.push_latest(&number.to_string(), notice("x"));
        }
        assert_eq!(taken(&outbox).len(), MAX_LATEST);
    }

    #[test]
    fn sends_nothing_after_the_goodbye() {
        let outbox = Outbox::default();
        outbox.push(b"last".to_vec());
        outbox.close(Some((1001, "bye")));
        outbox.push(b"late".to_vec());
        outbox.close(Some((1002, "another")));
        assert_eq!(taken(&outbox), [text("last"), Outgoing::Close(Some((1001, "bye")))]);
        assert_eq!(taken(&outbox), []);
    }

    #[test]
    fn is_full_until_the_writer_has_sent_what_it_took() {
        let outbox = Outbox::default();
        outbox.push(vec![b' '; FULL_AT_BYTES]);
        assert!(outbox.is_full());
        assert_eq!(taken(&outbox).len(), 1);
        assert!(outbox.is_full(), "taken is not sent");
        assert_eq!(taken(&outbox), []);
        assert!(!outbox.is_full());
    }
}
