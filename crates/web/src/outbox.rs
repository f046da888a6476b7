//! The queue of one session's messages to Claude: each is queued, passed to the editor, sent, and finally found in the
//! transcript or given up. Only state; the broker waits and publishes.
//!
//! Invariants: one message at a time is with the editor or Claude; each ends once; a client's id names one message
//! only, while it is remembered.

use std::collections::VecDeque;

use crate::frames::Outward;

/// Limit of ended messages that are remembered by id.
const REMEMBERED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Behind others, or not yet passed on.
    Waiting,
    /// Passed to the editor.
    Offered,
    /// The editor is giving it to Claude, who may have it already.
    Given,
    /// Sent to Claude.
    Sent,
}

/// How a message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// Found in the transcript as the line with this uuid.
    Ack(String),
    /// Not sent, or unknown.
    Dropped(String),
}

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) key: u64,
    pub(crate) id: String,
    pub(crate) content: String,
    pub(crate) is_command: bool,
    /// Whether a process ran the session when it was written.
    pub(crate) ran: bool,
    pub(crate) stage: Stage,
}

/// The result of recalling a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TakeBack {
    /// It was not passed on, and is removed.
    Done(u64),
    /// The editor may still have it.
    AskEditor(u64),
    /// Claude has it.
    TooLate,
    /// No message has this id.
    Unknown,
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    messages: VecDeque<Message>,
    ended: VecDeque<(String, End)>,
    last_ended: Option<u64>,
}

impl End {
    pub(crate) fn text(&self, id: &str) -> String {
        match self {
            Self::Ack(uuid) => Outward::Ack { id, uuid }.text(),
            Self::Dropped(reason) => Outward::Unqueued { id, reason }.text(),
        }
    }
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether it holds no messages, remembered ones included.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.messages.is_empty() && self.ended.is_empty()
    }

    /// The key of the last message that ended; keys increase.
    pub(crate) fn last_ended(&self) -> Option<u64> {
        self.last_ended
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.messages.push_back(message);
    }

    /// The last news of a message, by the client's id.
    pub(crate) fn news_of(&self, id: &str) -> Option<String> {
        let waiting = self.messages.iter().enumerate().find(|(_, message)| message.id == id);
        if let Some((at, message)) = waiting {
            return Some(self.news(at, message));
        }
        let (_, end) = self.ended.iter().rev().find(|(known, _)| known == id)?;
        Some(end.text(id))
    }

    fn news(&self, at: usize, Message { id, content, stage, .. }: &Message) -> String {
        match stage {
            Stage::Sent => Outward::Sent { id }.text(),
            // A sent message no longer waits.
            Stage::Waiting | Stage::Offered | Stage::Given => {
                let sent = self.messages.iter().filter(|message| message.stage == Stage::Sent).count();
                Outward::Queued { id, position: at + 1 - sent, content }.text()
            }
        }
    }

    /// The last news of every open message.
    pub(crate) fn all_news(&self) -> Vec<String> {
        self.messages.iter().enumerate().map(|(at, message)| self.news(at, message)).collect()
    }

    /// Likewise, and of remembered ones: for a reader that missed some.
    pub(crate) fn all_news_since_long(&self) -> Vec<String> {
        let ended = self.ended.iter().map(|(id, end)| end.text(id));
        ended.chain(self.all_news()).collect()
    }

    /// The message whose turn it is.
    pub(crate) fn first(&self) -> Option<&Message> {
        self.messages.front()
    }

    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.key == key)
    }

    pub(crate) fn stage(&self, key: u64) -> Option<Stage> {
        self.messages.iter().find(|message| message.key == key).map(|message| message.stage)
    }

    /// Recalls a message.
    pub(crate) fn take_back(&self, id: &str) -> TakeBack {
        match self.messages.iter().find(|message| message.id == id) {
            Some(Message { stage: Stage::Waiting, key, .. }) => TakeBack::Done(*key),
            Some(Message { stage: Stage::Offered | Stage::Given, key, .. }) => TakeBack::AskEditor(*key),
            Some(Message { stage: Stage::Sent, .. }) => TakeBack::TooLate,
            None if self.ended.iter().any(|(known, _)| known == id) => TakeBack::TooLate,
            None => TakeBack::Unknown,
        }
    }

    /// Ends a message; returns the news, unless it had ended.
    pub(crate) fn end(&mut self, key: u64, end: End) -> Option<String> {
        let at = self.messages.iter().position(|message| message.key == key)?;
        let message = self.messages.remove(at)?;
        let text = end.text(&message.id);
        if self.ended.len() >= REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((message.id, end));
        self.last_ended = self.last_ended.max(Some(key));
        Some(text)
    }

    /// The keys of all unsent messages.
    pub(crate) fn not_sent(&self) -> Vec<u64> {
        self.messages.iter().filter(|message| message.stage != Stage::Sent).map(|message| message.key).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn outbox(count: u64) -> Outbox {
        let mut outbox = Outbox::default();
        for key in 1..=count {
            let (id, content) = (format!("m{key}"), format!("text {key}"));
            outbox.push(Message { key, id, content, is_command: false, ran: true, stage: Stage::Waiting });
        }
        outbox
    }

    fn parsed(news: &[String]) -> Vec<Json> {
        news.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    #[test]
    fn positions_count_those_that_still_wait() {
        let mut outbox = outbox(3);
        outbox.get_mut(1).unwrap().stage = Stage::Sent;
        let expected = [
            json!({ "type": "sent", "id": "m1" }),
            json!({ "type": "queued", "id": "m2", "position": 1, "content": "text 2" }),
            json!({ "type": "queued", "id": "m3", "position": 2, "content": "text 3" }),
        ];
        assert_eq!(parsed(&outbox.all_news()), expected);
    }

    #[test]
    fn ends_once_and_is_still_known() {
        let mut outbox = outbox(2);
        let ack = outbox.end(1, End::Ack("u".to_owned())).unwrap();
        assert_eq!(outbox.end(1, End::Dropped("late".to_owned())), None);
        assert_eq!(outbox.news_of("m1"), Some(ack));
        assert_eq!(outbox.take_back("m1"), TakeBack::TooLate);
        for key in (10..).take(REMEMBERED) {
            outbox.push(Message {
                key,
                id: key.to_string(),
                content: String::new(),
                is_command: false,
                ran: true,
                stage: Stage::Waiting,
            });
            outbox.end(key, End::Dropped("x".to_owned()));
        }
        assert_eq!(outbox.news_of("m1"), None, "not for ever");
        assert_eq!(outbox.ended.len(), REMEMBERED);
    }

    #[test]
    fn only_an_undelivered_message_is_withdrawn() {
        let mut outbox = outbox(3);
        outbox.get_mut(1).unwrap().stage = Stage::Sent;
        outbox.get_mut(2).unwrap().stage = Stage::Offered;
        assert_eq!(outbox.take_back("m1"), TakeBack::TooLate);
        assert_eq!(outbox.take_back("m2"), TakeBack::AskEditor(2));
        assert_eq!(outbox.take_back("m3"), TakeBack::Done(3));
        assert_eq!(outbox.take_back("m4"), TakeBack::Unknown);
        assert_eq!(outbox.not_sent(), [2, 3]);
    }
}
