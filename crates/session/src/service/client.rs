//! Whoever asks: hands each request to a thread, and knows what can still be cancelled.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::Value as Json;

use super::desk::Desk;
use super::error::ServiceError;
use super::outlet::Outlet;
use super::pending::Pending;
use super::reader::json;
use super::request::{Ask, Open, Request};
use super::sink::Sink;
use super::{Service, lock};
use crate::cancel::Cancel;
use crate::error::chain;
use crate::id::SessionId;
use crate::live::{LiveSession, live_sessions, state_of};
use crate::search::{SearchOptions, search};
use crate::store::{Scope, Store};
use crate::watch::FollowId;

/// So long a list waits until the sessions that run are known: a disk that hangs keeps nobody from the others.
const FIRST_LOOK: Duration = Duration::from_secs(3);

/// What can still be cancelled, by request.
enum Task {
    Request(Cancel),
    Transcript(Arc<Desk>),
    Follow(Weak<Service>, FollowId),
}

impl Task {
    fn end(&self) {
        match self {
            Self::Request(cancel) => cancel.cancel(),
            Self::Transcript(desk) => desk.close(),
            Self::Follow(service, follow) => {
                if let Some(service) = service.upgrade() {
                    service.follows.unfollow(&service.watcher, *follow);
                }
            }
        }
    }
}

/// Forgets a task whose thread is done, however it ended.
struct TaskEnd {
    client: Arc<Client>,
    id: u64,
}

impl Drop for TaskEnd {
    fn drop(&mut self) {
        self.client.forget(self.id);
    }
}

/// One who asks a [`Service`], and is told through a [`Sink`].
pub struct Client {
    service: Weak<Service>,
    outlet: Arc<Outlet>,
    tasks: Mutex<HashMap<u64, Task>>,
}

impl Client {
    pub(super) fn new(service: Weak<Service>, sink: Arc<dyn Sink>) -> Arc<Self> {
        Arc::new(Self { service, outlet: Arc::new(Outlet::new(sink)), tasks: Mutex::default() })
    }

    /// Takes a request; the number of what will be said of it.
    ///
    /// # Errors
    /// [`ServiceError`]; then nothing is said of it.
    pub fn request(self: &Arc<Self>, request: Request) -> Result<u64, ServiceError> {
        match request {
            Request::Ask(ask) => self.ask(ask),
            Request::Open(open) => self.open(open),
            Request::List(place) => {
                let scope = Scope::from(place);
                self.run(move |work| {
                    let list = work.service.list(&scope, &work.cancel)?;
                    // Whoever goes on with one of them must know of the process that runs it.
                    work.service.watcher.wait_for_first_look(FIRST_LOOK);
                    json(&list)
                })
            }
            Request::Find(find) => self.run(move |work| {
                let store = Store::new(work.service.config.clone(), None);
                store.find(&SessionId::new(&find.id)).map_err(|error| chain(&error)).and_then(|file| json(&file))
            }),
            Request::One(one) => self.run(move |work| {
                let summary = work.service.with_store(|store| store.get(&one.file));
                json(&summary.filter(|summary| !summary.is_empty()))
            }),
            Request::State(of) => self.run(move |work| {
                let config = &work.service.config;
                let live = live_sessions(config).map_err(|error| chain(&error))?;
                let state = state_of(config, &SessionId::new(&of.id), &of.file, &live);
                state.map_err(|error| chain(&error)).and_then(|state| json(&state))
            }),
            Request::Mode {} => {
                let mode = self.service()?.watcher.mode();
                self.answer(json(&mode))
            }
            Request::Search(search) => {
                let (scope, options) = search.into_parts();
                self.run(move |work| work.search(&scope, &options))
            }
        }
    }

    /// Says each time that a file may have changed, whose first `offset` bytes are known, until it is cancelled: for whoever
    /// reads it himself ([`crate::Feed`]). The number of what will be said of it.
    ///
    /// # Errors
    /// [`ServiceError`]; then nothing is said of it.
    pub fn follow(&self, file: &Path, offset: u64) -> Result<u64, ServiceError> {
        let service = self.service()?;
        let request = self.outlet.begin()?;
        let mut tasks = lock(&self.tasks);
        let follow = service.follows.follow_file(&service.watcher, file, offset, &self.outlet, request);
        tasks.insert(request, Task::Follow(Weak::clone(&self.service), follow));
        Ok(request)
    }

    /// Where the transcript of a session that runs lies, or will lie once it has a prompt.
    ///
    /// # Errors
    /// [`ServiceError::Over`].
    pub fn transcript_of(&self, running: &LiveSession) -> Result<PathBuf, ServiceError> {
        Ok(running.transcript(&self.service()?.config))
    }

    /// Ends a request, or closes a transcript: nothing is said of it any more. Whether anything could still have been.
    pub fn cancel(&self, request: u64) -> bool {
        // First of all: a task that ends still says so.
        let was_open = self.outlet.cancel(request);
        let task = lock(&self.tasks).remove(&request);
        if let Some(task) = task {
            task.end();
        }
        was_open
    }

    /// Nothing is said any more, and everything is asked to end.
    pub(super) fn close(&self) {
        self.outlet.close();
        for task in lock(&self.tasks).values() {
            task.end();
        }
    }

    pub(super) fn service(&self) -> Result<Arc<Service>, ServiceError> {
        self.service.upgrade().ok_or(ServiceError::Over)
    }

    pub(super) fn outlet(&self) -> &Arc<Outlet> {
        &self.outlet
    }

    /// A transcript that could not be opened is none; a request that is done cannot be cancelled.
    pub(super) fn forget(&self, id: u64) {
        let task = lock(&self.tasks).remove(&id);
        drop(task);
    }

    /// Answers at once.
    fn answer(&self, outcome: Result<Json, String>) -> Result<u64, ServiceError> {
        let pending = self.begin()?;
        let id = pending.id();
        pending.answer(outcome);
        Ok(id)
    }

    fn begin(&self) -> Result<Pending, ServiceError> {
        Ok(Pending::new(self.outlet.begin()?, Arc::clone(&self.outlet)))
    }

    /// Runs `body` on a thread, as a task that can be cancelled until it returns; what it returns is the answer.
    fn run(
        self: &Arc<Self>,
        body: impl FnOnce(&Work) -> Result<Json, String> + Send + 'static,
    ) -> Result<u64, ServiceError> {
        let service = self.service()?;
        let crew = Arc::clone(&service.crew);
        let pending = self.begin()?;
        let (id, cancel) = (pending.id(), Cancel::new());
        lock(&self.tasks).insert(id, Task::Request(cancel.clone()));
        let end = TaskEnd { client: Arc::clone(self), id };
        let work = Work { service, outlet: Arc::clone(&self.outlet), id, cancel };
        let job = move || {
            let _end = end;
            pending.answer(body(&work));
        };
        crew.requests.run(job).inspect_err(|_| {
            // Dropping the job said so to the sink too; the caller hears it from here.
            self.outlet.cancel(id);
        })?;
        Ok(id)
    }

    fn ask(&self, ask: Ask) -> Result<u64, ServiceError> {
        let number = ask.transcript;
        let desk = match lock(&self.tasks).get(&number) {
            Some(Task::Transcript(desk)) => Arc::clone(desk),
            Some(Task::Request(_) | Task::Follow(..)) | None => return Err(ServiceError::UnknownTranscript { number }),
        };
        let pending = self.begin()?;
        let id = pending.id();
        desk.ask(pending, ask);
        Ok(id)
    }

    fn open(self: &Arc<Self>, open: Open) -> Result<u64, ServiceError> {
        let pending = self.begin()?;
        let id = pending.id();
        let desk = Desk::new(Arc::downgrade(self), Cancel::new());
        lock(&self.tasks).insert(id, Task::Transcript(Arc::clone(&desk)));
        desk.open(pending, open.file);
        Ok(id)
    }
}

/// What the thread of a request has to work with.
struct Work {
    service: Arc<Service>,
    outlet: Arc<Outlet>,
    id: u64,
    cancel: Cancel,
}

impl Work {
    fn search(&self, scope: &Scope, options: &SearchOptions) -> Result<Json, String> {
        let summaries = self.service.list(scope, &self.cancel)?;
        let sessions: Vec<_> = summaries.into_iter().map(|summary| (summary.id, summary.file)).collect();
        let report = search(&sessions, options, &self.cancel, |hit| match json(&hit) {
            Ok(hit) => self.outlet.hit(self.id, hit),
            Err(error) => tracing::debug!(error, "a hit of a search is left out"),
        });
        report.map_err(|error| chain(&error)).and_then(|report| json(&report))
    }
}
