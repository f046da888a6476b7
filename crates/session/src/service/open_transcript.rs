//! One open transcript: a queue of messages, handled by threads of the pool, one message a turn.
//!
//! Invariants: one thread at a time; messages are handled in order, and none after a close; a dropped question is
//! answered with an error.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use super::follows::Follower;
use super::lock::lock;
use super::reader::{HeldTexts, News, Reader};
use super::request::Ask;
use super::request_sink::{Pending, RequestSink};
use super::shared::Shared;
use super::sink::Growth;
use crate::cancel::Cancel;
use crate::error::chain;
use crate::id::SessionId;
use crate::tool_result::EditTexts;
use crate::transcript::{Batch, Transcript};
use crate::watch::FollowId;

enum Message {
    Open(Pending, PathBuf),
    Ask(Pending, Ask),
    /// The file or its subagents may have changed.
    Refresh,
    /// The CLI shows a batch of a message.
    Show {
        message: Box<str>,
        index: u64,
        is_final: bool,
        delta: Box<str>,
    },
    /// The whole of a file of which only the end was read.
    Whole(Box<Transcript>),
    Close,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Message>,
    /// Whether a thread runs, or was requested.
    taken: bool,
    /// Whether a refresh is queued.
    refresh: bool,
    closed: bool,
}

/// The client that opened a transcript.
pub(super) trait Owner: Send + Sync {
    /// Where its news go.
    fn sink(&self) -> &RequestSink;

    /// Drops a task that is done, or a transcript that could not be opened.
    fn forget(&self, id: u64);
}

pub(super) struct OpenTranscript {
    owner: Weak<dyn Owner>,
    shared: Weak<Shared>,
    cancel: Cancel,
    /// The session of which it also has what is not recorded yet.
    session: Option<SessionId>,
    line: Mutex<Line>,
    /// Absent while a thread works with it.
    reader: Mutex<Option<Reader>>,
    texts: HeldTexts,
    follow: Mutex<Option<FollowId>>,
}

impl OpenTranscript {
    pub(super) fn new(
        owner: Weak<dyn Owner>,
        shared: Weak<Shared>,
        cancel: Cancel,
        session: Option<SessionId>,
    ) -> Arc<Self> {
        let (line, reader, follow) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { owner, shared, cancel, session, line, reader, texts: Arc::default(), follow })
    }

    pub(super) fn open(self: &Arc<Self>, pending: Pending, file: PathBuf) {
        self.send(Message::Open(pending, file));
    }

    /// Queues a question. If the transcript is closed, dropping the question answers it.
    pub(super) fn ask(self: &Arc<Self>, pending: Pending, ask: Ask) {
        self.send(Message::Ask(pending, ask));
    }

    /// Takes the texts of one of the changes that were told last.
    pub(super) fn take_texts(&self, call: &str) -> Option<EditTexts> {
        lock(&self.texts).remove(call)
    }

    /// Closes the transcript. Its memory is freed on a pool thread: it may be large.
    pub(super) fn close(self: &Arc<Self>) {
        self.cancel.cancel();
        self.send(Message::Close);
    }

    fn send(self: &Arc<Self>, message: Message) {
        let mut line = lock(&self.line);
        if line.closed {
            drop(line);
            drop(message);
            return;
        }
        line.closed = matches!(message, Message::Close);
        line.waiting.push_back(message);
        if !std::mem::replace(&mut line.taken, true) {
            drop(line);
            self.call_a_thread();
        }
    }

    fn call_a_thread(self: &Arc<Self>) {
        let transcript = Arc::clone(self);
        let called = self.at().map(|at| at.shared.pools.transcripts.run(move || transcript.turn()));
        if let Some(Err(error)) = called {
            tracing::warn!(%error, "no thread for a transcript");
            let mut line = lock(&self.line);
            line.closed = true;
            let waiting = std::mem::take(&mut line.waiting);
            drop(line);
            drop(waiting);
        }
    }

    /// Handles the first message. The rest waits until the other transcripts had a turn.
    fn turn(self: &Arc<Self>) {
        /// Runs even if this turn panics.
        struct Next<'a>(&'a Arc<OpenTranscript>);
        impl Drop for Next<'_> {
            fn drop(&mut self) {
                let mut line = lock(&self.0.line);
                line.taken = !line.waiting.is_empty();
                if line.taken {
                    drop(line);
                    self.0.call_a_thread();
                }
            }
        }
        let _next = Next(self);
        let Some(at) = self.at() else { return };
        let message = {
            let mut line = lock(&self.line);
            let message = line.waiting.pop_front();
            line.refresh &= !matches!(message, Some(Message::Refresh));
            message
        };
        let Some(message) = message else { return };
        // Taken out, so that a panic drops a half-changed reader.
        let reader = lock(&self.reader).take();
        let reader = self.deal_with(message, reader, &at);
        *lock(&self.reader) = reader;
    }

    fn deal_with(self: &Arc<Self>, message: Message, reader: Option<Reader>, at: &At) -> Option<Reader> {
        match (message, reader) {
            (Message::Close, reader) => {
                if let Some(follow) = lock(&self.follow).take() {
                    at.shared.follows.unfollow(&at.shared.watcher, follow);
                }
                drop(reader);
                None
            }
            (Message::Open(pending, file), _) => self.open_now(pending, file, at),
            (_, None) => None,
            (_, Some(reader)) if self.cancel.is_cancelled() => Some(reader),
            (Message::Ask(pending, ask), Some(mut reader)) => {
                if ask.question.is_of_now() {
                    let news = reader.refresh();
                    at.tell(news, &reader);
                }
                pending.answer(reader.answer(ask));
                Some(reader)
            }
            (Message::Refresh, Some(mut reader)) => {
                let news = reader.refresh();
                at.tell(news, &reader);
                Some(reader)
            }
            (Message::Show { message, index, is_final, delta }, Some(mut reader)) => {
                let news = reader.show(&Batch { message: &message, index, is_final, delta: &delta });
                at.tell(news, &reader);
                Some(reader)
            }
            (Message::Whole(whole), Some(mut reader)) => {
                let news = reader.take_whole(*whole);
                at.tell(news, &reader);
                Some(reader)
            }
        }
    }

    fn open_now(self: &Arc<Self>, pending: Pending, file: PathBuf, at: &At) -> Option<Reader> {
        let id = pending.id();
        let opened =
            Reader::open(id, file, Arc::clone(&at.shared.agent_folders), Arc::clone(&self.texts), self.cancel.clone());
        let opened = opened.map_err(|error| chain(&error)).and_then(|reader| Ok((reader.info(true)?, reader)));
        match opened {
            Ok((info, reader)) => {
                // First, as what is shown once it counts as open must reach it.
                if !at.owner.sink().is_closed() {
                    *lock(&self.follow) = Some(at.follow(&reader, self));
                }
                pending.opened(info);
                if !reader.is_complete() {
                    self.index_whole(&reader, at);
                }
                Some(reader)
            }
            Err(error) => {
                lock(&self.line).closed = true;
                at.owner.forget(id);
                pending.answer(Err(error));
                None
            }
        }
    }

    /// Indexes the whole file while its end is shown, without delaying questions about the end.
    fn index_whole(self: &Arc<Self>, reader: &Reader, at: &At) {
        let (file, cancel, transcript) = (reader.file(), self.cancel.clone(), Arc::clone(self));
        let index = move || match Transcript::open(file, &cancel) {
            Ok(whole) => transcript.send(Message::Whole(Box::new(whole))),
            Err(error) => tracing::warn!(error = %chain(&error), "a transcript could not be read in full"),
        };
        if let Err(error) = at.shared.pools.indexing.run(index) {
            tracing::warn!(%error, "no thread to read a transcript in full");
        }
    }

    /// `None` once the service or the client is gone.
    fn at(&self) -> Option<At> {
        Some(At { owner: self.owner.upgrade()?, shared: self.shared.upgrade()? })
    }
}

impl Follower for OpenTranscript {
    /// Queues a refresh unless one is queued.
    fn changed(self: Arc<Self>) {
        if !std::mem::replace(&mut lock(&self.line).refresh, true) {
            self.send(Message::Refresh);
        }
    }

    /// Takes what the CLI of a session shows.
    fn show(self: Arc<Self>, session: &str, batch: &Batch<'_>) {
        if self.session.as_ref().is_some_and(|own| own.as_str() == session) {
            let Batch { message, index, is_final, delta } = *batch;
            self.send(Message::Show { message: message.into(), index, is_final, delta: delta.into() });
        }
    }
}

/// Context of a turn.
struct At {
    shared: Arc<Shared>,
    owner: Arc<dyn Owner>,
}

impl At {
    fn follow(&self, reader: &Reader, transcript: &Arc<OpenTranscript>) -> FollowId {
        let follower = Arc::<OpenTranscript>::clone(transcript);
        self.shared.follows.follow(&self.shared.watcher, &reader.file(), reader.offset(), follower)
    }

    fn tell(&self, news: Option<News>, reader: &Reader) {
        let Some(News { change, agents }) = news else { return };
        match reader.info(agents) {
            Ok(info) => self.owner.sink().change(reader.id(), Growth { change, info }),
            Err(error) => tracing::debug!(error, "could not send a transcript's change"),
        }
    }
}
