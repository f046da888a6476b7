//! A client of the service that sends JSON: runs each request on a thread and tracks which can still be cancelled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use serde::Serialize;
use serde_json::Value as Json;

use super::error::ServiceError;
use super::lock::lock;
use super::open_transcript::{OpenTranscript, Owner};
use super::reader::json;
use super::request::{Ask, Open, Rename, Request};
use super::request_sink::{Pending, RequestSink};
use super::shared::Shared;
use super::sink::Sink;
use crate::cancel::Cancel;
use crate::error::{SessionError, chain};
use crate::id::SessionId;
use crate::search::{SearchOptions, SearchReport, search};
use crate::store::Scope;
use crate::title;
use crate::tool_result::EditTexts;

/// A running request or an open transcript.
enum Task {
    Request(Cancel),
    Transcript(Arc<OpenTranscript>),
}

impl Task {
    fn end(&self) {
        match self {
            Self::Request(cancel) => cancel.cancel(),
            Self::Transcript(transcript) => transcript.close(),
        }
    }
}

/// Forgets a task when its thread is done, also after a panic.
struct TaskEnd {
    client: Arc<Client>,
    id: u64,
}

impl Drop for TaskEnd {
    fn drop(&mut self) {
        self.client.forget(self.id);
    }
}

/// Sends requests to a [`super::Service`]; the replies go to a [`Sink`].
pub struct Client {
    shared: Weak<Shared>,
    sink: Arc<RequestSink>,
    tasks: Mutex<HashMap<u64, Task>>,
}

impl Client {
    pub(super) fn new(shared: Weak<Shared>, sink: Arc<dyn Sink>) -> Arc<Self> {
        Arc::new(Self { shared, sink: Arc::new(RequestSink::new(sink)), tasks: Mutex::default() })
    }

    /// Starts a request and returns its number, which all its news carry.
    ///
    /// # Errors
    /// [`ServiceError`]; then the sink receives nothing for this request.
    pub fn request(self: &Arc<Self>, request: Request) -> Result<u64, ServiceError> {
        match request {
            Request::Ask(ask) => self.ask(ask),
            Request::Open(open) => self.open(open),
            Request::List(place) => {
                let scope = Scope::from(place);
                self.run(move |work| work.shared.named_now(&scope, &work.cancel))
            }
            Request::Board(of) => self.run(move |work| work.shared.board_now(*of, &work.cancel)),
            Request::Lines(of) => self.run(move |work| Ok(work.shared.lines_now(of))),
            Request::Process(of) => self.run(move |work| Ok(work.shared.take_process(of.pid))),
            Request::Find(find) => self.run(move |work| work.shared.find_now(&SessionId::new(&find.id))),
            Request::Stored(of) => self.run(move |work| work.shared.stored_now(&SessionId::new(&of.id), of.since)),
            Request::Rename(Rename { id, file, title: to, is_running }) => {
                self.run(move |_| title::rename(&file, &SessionId::new(&id), &to, is_running))
            }
            Request::Kept(of) => self.run(move |work| work.shared.kept_now(of)),
            Request::Mode {} => {
                let mode = self.shared()?.watcher.mode();
                self.answer(json(&mode))
            }
            Request::Search(search) => {
                let (scope, options) = search.into_parts();
                self.run(move |work| work.search(&scope, &options))
            }
        }
    }

    /// Cancels a request or closes a transcript: the sink receives nothing more for it. Returns whether it was still
    /// open.
    pub fn cancel(&self, request: u64) -> bool {
        // The sink comes first, so that a task that ends now stays silent.
        let was_open = self.sink.cancel(request);
        let task = lock(&self.tasks).remove(&request);
        if let Some(task) = task {
            task.end();
        }
        was_open
    }

    /// Silences the sink and asks all tasks to end.
    pub(super) fn close(&self) {
        self.sink.close();
        for task in lock(&self.tasks).values() {
            task.end();
        }
    }

    fn shared(&self) -> Result<Arc<Shared>, ServiceError> {
        self.shared.upgrade().ok_or(ServiceError::Over)
    }

    pub(super) fn sink(&self) -> &Arc<RequestSink> {
        &self.sink
    }

    /// Answers without a thread.
    fn answer(&self, outcome: Result<Json, String>) -> Result<u64, ServiceError> {
        let pending = self.begin()?;
        let id = pending.id();
        pending.answer(outcome);
        Ok(id)
    }

    fn begin(&self) -> Result<Pending, ServiceError> {
        Ok(Pending::new(self.sink.begin()?, Arc::clone(&self.sink)))
    }

    /// Runs `body` on a thread, cancellable until it returns; its result is the answer.
    fn run<T: Serialize>(
        self: &Arc<Self>,
        body: impl FnOnce(&Work) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<u64, ServiceError> {
        let shared = self.shared()?;
        let pools = Arc::clone(&shared.pools);
        let pending = self.begin()?;
        let (id, cancel) = (pending.id(), Cancel::new());
        lock(&self.tasks).insert(id, Task::Request(cancel.clone()));
        let end = TaskEnd { client: Arc::clone(self), id };
        let work = Work { shared, sink: Arc::clone(&self.sink), id, cancel };
        let job = move || {
            let _end = end;
            pending.answer(body(&work).map_err(|error| chain(&error)).and_then(|answer| json(&answer)));
        };
        pools.requests.run(job).inspect_err(|_| {
            // The dropped job has answered with an error; the caller gets this one instead.
            self.sink.cancel(id);
        })?;
        Ok(id)
    }

    /// Takes the texts of a change that the last question for ended calls of an open transcript has told.
    #[must_use]
    pub fn take_texts(&self, transcript: u64, call: &str) -> Option<EditTexts> {
        self.transcript(transcript).ok()?.take_texts(call)
    }

    fn transcript(&self, number: u64) -> Result<Arc<OpenTranscript>, ServiceError> {
        match lock(&self.tasks).get(&number) {
            Some(Task::Transcript(transcript)) => Ok(Arc::clone(transcript)),
            Some(Task::Request(_)) | None => Err(ServiceError::UnknownTranscript { number }),
        }
    }

    fn ask(&self, ask: Ask) -> Result<u64, ServiceError> {
        let transcript = self.transcript(ask.transcript)?;
        let pending = self.begin()?;
        let id = pending.id();
        transcript.ask(pending, ask);
        Ok(id)
    }

    fn open(self: &Arc<Self>, open: Open) -> Result<u64, ServiceError> {
        let pending = self.begin()?;
        let id = pending.id();
        let session = open.file.file_stem().filter(|_| open.shows).map(|id| SessionId::new(&id.to_string_lossy()));
        let (owner, shared) = (Arc::downgrade(self), Weak::clone(&self.shared));
        let transcript = OpenTranscript::new(owner, shared, Cancel::new(), session);
        lock(&self.tasks).insert(id, Task::Transcript(Arc::clone(&transcript)));
        transcript.open(pending, open.file);
        Ok(id)
    }
}

impl Owner for Client {
    fn sink(&self) -> &RequestSink {
        &self.sink
    }

    fn forget(&self, id: u64) {
        let task = lock(&self.tasks).remove(&id);
        drop(task);
    }
}

/// Context of a request's thread.
struct Work {
    shared: Arc<Shared>,
    sink: Arc<RequestSink>,
    id: u64,
    cancel: Cancel,
}

impl Work {
    fn search(&self, scope: &Scope, options: &SearchOptions) -> Result<SearchReport, SessionError> {
        let summaries = self.shared.summaries(scope, &self.cancel)?;
        let sessions: Vec<_> = summaries.into_iter().map(|summary| (summary.id, summary.file)).collect();
        search(&sessions, options, &self.cancel, |hit| match json(&hit) {
            Ok(hit) => self.sink.hit(self.id, hit),
            Err(error) => tracing::debug!(error, "a search hit could not be sent"),
        })
    }
}
