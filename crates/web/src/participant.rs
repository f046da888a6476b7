//! One socket's role in its session: whether it may write, and its frames beside transcript lines.

use serde_json::json;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::broker::{Answer, Broker, Comment, Requester};
use crate::frames::{Inward, NOT_SENT, Outward};
use crate::topic::{Note, Piece, Subscription};

/// One socket's role in its session.
pub(crate) struct Participant {
    pub(crate) socket: u64,
    part: Part,
    /// Whether this socket may write.
    may_write: bool,
    subscription: Option<Subscription>,
    /// News of the previous session, from which the process moved on: messages under way there still end.
    former: Option<broadcast::Receiver<Note>>,
    /// Whether the start of the streamed message was received.
    has_start: bool,
}

/// The kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A browser: it must request to write first.
    Page,
    /// A client with the token.
    Client,
    /// A reader of a subagent, to which no messages can be sent.
    OfAgent,
}

/// The next frame for a socket.
pub(crate) enum Incoming {
    Text(Utf8Bytes),
    /// Some were missed: all current news must be sent again.
    Missed,
    Nothing,
}

impl Participant {
    /// A client with the token may write at once, if writing is allowed.
    pub(crate) fn new(broker: &Broker, part: Part) -> Self {
        let may_write = part == Part::Client && broker.may_write();
        Self { socket: broker.socket(), part, may_write, subscription: None, former: None, has_start: false }
    }

    pub(crate) fn may_write(&self) -> bool {
        self.may_write
    }

    /// Subscribes to a session, and to the previous one of its process; returns the current news.
    pub(crate) fn listen(&mut self, broker: &Broker, session: &str, before: Option<&str>) -> Vec<Utf8Bytes> {
        let news = self.subscription.take().map(|subscription| subscription.news);
        self.former = news.or_else(|| broker.overhear(before?));
        let Some((mut subscription, news)) = broker.listen(session) else { return Vec::new() };
        let said = std::mem::take(&mut subscription.said);
        self.has_start = !said.is_empty();
        self.subscription = Some(subscription);
        news.into_iter().map(Utf8Bytes::from).chain(said).collect()
    }

    /// Handles a client's frame; returns the answer.
    pub(crate) fn handle(&mut self, broker: &Broker, from: Requester<'_>, inward: Inward) -> Option<String> {
        if self.part == Part::OfAgent {
            return refuse(&inward);
        }
        match inward {
            Inward::Write { on } => {
                let (may, text) = broker.write(on);
                self.may_write = may;
                Some(text)
            }
            Inward::UserMessage { content, id } => broker.post(from, self.may_write, &content, id),
            Inward::CancelMessage { id } => broker.cancel(from, self.may_write, &id),
            Inward::Interrupt { id } => broker.interrupt(from, self.may_write, id),
            Inward::Decide { id, choice, message, answers } => {
                broker.decide(from, self.may_write, id, Answer { choice, message, answers })
            }
            Inward::Comment { id, thread, act, words } => {
                broker.comment(from, self.may_write, &id, Comment { thread, act, words })
            }
            Inward::Auth { .. } | Inward::Ping | Inward::Subscribe { .. } => None,
        }
    }

    /// The next frame of its session; never, without a subscription.
    pub(crate) async fn next(&mut self) -> Incoming {
        let Some(subscription) = &mut self.subscription else { return std::future::pending().await };
        let former = async {
            match &mut self.former {
                Some(news) => news.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            note = former => match note {
                Ok(Note { to, text }) if to.is_none_or(|to| to == self.socket) => Incoming::Text(text),
                Ok(_) | Err(RecvError::Lagged(_)) => Incoming::Nothing,
                Err(RecvError::Closed) => {
                    self.former = None;
                    Incoming::Nothing
                }
            },
            note = subscription.news.recv() => match note {
                Ok(Note { to, text }) if to.is_none_or(|to| to == self.socket) => Incoming::Text(text),
                Ok(_) => Incoming::Nothing,
                Err(RecvError::Lagged(_)) => Incoming::Missed,
                Err(RecvError::Closed) => self.deaf(),
            },
            piece = subscription.speech.recv() => match piece {
                Ok(Piece::Start(text)) => {
                    self.has_start = true;
                    Incoming::Text(text)
                }
                Ok(Piece::More(text)) if self.has_start => Incoming::Text(text),
                Ok(Piece::More(_)) => Incoming::Nothing,
                Ok(Piece::Gap) | Err(RecvError::Lagged(_)) => {
                    self.has_start = false;
                    Incoming::Nothing
                }
                Err(RecvError::Closed) => self.deaf(),
            },
        }
    }

    fn deaf(&mut self) -> Incoming {
        self.subscription = None;
        Incoming::Nothing
    }
}

/// The error for writing to a subagent.
fn refuse(inward: &Inward) -> Option<String> {
    let id = match inward {
        Inward::Auth { .. } | Inward::Ping | Inward::Subscribe { .. } => return None,
        Inward::Write { .. } => None,
        Inward::UserMessage { id, .. } | Inward::Interrupt { id } => id.as_ref().map(|id| json!(id)),
        Inward::CancelMessage { id } | Inward::Comment { id, .. } => Some(json!(id)),
        Inward::Decide { id, .. } => Some(json!(id)),
    };
    let reason = Some("a subagent takes no words: write to its session");
    Some(Outward::Error { error: NOT_SENT, reason, id: id.as_ref() }.text())
}
