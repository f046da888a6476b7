//! One open transcript and the thread it lives on.
//!
//! Of a huge file the end comes first; all of it is indexed on another thread meanwhile, so that what is asked of the end
//! is answered at once. Then the whole takes the place of the end: that is a new epoch, since messages have other numbers
//! in it. Invariant: a question is answered by the transcript of the epoch it was asked for, or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use claude_ide_session::{Agent, Cancel, Delta, NodeId, Row, SessionError, Transcript, Usage, agents_of};
use serde::Serialize;
use serde_json::Value as Json;

use super::pending::Pending;
use super::request::{Ask, Question};
use crate::error::chain;
use crate::mailbox::Change;

/// How much of a transcript's end is read at first.
const FIRST_BYTES: u64 = 1024 * 1024;
/// Where that holds fewer rows than this, more is read: what the model is told takes most of a file.
const FIRST_ROWS: usize = 200;
/// How much is read at most before something is shown.
const MAX_FIRST_BYTES: u64 = 16 * 1024 * 1024;

/// What reaches a transcript's thread.
enum Message {
    Ask(Pending, Ask),
    Close,
    /// The file may have grown.
    Refresh,
    /// The whole of a file whose end alone was known.
    Whole(Box<Transcript>),
}

/// Reaches a transcript's thread.
#[derive(Clone)]
pub(super) struct Line {
    sender: Sender<Message>,
    /// Whether the thread was told to look and has not looked yet.
    told: Arc<AtomicBool>,
}

impl Line {
    /// A question. If the thread is gone, dropping what waits for the answer says so.
    pub(super) fn ask(&self, pending: Pending, ask: Ask) {
        self.sender.send(Message::Ask(pending, ask)).ok();
    }

    /// Nobody will ask any more.
    pub(super) fn close(&self) {
        self.sender.send(Message::Close).ok();
    }

    /// The file may have grown.
    pub(super) fn refresh(&self) {
        if !self.told.swap(true, Ordering::AcqRel) {
            self.sender.send(Message::Refresh).ok();
        }
    }

    /// The whole file is indexed.
    pub(super) fn whole(&self, transcript: Transcript) {
        self.sender.send(Message::Whole(Box::new(transcript))).ok();
    }
}

/// Where messages to a transcript's thread come out.
pub(super) struct Inbox {
    receiver: Receiver<Message>,
    told: Arc<AtomicBool>,
}

/// Both ends of the line to a transcript's thread.
pub(super) fn line() -> (Line, Inbox) {
    let (sender, receiver) = channel();
    let told = Arc::new(AtomicBool::new(false));
    (Line { sender, told: Arc::clone(&told) }, Inbox { receiver, told })
}

/// What is known of a transcript without asking.
#[derive(Serialize)]
struct Info<'a> {
    epoch: u64,
    file: &'a Path,
    len: usize,
    complete: bool,
    offset: u64,
    message_count: usize,
    broken_lines: u32,
    total_usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_reply: Option<Row>,
    agents: Vec<Agent>,
}

/// An answer that moved the rows.
#[derive(Serialize)]
struct Moved {
    delta: Change,
    info: Json,
}

/// An open transcript, on its thread.
pub(super) struct Reader {
    transcript: Transcript,
    epoch: u64,
    broken: u32,
    cancel: Cancel,
}

impl Reader {
    /// Opens a transcript, or its end where it is huge.
    ///
    /// # Errors
    /// As [`Transcript::open`].
    pub(super) fn open(file: PathBuf, cancel: Cancel) -> Result<Self, SessionError> {
        let mut bytes = FIRST_BYTES;
        let mut transcript = Transcript::open_end(&file, bytes, &cancel)?;
        while !transcript.is_complete() && transcript.len() < FIRST_ROWS && bytes < MAX_FIRST_BYTES {
            bytes *= 4;
            transcript = Transcript::open_end(&file, bytes, &cancel)?;
        }
        let broken = transcript.broken_lines();
        Ok(Self { transcript, epoch: 1, broken, cancel })
    }

    pub(super) fn is_complete(&self) -> bool {
        self.transcript.is_complete()
    }

    pub(super) fn file(&self) -> PathBuf {
        self.transcript.file().to_owned()
    }

    pub(super) fn offset(&self) -> u64 {
        self.transcript.offset()
    }

    pub(super) fn info(&self) -> Json {
        let transcript = &self.transcript;
        json(&Info {
            epoch: self.epoch,
            file: transcript.file(),
            len: transcript.len(),
            complete: transcript.is_complete(),
            offset: transcript.offset(),
            message_count: transcript.message_count(),
            broken_lines: transcript.broken_lines(),
            total_usage: transcript.total_usage(),
            last_reply: transcript.last_reply(),
            agents: agents_of(transcript.file()),
        })
    }

    /// Answers and follows until it is closed; `changed` hears what changes.
    pub(super) fn run(mut self, inbox: &Inbox, changed: impl Fn(Change, Json)) {
        while let Ok(message) = inbox.receiver.recv() {
            if self.cancel.is_cancelled() {
                return;
            }
            let change = match message {
                Message::Ask(pending, ask) => {
                    pending.answer(self.answer_if_current(ask));
                    None
                }
                Message::Refresh => {
                    inbox.told.store(false, Ordering::Release);
                    self.refresh()
                }
                Message::Whole(whole) => self.take_whole(*whole),
                Message::Close => return,
            };
            if let Some(change) = change {
                changed(change, self.info());
            }
        }
    }

    fn answer_if_current(&mut self, ask: Ask) -> Result<Json, String> {
        if ask.epoch != self.epoch {
            return Err("the transcript was replaced".to_owned());
        }
        self.answer(ask.question).map_err(|error| chain(&error))
    }

    fn refresh(&mut self) -> Option<Change> {
        let delta = match self.transcript.refresh(&self.cancel) {
            Ok(delta) => delta,
            Err(error) => {
                tracing::debug!(error = %chain(&error), "could not follow a transcript");
                return None;
            }
        };
        let broken = self.transcript.broken_lines();
        if delta.is_empty() && broken == self.broken {
            return None;
        }
        self.broken = broken;
        if delta.reset {
            self.epoch += 1;
        }
        Some(Change { delta, shift: None })
    }

    fn take_whole(&mut self, mut whole: Transcript) -> Option<Change> {
        if self.transcript.is_complete() {
            return None; // It was replaced meanwhile, and read anew.
        }
        // What was added since it was opened.
        if let Err(error) = whole.refresh(&self.cancel) {
            tracing::debug!(error = %chain(&error), "could not follow a transcript");
        }
        let shift = whole.rows_before(&self.transcript);
        self.transcript = whole;
        self.epoch += 1;
        self.broken = self.transcript.broken_lines();
        let delta = Delta { reset: true, from: 0, len: self.transcript.len(), changed: Vec::new() };
        Some(Change { delta, shift })
    }

    fn answer(&mut self, question: Question) -> Result<Json, SessionError> {
        let transcript = &mut self.transcript;
        Ok(match question {
            Question::Rows { from, count } => json(&transcript.rows(from, count)),
            Question::Messages { ids, max_text } => {
                let mut messages = Vec::with_capacity(ids.len().min(transcript.message_count()));
                for id in ids {
                    if self.cancel.is_cancelled() {
                        break;
                    }
                    messages.push(json(&transcript.message(NodeId::from_number(id), max_text)?));
                }
                Json::Array(messages)
            }
            Question::EditTexts { tool_use_id } => json(&transcript.edit_texts(&tool_use_id)?),
            Question::MessageOfTool { tool_use_id } => json(&transcript.message_of_tool(&tool_use_id)),
            Question::ShowBranch { through } => {
                let delta = transcript.show_branch(through.map(NodeId::from_number))?;
                json(&Moved { delta: Change { delta, shift: None }, info: self.info() })
            }
            Question::Sidechain { first } => json(&transcript.sidechain(NodeId::from_number(first))),
            Question::Agents {} => json(&agents_of(transcript.file())),
            Question::Position { id } => json(&transcript.position(NodeId::from_number(id))),
            Question::MessageAtLine { line } => json(&transcript.message_at_line(line)),
        })
    }
}

pub(super) fn json<T: Serialize>(value: &T) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}
