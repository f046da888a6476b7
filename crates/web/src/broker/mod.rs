//! Between the sockets and the editor: checks and queues clients' input, and publishes each session's news to its
//! readers.
//!
//! Invariants: input is only accepted if writing is allowed; every refused frame is answered with the reason; queues
//! are limited in number, bytes and time.

mod comments;
mod decide;
mod decisions;
mod threads;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use claude_ide_session::prompt_input;
use serde_json::{Value as Json, json};
use tokio::sync::{Notify, broadcast, mpsc};

use crate::editor::{Ask, Decision, Report, Writing};
use crate::frames::{MAX_ID, NOT_CANCELLED, NOT_COMMENTED, NOT_SENT, NOT_STOPPED, Outward};
use crate::options::Limits;
use crate::outbox::{End, Message, Stage, TakeBack};
use crate::sessions::lock;
use crate::topic::{Note, Subscription, Topic};
pub(crate) use comments::Comment;
pub(crate) use decide::Answer;

/// Limit of sessions with a topic.
const MAX_TOPICS: usize = 256;

const READ_ONLY: &str = "only reading is allowed: web.write is false";
const BUSY: &str = "Neovim has too much to do";
const TOO_MUCH: &str = "too much at once: wait a moment";

pub(crate) struct Broker {
    writing: Option<Writing>,
    limits: Limits,
    state: Mutex<State>,
    /// Sessions with messages, for delivery workers.
    deliveries: mpsc::Sender<String>,
}

struct State {
    topics: HashMap<String, Topic>,
    decisions: BTreeMap<u64, Decision>,
    /// The frame with the threads of comments of each session that has some.
    threads: HashMap<String, String>,
    /// Open requests to the editor by key, with their requester.
    asked: HashMap<u64, Asker>,
    last_key: u64,
    last_socket: u64,
    bucket: Bucket,
}

/// The requester of an open request.
struct Asker {
    session: String,
    socket: u64,
    /// The error for a failure, and the requester's id.
    error: &'static str,
    id: Json,
}

/// A rate limit.
struct Bucket {
    left: u32,
    since: Instant,
}

/// The socket and session of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requester<'a> {
    pub(crate) session: &'a str,
    /// The session that its process ran before (`/clear`).
    pub(crate) before: Option<&'a str>,
    pub(crate) socket: u64,
    /// Whether a process runs it.
    pub(crate) runs: bool,
}

impl Requester<'_> {
    fn asks(&self, error: &'static str, id: Json) -> Asker {
        Asker { session: self.session.to_owned(), socket: self.socket, error, id }
    }
}

/// A message under way.
#[derive(Debug)]
pub(crate) struct QueuedMessage {
    pub(crate) key: u64,
    pub(crate) text: String,
    pub(crate) is_command: bool,
    pub(crate) ran: bool,
}

impl Bucket {
    fn take(&mut self, most: u32) -> bool {
        let seconds = self.since.elapsed().as_secs();
        if seconds > 0 {
            self.left = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_add(self.left).min(most);
            self.since = Instant::now();
        }
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        true
    }
}

impl State {
    fn topic(&mut self, session: &str) -> Option<&mut Topic> {
        if !self.topics.contains_key(session) {
            if self.topics.len() >= MAX_TOPICS {
                self.topics.retain(|_, topic| !topic.is_forgotten());
            }
            if self.topics.len() >= MAX_TOPICS {
                let idle = self.topics.iter().filter(|(_, topic)| topic.is_idle());
                let (oldest, _) = idle.min_by_key(|(_, topic)| topic.outbox.last_ended())?;
                let oldest = oldest.clone();
                self.topics.remove(&oldest);
            }
        }
        Some(self.topics.entry(session.to_owned()).or_default())
    }

    /// The frames of what is open in a session beside its messages.
    fn standing(&self, session: &str) -> impl Iterator<Item = String> {
        decisions::of_session(&self.decisions, session).into_iter().chain(self.threads.get(session).cloned())
    }

    fn key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }

    /// The session of a message: the previous one if only that knows the id, since the client may have missed that the
    /// process moved on.
    fn session_of<'a>(&self, from: Requester<'a>, id: &str) -> &'a str {
        let is_known = |session: &str| self.topics.get(session).is_some_and(|topic| topic.outbox.news_of(id).is_some());
        from.before.filter(|before| is_known(before) && !is_known(from.session)).unwrap_or(from.session)
    }

    /// The topic of the message with this key.
    fn topic_of(&mut self, key: u64) -> Option<&mut Topic> {
        self.topics.values_mut().find(|topic| topic.outbox.stage(key).is_some())
    }
}

impl Broker {
    pub(crate) fn new(writing: Option<Writing>, limits: Limits) -> (Self, mpsc::Receiver<String>) {
        let (deliveries, wanted) = mpsc::channel(MAX_TOPICS);
        let state = State {
            topics: HashMap::new(),
            decisions: BTreeMap::new(),
            threads: HashMap::new(),
            asked: HashMap::new(),
            last_key: 0,
            last_socket: 0,
            bucket: Bucket { left: limits.burst, since: Instant::now() },
        };
        (Self { writing, limits, state: Mutex::new(state), deliveries }, wanted)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// A new socket number.
    pub(crate) fn socket(&self) -> u64 {
        let mut state = self.lock();
        state.last_socket += 1;
        state.last_socket
    }

    /// Whether writing is allowed at all.
    pub(crate) fn may_write(&self) -> bool {
        self.writing.is_some()
    }

    /// Handles a request to write or to stop writing; returns whether the socket may write then, and the answer.
    pub(crate) fn write(&self, on: bool) -> (bool, String) {
        match &self.writing {
            Some(Writing { commands, .. }) => (on, Outward::Writing { on, commands: *commands }.text()),
            None if on => (false, refusal("Failed to turn writing on", READ_ONLY, &Json::Null)),
            None => (false, Outward::Writing { on, commands: false }.text()),
        }
    }

    /// Subscribes to a session; returns the current news too.
    pub(crate) fn listen(&self, session: &str) -> Option<(Subscription, Vec<String>)> {
        let mut state = self.lock();
        let topic = state.topic(session)?;
        let (subscription, mut news) = (topic.listen(), topic.outbox.all_news());
        news.extend(state.standing(session));
        Some((subscription, news))
    }

    /// Subscribes to a session's news, if it has a topic.
    pub(crate) fn overhear(&self, session: &str) -> Option<broadcast::Receiver<Note>> {
        self.lock().topics.get(session).map(|topic| topic.news.subscribe())
    }

    /// All current news of a session, for a reader that missed some.
    pub(crate) fn again(&self, session: &str) -> Vec<String> {
        let state = self.lock();
        let mut news = state.topics.get(session).map(|topic| topic.outbox.all_news_since_long()).unwrap_or_default();
        news.extend(state.standing(session));
        news
    }

    /// A client sends a message. Returns an answer for it alone.
    pub(crate) fn post(&self, from: Requester<'_>, may: bool, content: &str, id: Option<String>) -> Option<String> {
        let shown = id.as_deref().map_or(Json::Null, |id| json!(id.chars().take(MAX_ID).collect::<String>()));
        self.try_post(from, may, content, id).unwrap_or_else(|reason| Some(refusal(NOT_SENT, &reason, &shown)))
    }

    fn try_post(
        &self,
        from: Requester<'_>,
        may: bool,
        content: &str,
        id: Option<String>,
    ) -> Result<Option<String>, String> {
        let writing = self.judge(may)?;
        if id.as_deref().is_some_and(|id| !is_id(id)) {
            return Err(format!("an id is 1 to {MAX_ID} letters, digits, - and _"));
        }
        if content.len() > self.limits.message_bytes {
            return Err(format!("a message has at most {} bytes", self.limits.message_bytes));
        }
        let words = prompt_input::plain(content);
        if words.is_empty() {
            return Err("nothing is left of it without control characters".to_owned());
        }
        let is_command = prompt_input::is_command(&words);
        if is_command && !writing.commands {
            return Err("commands are not allowed: web.commands is false".to_owned());
        }
        let mut state = self.lock();
        let Requester { session, runs, .. } = from;
        if let Some(id) = &id
            && let Some(news) = state.topics.get(state.session_of(from, id)).and_then(|topic| topic.outbox.news_of(id))
        {
            return Ok(Some(news));
        }
        if state.topics.get(session).is_some_and(|topic| topic.outbox.len() >= self.limits.messages) {
            return Err(format!("{} messages wait already", self.limits.messages));
        }
        if !state.bucket.take(self.limits.burst) {
            return Err(TOO_MUCH.to_owned());
        }
        let key = state.key();
        let id = id.unwrap_or_else(|| format!("nvim-{key}"));
        let topic = state.topic(session).ok_or("too many sessions are written to")?;
        topic.outbox.push(Message { key, id, content: words, is_command, ran: runs, stage: Stage::Waiting });
        let news = topic.outbox.all_news().pop();
        news.into_iter().for_each(|text| topic.tell(text));
        if !topic.has_worker {
            topic.has_worker = self.deliveries.try_send(session.to_owned()).is_ok();
        }
        Ok(None)
    }

    /// A client recalls a message. Returns an answer for it alone.
    pub(crate) fn cancel(&self, from: Requester<'_>, may: bool, id: &str) -> Option<String> {
        let name = json!(id.chars().take(MAX_ID).collect::<String>());
        let refused = |reason: &str| Some(refusal(NOT_CANCELLED, reason, &name));
        let writing = match self.judge(may) {
            Ok(writing) => writing,
            Err(reason) => return refused(&reason),
        };
        let mut state = self.lock();
        let session = state.session_of(from, id);
        let Some(topic) = state.topics.get_mut(session) else { return refused("there is no such message") };
        match topic.outbox.take_back(id) {
            TakeBack::Done(key) => {
                end(topic, key, End::Dropped("cancelled".to_owned()));
                None
            }
            TakeBack::AskEditor(key) => {
                state.asked.insert(key, from.asks(NOT_CANCELLED, name));
                drop(state);
                if writing.editor.ask(Ask::TakeBack { key }) {
                    return None;
                }
                // Unless it was answered meanwhile.
                let Asker { id, error, .. } = self.lock().asked.remove(&key)?;
                Some(refusal(error, BUSY, &id))
            }
            TakeBack::TooLate => refused("too late: Claude may have it already"),
            TakeBack::Unknown => refused("there is no such message"),
        }
    }

    /// A client interrupts Claude. Returns an answer for it alone.
    pub(crate) fn interrupt(&self, from: Requester<'_>, may: bool, id: Option<String>) -> Option<String> {
        let name = id.map_or(Json::Null, |id| json!(id.chars().take(MAX_ID).collect::<String>()));
        let asked = self.judge(may).and_then(|writing| {
            if !self.lock().bucket.take(self.limits.burst) {
                return Err(TOO_MUCH.to_owned());
            }
            let session = from.session.to_owned();
            self.ask(writing, from, (NOT_STOPPED, name.clone()), |key| Ask::Interrupt { key, session })
        });
        asked.err().map(|reason| refusal(NOT_STOPPED, &reason, &name))
    }

    /// Sends a request to the editor that it answers with [`Report::Done`].
    fn ask(
        &self,
        writing: &Writing,
        from: Requester<'_>,
        (error, id): (&'static str, Json),
        ask: impl FnOnce(u64) -> Ask,
    ) -> Result<(), String> {
        let key = {
            let mut state = self.lock();
            let key = state.key();
            state.asked.insert(key, from.asks(error, id));
            key
        };
        if writing.editor.ask(ask(key)) {
            return Ok(());
        }
        self.lock().asked.remove(&key);
        Err(BUSY.to_owned())
    }

    fn judge(&self, may: bool) -> Result<&Writing, String> {
        let writing = self.writing.as_ref().ok_or(READ_ONLY)?;
        if may { Ok(writing) } else { Err("writing is off here: send {\"type\":\"write\",\"on\":true}".to_owned()) }
    }

    /// Handles a report of the editor.
    pub(crate) fn take(&self, report: Report) {
        let mut state = self.lock();
        match report {
            Report::Given { key } => {
                if let Some(message) = state.topic_of(key).and_then(|topic| topic.outbox.get_mut(key)) {
                    message.stage = Stage::Given;
                }
            }
            Report::Sent { key } => {
                let Some(topic) = state.topic_of(key) else { return };
                if let Some(message) = topic.outbox.get_mut(key) {
                    message.stage = Stage::Sent;
                }
                topic.outbox.all_news().into_iter().for_each(|text| topic.tell(text));
                topic.changed.notify_one();
                if let Some(Asker { session, socket, error, id }) = state.asked.remove(&key)
                    && let Some(topic) = state.topics.get(&session)
                {
                    let text = refusal(error, "too late: Claude may have it already", &id);
                    topic.tell_to(Some(socket), text);
                }
            }
            Report::Failed { key, reason, all } => {
                state.asked.remove(&key);
                let Some(topic) = state.topic_of(key) else { return };
                let others = if all { topic.outbox.not_sent() } else { Vec::new() };
                for key in std::iter::once(key).chain(others) {
                    end(topic, key, End::Dropped(reason.clone()));
                }
            }
            Report::Decision(decision) => {
                let State { topics, decisions, .. } = &mut *state;
                decisions::open(decisions, topics.get(&decision.session), decision);
            }
            Report::Closed { id, outcome } => {
                let Some(decision) = state.decisions.remove(&id) else { return };
                if let Some(topic) = state.topics.get(&decision.session) {
                    topic.tell(Outward::DecisionClosed { id, outcome: &outcome }.text());
                }
            }
            Report::Threads { session, threads } => {
                let State { topics, threads: known, .. } = &mut *state;
                threads::publish(known, topics.get(&session), session, &threads);
            }
            Report::Done { key, error: reason } => {
                let Some(Asker { session, socket, error, id }) = state.asked.remove(&key) else { return };
                let text = match reason {
                    Some(reason) => refusal(error, &reason, &id),
                    None if error == NOT_COMMENTED => Outward::Commented { id: &id }.text(),
                    None => return,
                };
                if let Some(topic) = state.topics.get(&session) {
                    topic.tell_to(Some(socket), text);
                }
            }
        }
    }

    /// Publishes a piece of Claude's streamed reply.
    pub(crate) fn say(&self, session: &str, kind: &str, event: &str) {
        let mut state = self.lock();
        let Some(topic) = state.topic(session) else { return };
        topic.say(kind, event);
        if topic.is_forgotten() {
            state.topics.remove(session);
        }
    }

    /// Voids the message that is being streamed.
    pub(crate) fn break_off(&self, session: &str) {
        let mut state = self.lock();
        if let Some(topic) = state.topics.get_mut(session) {
            topic.break_off();
        }
    }

    /// The next message of a session. Without one, its delivery worker ends.
    pub(crate) fn next(&self, session: &str) -> Option<(QueuedMessage, Arc<Notify>)> {
        let mut state = self.lock();
        let topic = state.topics.get_mut(session)?;
        let Some(message) = topic.outbox.first() else {
            topic.has_worker = false;
            return None;
        };
        let Message { key, ref content, is_command, ran, .. } = *message;
        Some((QueuedMessage { key, text: content.clone(), is_command, ran }, Arc::clone(&topic.changed)))
    }

    /// Passes a message to the editor.
    pub(crate) fn deliver(&self, session: &str, queued: &QueuedMessage) {
        let Some(writing) = &self.writing else { return };
        {
            let mut state = self.lock();
            let Some(message) = state.topic_of(queued.key).and_then(|topic| topic.outbox.get_mut(queued.key)) else {
                return;
            };
            message.stage = Stage::Offered;
        }
        let QueuedMessage { key, ref text, is_command: command, ran } = *queued;
        if !writing.editor.ask(Ask::Deliver { key, session: session.to_owned(), text: text.clone(), command, ran }) {
            self.end(session, key, End::Dropped(BUSY.to_owned()));
        }
    }

    /// The stage of a message; `None` once it has ended.
    pub(crate) fn stage(&self, session: &str, key: u64) -> Option<Stage> {
        self.lock().topics.get(session)?.outbox.stage(key)
    }

    /// Ends a message.
    pub(crate) fn end(&self, session: &str, key: u64, how: End) {
        let mut state = self.lock();
        if let Some(topic) = state.topics.get_mut(session) {
            end(topic, key, how);
        }
    }
}

fn end(topic: &mut Topic, key: u64, how: End) {
    let Some(text) = topic.outbox.end(key, how) else { return };
    topic.tell(text);
    // The messages behind it moved up.
    topic.outbox.all_news().into_iter().for_each(|text| topic.tell(text));
    topic.changed.notify_one();
}

fn refusal(error: &str, reason: &str, id: &Json) -> String {
    Outward::Error { error, reason: Some(reason), id: (!id.is_null()).then_some(id) }.text()
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

#[cfg(test)]
mod tests;
