//! The output of one socket: the lines of its session from some place on, each once and in order, then new lines as
//! they are written; and the session's state.
//!
//! Invariants: a page is taken when the previous one was sent, so a slow reader holds one page and its socket's buffer;
//! exactly one task writes to the socket.

use std::sync::Arc;
use std::time::Duration;

use claude_ide_session::{Activity, SessionId};
use futures_util::{Sink, SinkExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

use crate::broker::{Broker, Requester};
use crate::channel::{Channel, Next, Page, Place};
use crate::frames::{Inward, Outward};
use crate::options::Limits;
use crate::participant::{Incoming, Part, Participant};
use crate::sessions::Sessions;
use crate::site::Site;

/// Longer lines are split into frames of this size, since a socket's buffer must not hold a whole one.
const FRAME: usize = 256 * 1024;

/// The place where a client wants to start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wish {
    pub(crate) from_uuid: Option<String>,
    pub(crate) last: Option<usize>,
}

/// An order from the reading half of a socket to the writing half.
#[derive(Debug)]
pub(crate) enum Order {
    /// Start at another place.
    Read(Wish),
    /// Handle a frame that does not concern reading.
    Handle(Inward),
    /// Send a text.
    Say(String),
}

/// Why a socket is finished.
#[derive(Debug)]
pub(crate) enum Over {
    /// It is broken, or accepts nothing.
    Broken,
    /// The session can no longer be read.
    Unreadable,
}

pub(crate) struct Stream<'a, S> {
    sink: S,
    sessions: &'a Sessions,
    limits: &'a Limits,
    broker: &'a Broker,
    participant: Participant,
    id: String,
    channel: Arc<Channel>,
    place: Place,
    last_sent: LastSent,
}

/// The last states sent, to avoid repetition.
#[derive(Default)]
struct LastSent {
    state: Option<String>,
    typing: bool,
    caught_up: bool,
}

impl<'a, S: Sink<Message> + Unpin> Stream<'a, S> {
    pub(crate) async fn new(sink: S, site: &'a Site, id: String, channel: Arc<Channel>, part: Part) -> Self {
        let place = channel.start().await;
        let Site { sessions, limits, broker, .. } = site;
        let participant = Participant::new(broker, part);
        Self { sink, sessions, limits, broker, participant, id, channel, place, last_sent: LastSent::default() }
    }

    /// Sends until the socket breaks.
    pub(crate) async fn run(&mut self, wish: Option<Wish>, orders: &mut mpsc::Receiver<Order>) -> Over {
        match self.tell_all(wish, orders).await {
            Ok(never) => match never {},
            Err(over) => over,
        }
    }

    /// Sends a last frame and closes.
    pub(crate) async fn close(&mut self, frame: Option<Message>) {
        let goodbye = async {
            if let Some(frame) = frame {
                self.sink.feed(frame).await.ok();
            }
            self.sink.close().await.ok();
        };
        timeout(Duration::from_millis(200), goodbye).await.ok();
    }

    async fn tell_all(
        &mut self,
        wish: Option<Wish>,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Result<std::convert::Infallible, Over> {
        let mut lives = self.sessions.lives.changes();
        let mut touched = self.channel.touched();
        let first = Instant::now() + self.limits.ping;
        let mut ping = interval_at(first, self.limits.ping);
        if let Some(wish) = wish {
            self.go_to(wish).await?;
        }
        lives.mark_unchanged();
        self.tell_state().await?;
        self.listen().await?;
        loop {
            // Changes from here on are checked again below.
            touched.mark_unchanged();
            let more = self.tell_next().await?;
            if !more {
                self.flush().await?;
            }
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Read(wish)) => self.go_to(wish).await?,
                    Some(Order::Handle(inward)) => self.handle(inward).await?,
                    Some(Order::Say(text)) => self.say(text).await?,
                    None => return Err(Over::Broken),
                },
                changed = lives.changed() => {
                    changed.map_err(|_| Over::Unreadable)?;
                    if self.follow_the_process().await? {
                        touched = self.channel.touched();
                    }
                    self.tell_state().await?;
                }
                incoming = self.participant.next() => self.pass_on(incoming).await?,
                _ = ping.tick() => self.send(Message::Ping(Bytes::new())).await?,
                () = std::future::ready(()), if more => {}
                changed = changed(&mut touched), if !more => changed?,
            }
        }
    }

    /// Sends the next page; `false` if there is none for now.
    async fn tell_next(&mut self) -> Result<bool, Over> {
        match self.channel.next(self.place).await {
            Ok(Next::Page(page)) => {
                self.tell_page(&page).await?;
                Ok(true)
            }
            Ok(Next::End) => {
                if !self.last_sent.caught_up {
                    self.last_sent.caught_up = true;
                    let messages = self.channel.len().await;
                    self.say(Outward::CaughtUp { messages }.text()).await?;
                }
                Ok(false)
            }
            Ok(Next::Replaced) => {
                self.know_all().await?;
                self.place = match self.channel.resume(self.place).await {
                    Some(place) => place,
                    None => {
                        self.say(Outward::Reset.text()).await?;
                        self.channel.start().await
                    }
                };
                Ok(true)
            }
            Err(error) => {
                tracing::debug!(%error, "a transcript cannot be read");
                Err(Over::Unreadable)
            }
        }
    }

    async fn tell_page(&mut self, page: &Page) -> Result<(), Over> {
        let sent = self.place.number.saturating_sub(page.from);
        for line in page.lines.iter().skip(sent) {
            if line.len() <= FRAME {
                self.feed(Message::Text(line.clone())).await?;
            } else {
                self.feed_in_pieces(line).await?;
            }
            self.place.number += 1;
        }
        Ok(())
    }

    async fn feed_in_pieces(&mut self, line: &Utf8Bytes) -> Result<(), Over> {
        let mut rest = Bytes::from(line.clone());
        let mut kind = Data::Text;
        while !rest.is_empty() {
            let piece = rest.split_to(FRAME.min(rest.len()));
            let frame = Frame::message(piece, OpCode::Data(kind), rest.is_empty());
            self.feed(Message::Frame(frame)).await?;
            kind = Data::Continue;
        }
        Ok(())
    }

    /// Moves to the requested place.
    async fn go_to(&mut self, wish: Wish) -> Result<(), Over> {
        self.last_sent.caught_up = false;
        let (place, found) = match (&wish.from_uuid, wish.last) {
            (Some(uuid), _) => {
                self.know_all().await?;
                let place = self.channel.after(uuid).await;
                (place, place.is_some())
            }
            (None, Some(count)) => {
                self.know_all().await?;
                (Some(self.channel.before_last(count).await), true)
            }
            (None, None) => (None, true),
        };
        self.place = match place {
            Some(place) => place,
            None => self.channel.start().await,
        };
        self.say(Outward::Subscribed { from_uuid: wish.from_uuid.as_deref(), found }.text()).await
    }

    async fn know_all(&self) -> Result<(), Over> {
        self.channel.know_all().await.map_err(|error| {
            tracing::debug!(%error, "a transcript cannot be read");
            Over::Unreadable
        })
    }

    /// Follows the process to another session (`/clear`); returns whether it moved.
    async fn follow_the_process(&mut self) -> Result<bool, Over> {
        let Some(next) = self.sessions.lives.went_on_as(&self.id) else { return Ok(false) };
        let Some(file) = self.sessions.find(next.as_str()).await else { return Ok(false) };
        // The rest of this one first.
        while let Next::Page(page) = self.channel.next(self.place).await.map_err(|_| Over::Unreadable)? {
            self.tell_page(&page).await?;
        }
        let previous = std::mem::replace(&mut self.id, next.to_string());
        self.channel = self.sessions.channel(&file).ok_or(Over::Unreadable)?;
        self.place = self.channel.start().await;
        self.last_sent.caught_up = false;
        self.say(Outward::Session { session_id: next.as_str(), previous: &previous }.text()).await?;
        self.listen().await?;
        Ok(true)
    }

    /// Subscribes to this session's topic.
    async fn listen(&mut self) -> Result<(), Over> {
        let before = self.sessions.lives.came_from(&self.id);
        for text in self.participant.listen(self.broker, &self.id, before.as_ref().map(SessionId::as_str)) {
            self.send(Message::Text(text)).await?;
        }
        Ok(())
    }

    async fn pass_on(&mut self, incoming: Incoming) -> Result<(), Over> {
        match incoming {
            Incoming::Text(text) => self.send(Message::Text(text)).await,
            Incoming::Missed => {
                for text in self.broker.again(&self.id) {
                    self.say(text).await?;
                }
                Ok(())
            }
            Incoming::Nothing => Ok(()),
        }
    }

    async fn handle(&mut self, inward: Inward) -> Result<(), Over> {
        let (before, runs) = (self.sessions.lives.came_from(&self.id), self.sessions.lives.of(&self.id).is_some());
        let before = before.as_ref().map(SessionId::as_str);
        let from = Requester { session: &self.id, before, socket: self.participant.socket, runs };
        if let Some(text) = self.participant.handle(self.broker, from, inward) {
            self.say(text).await?;
        }
        self.tell_state().await
    }

    /// Sends the session's state if it changed.
    async fn tell_state(&mut self) -> Result<(), Over> {
        let running = self.sessions.lives.of(&self.id);
        let is_typing = running.as_ref().is_some_and(|session| session.state.activity == Activity::Working);
        let state = Outward::state_of(running.as_ref(), self.participant.may_write()).text();
        if self.last_sent.state.as_ref() == Some(&state) {
            return Ok(());
        }
        self.last_sent.state = Some(state.clone());
        self.say(state).await?;
        if std::mem::replace(&mut self.last_sent.typing, is_typing) != is_typing {
            self.say(Outward::Typing { is_typing }.text()).await?;
        }
        Ok(())
    }

    async fn say(&mut self, text: String) -> Result<(), Over> {
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Over> {
        self.feed(message).await?;
        self.flush().await
    }

    async fn feed(&mut self, message: Message) -> Result<(), Over> {
        self.sink.feed(message).await.map_err(|_| Over::Broken)
    }

    async fn flush(&mut self) -> Result<(), Over> {
        self.sink.flush().await.map_err(|_| Over::Broken)
    }
}

async fn changed(touched: &mut watch::Receiver<u64>) -> Result<(), Over> {
    touched.changed().await.map_err(|_| Over::Unreadable)
}
