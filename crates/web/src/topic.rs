//! The topic of one session: its readers get its news (queued messages, requests to the user) and Claude's streamed
//! reply.
//!
//! Invariants: news reach every reader in the same order, or are sent again; a streamed message is sent from its start,
//! or not at all, so that no text has a gap.

use std::sync::Arc;

use tokio::sync::{Notify, broadcast};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::outbox::Outbox;

/// Limit of waiting news per reader; a slower one gets all current news again.
const MAX_NEWS: usize = 128;
/// Limits of waiting pieces of a reply: their number, and bytes of one. 4 MiB, shared by all readers.
const MAX_SPEECH: usize = 512;
const MAX_PIECE: usize = 8 * 1024;
/// Size limit of the current message, stored for readers that join.
const MAX_SAID: usize = 512 * 1024;

/// A frame to send.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    /// Only for this socket.
    pub(crate) to: Option<u64>,
    pub(crate) text: Utf8Bytes,
}

/// A piece of a streamed reply.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// A message begins.
    Start(Utf8Bytes),
    More(Utf8Bytes),
    /// Something is missing here: the rest of this message is useless.
    Gap,
}

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) outbox: Outbox,
    pub(crate) news: broadcast::Sender<Note>,
    speech: broadcast::Sender<Piece>,
    said: Said,
    /// Signals a change of its messages.
    pub(crate) changed: Arc<Notify>,
    pub(crate) has_worker: bool,
}

/// The streamed message from its start.
#[derive(Debug, Default)]
struct Said {
    pieces: Vec<Utf8Bytes>,
    bytes: usize,
    is_whole: bool,
}

/// A reader's subscription.
pub(crate) struct Subscription {
    pub(crate) news: broadcast::Receiver<Note>,
    pub(crate) speech: broadcast::Receiver<Piece>,
    /// The current message so far.
    pub(crate) said: Vec<Utf8Bytes>,
}

impl Default for Topic {
    fn default() -> Self {
        Self {
            outbox: Outbox::default(),
            news: broadcast::Sender::new(MAX_NEWS),
            speech: broadcast::Sender::new(MAX_SPEECH),
            said: Said::default(),
            changed: Arc::default(),
            has_worker: false,
        }
    }
}

impl Topic {
    pub(crate) fn listen(&self) -> Subscription {
        let said = if self.said.is_whole { self.said.pieces.clone() } else { Vec::new() };
        Subscription { news: self.news.subscribe(), speech: self.speech.subscribe(), said }
    }

    /// Whether it has no readers and no messages under way. A streamed message and remembered ids may still be stored.
    pub(crate) fn is_idle(&self) -> bool {
        self.outbox.len() == 0
            && !self.has_worker
            && self.news.receiver_count() == 0
            && self.speech.receiver_count() == 0
    }

    /// Whether it is idle and stores nothing: a new one would be the same.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.is_idle() && self.said.pieces.is_empty() && self.outbox.is_forgotten()
    }

    pub(crate) fn tell(&self, text: String) {
        self.tell_to(None, text);
    }

    pub(crate) fn tell_to(&self, to: Option<u64>, text: String) {
        // There may be no readers.
        self.news.send(Note { to, text: text.into() }).ok();
    }

    /// Publishes an event of the Messages API, verbatim.
    pub(crate) fn say(&mut self, kind: &str, event: &str) {
        let text = Utf8Bytes::from(format!(r#"{{"type":"stream_event","event":{event}}}"#));
        let is_start = kind == "message_start";
        if is_start {
            self.said = Said { is_whole: true, ..Said::default() };
        }
        let fits = text.len() <= MAX_PIECE;
        self.said.bytes += text.len();
        self.said.is_whole &= fits && self.said.bytes <= MAX_SAID;
        if self.said.is_whole {
            self.said.pieces.push(text.clone());
        }
        if kind == "message_stop" || !self.said.is_whole {
            self.said.pieces = Vec::new();
            self.said.is_whole = false;
        }
        let piece = match (fits, is_start) {
            (true, true) => Piece::Start(text),
            (true, false) => Piece::More(text),
            (false, _) => Piece::Gap,
        };
        self.speech.send(piece).ok();
    }

    /// Voids the streamed message.
    pub(crate) fn break_off(&mut self) {
        self.said = Said::default();
        self.speech.send(Piece::Gap).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(said: &[Utf8Bytes]) -> Vec<&str> {
        said.iter().map(Utf8Bytes::as_str).collect()
    }

    #[test]
    fn a_late_reader_gets_the_current_message_from_its_start() {
        let mut topic = Topic::default();
        topic.say("content_block_delta", "1");
        assert!(topic.listen().said.is_empty(), "its start was not heard");
        topic.say("message_start", "2");
        topic.say("content_block_delta", "3");
        let expected = [r#"{"type":"stream_event","event":2}"#, r#"{"type":"stream_event","event":3}"#];
        assert_eq!(texts(&topic.listen().said), expected);
        topic.say("message_stop", "4");
        assert!(topic.listen().said.is_empty() && topic.is_forgotten());
    }

    #[test]
    fn the_kept_part_of_a_message_is_bounded() {
        let mut topic = Topic::default();
        topic.say("message_start", "0");
        let long = "1".repeat(MAX_PIECE / 2);
        for _ in 0..1000 {
            topic.say("content_block_delta", &long);
            assert!(topic.said.pieces.iter().map(|piece| piece.len()).sum::<usize>() <= MAX_SAID);
        }
        assert!(topic.listen().said.is_empty());
        topic.say("message_start", "0");
        let mut subscription = topic.listen();
        topic.say("content_block_delta", &"1".repeat(MAX_PIECE));
        assert!(matches!(subscription.speech.try_recv(), Ok(Piece::Gap)), "too much at once");
        assert!(topic.listen().said.is_empty());
    }
}
