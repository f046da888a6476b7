//! Hands each request to a thread, and what the watcher saw to whom it concerns.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use claude_ide_session::{
    Cancel, ConfigDir, FollowId, From, Scope, SearchOptions, SessionId, Store, Summary, Transcript, Update, Watcher,
    live_sessions, search, state_of,
};
use serde_json::Value as Json;

use super::crew::Crew;
use super::pending::Pending;
use super::request::{Ask, Open, Request, SessionsOptions};
use super::transcript::{Inbox, Line, Reader, json, line};
use crate::error::{Error, chain};
use crate::mailbox::Mailbox;
use crate::queue::Queue;

/// What can still be cancelled, by request.
struct Task {
    cancel: Cancel,
    /// The line to an open transcript.
    line: Option<Line>,
}

impl Task {
    fn end(&self) {
        self.cancel.cancel();
        if let Some(line) = &self.line {
            line.close();
        }
    }
}

/// Forgets a task whose thread is done, however it ended.
struct TaskEnd {
    service: Arc<Service>,
    id: u64,
}

impl Drop for TaskEnd {
    fn drop(&mut self) {
        lock(&self.service.tasks).remove(&self.id);
    }
}

/// Everything that goes on for sessions.
pub(super) struct Service {
    queue: Arc<Queue>,
    /// Made on the thread of the first list: it reads a file.
    store: Mutex<Option<Store>>,
    cache_file: PathBuf,
    config: ConfigDir,
    tasks: Mutex<HashMap<u64, Task>>,
    follows: Arc<Follows>,
    crew: Arc<Crew>,
    watcher: Watcher,
}

/// Who reads the transcripts that are followed.
#[derive(Default)]
struct Follows {
    lines: Mutex<HashMap<FollowId, Line>>,
    over: AtomicBool,
}

/// None of these maps is ever left half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    pub(super) fn start(queue: Arc<Queue>, options: SessionsOptions) -> Result<Arc<Self>, Error> {
        let config = ConfigDir::at(options.config_dir);
        let follows = Arc::<Follows>::default();
        let (news, mail) = (Arc::clone(&follows), Arc::clone(&queue));
        let watcher = Watcher::start(config.clone(), move |update| news.take(update, &mail))?;
        Ok(Arc::new(Self {
            queue,
            store: Mutex::default(),
            cache_file: options.cache_file,
            config,
            tasks: Mutex::default(),
            follows,
            crew: Arc::default(),
            watcher,
        }))
    }

    pub(super) fn crew(&self) -> Arc<Crew> {
        Arc::clone(&self.crew)
    }

    /// Asks everything that goes on to end.
    pub(super) fn cancel_all(&self) {
        self.follows.over.store(true, Ordering::Release);
        lock(&self.follows.lines).clear();
        for (_, task) in lock(&self.tasks).drain() {
            task.end();
        }
    }

    pub(super) fn cancel(&self, request: u64) -> bool {
        // First of all: a task that ends still says so.
        let was_open = self.queue.mail(|mail| mail.close(request));
        if let Some(task) = lock(&self.tasks).remove(&request) {
            task.end();
        }
        was_open
    }

    pub(super) fn request(self: &Arc<Self>, request: Request) -> Result<u64, Error> {
        match request {
            Request::Ask(ask) => self.ask(ask),
            Request::Open(open) => self.open(open),
            Request::List(place) => {
                let scope = Scope::from(place);
                self.run(move |service, _, cancel| service.list(&scope, cancel).map(|list| json(&list)))
            }
            Request::Find(find) => self.run(move |service, _, _| {
                let store = Store::new(service.config.clone(), None);
                store.find(&SessionId::new(&find.id)).map(|file| json(&file)).map_err(|error| chain(&error))
            }),
            Request::State(of) => self.run(move |service, _, _| {
                let live = live_sessions(&service.config).map_err(|error| chain(&error))?;
                let state = state_of(&service.config, &SessionId::new(&of.id), &of.file, &live);
                state.map(|state| json(&state)).map_err(|error| chain(&error))
            }),
            Request::Mode {} => {
                let pending = self.begin()?;
                let id = pending.id();
                pending.answer(Ok(json(&self.watcher.mode())));
                Ok(id)
            }
            Request::Search(search) => {
                let (scope, options) = search.into_parts();
                self.run(move |service, id, cancel| service.search(id, &scope, &options, cancel))
            }
        }
    }

    fn begin(&self) -> Result<Pending, Error> {
        let id = self.queue.mail(Mailbox::open).ok_or(Error::Busy)?;
        Ok(Pending::new(id, Arc::clone(&self.queue)))
    }

    /// Runs `body` on a thread, as a task that can be cancelled until it returns.
    fn spawn(
        self: &Arc<Self>,
        line: Option<Line>,
        body: impl FnOnce(&Self, Pending, Cancel) + Send + 'static,
    ) -> Result<u64, Error> {
        let pending = self.begin()?;
        let id = pending.id();
        let cancel = Cancel::new();
        lock(&self.tasks).insert(id, Task { cancel: cancel.clone(), line });
        let end = TaskEnd { service: Arc::clone(self), id };
        self.crew.spawn(move || body(&end.service, pending, cancel)).inspect_err(|_| {
            // Dropping the task said so in the mail too; the caller hears it from here.
            self.queue.mail(|mail| mail.close(id));
        })?;
        Ok(id)
    }

    /// Runs `body` on a thread; what it returns is the answer.
    fn run(
        self: &Arc<Self>,
        body: impl FnOnce(&Self, u64, &Cancel) -> Result<Json, String> + Send + 'static,
    ) -> Result<u64, Error> {
        self.spawn(None, move |service, pending, cancel| {
            let outcome = body(service, pending.id(), &cancel);
            pending.answer(outcome);
        })
    }

    fn with_store<T>(&self, body: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = lock(&self.store);
        body(store.get_or_insert_with(|| Store::new(self.config.clone(), Some(self.cache_file.clone()))))
    }

    /// One list at a time: the second one finds what the first one read.
    fn list(&self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Summary>, String> {
        self.with_store(|store| {
            let summaries = store.list(scope, cancel).map_err(|error| chain(&error))?;
            if let Err(error) = store.save() {
                tracing::debug!(error = %chain(&error), "what was read of the sessions is not remembered");
            }
            Ok(summaries)
        })
    }

    fn search(&self, id: u64, scope: &Scope, options: &SearchOptions, cancel: &Cancel) -> Result<Json, String> {
        let summaries = self.list(scope, cancel)?;
        let sessions: Vec<_> = summaries.into_iter().map(|summary| (summary.id, summary.file)).collect();
        let report = search(&sessions, options, cancel, |hit| {
            let hit = json(&hit);
            self.queue.mail(|mail| mail.hit(id, hit));
        });
        report.map(|report| json(&report)).map_err(|error| chain(&error))
    }

    fn ask(&self, ask: Ask) -> Result<u64, Error> {
        let number = ask.transcript;
        let line = lock(&self.tasks).get(&number).and_then(|task| task.line.clone());
        let line = line.ok_or(Error::UnknownTranscript { number })?;
        let pending = self.begin()?;
        let id = pending.id();
        line.ask(pending, ask);
        Ok(id)
    }

    fn open(self: &Arc<Self>, open: Open) -> Result<u64, Error> {
        let (line, inbox) = line();
        self.spawn(Some(line.clone()), move |service, pending, cancel| {
            service.read(open.file, pending, cancel, line, &inbox);
        })
    }

    /// The life of an open transcript.
    fn read(&self, file: PathBuf, pending: Pending, cancel: Cancel, line: Line, inbox: &Inbox) {
        let id = pending.id();
        let reader = match Reader::open(file, cancel.clone()) {
            Ok(reader) => reader,
            Err(error) => return pending.answer(Err(chain(&error))),
        };
        let info = reader.info();
        self.queue.mail(|mail| mail.opened(id, info));
        if !reader.is_complete() {
            self.index_whole(&reader, cancel, line.clone());
        }
        let follow = self.follow(&reader, line);
        reader.run(inbox, |change, info| self.queue.mail(|mail| mail.change(id, change, info)));
        if let Some(follow) = follow {
            lock(&self.follows.lines).remove(&follow);
            self.watcher.unfollow(follow);
        }
    }

    /// Indexes all of a file whose end is shown, on a thread of its own.
    fn index_whole(&self, reader: &Reader, cancel: Cancel, line: Line) {
        let file = reader.file();
        let index = move || match Transcript::open(file, &cancel) {
            Ok(whole) => line.whole(whole),
            Err(error) => tracing::warn!(error = %chain(&error), "a transcript could not be read in full"),
        };
        if let Err(error) = self.crew.spawn(index) {
            tracing::warn!(%error, "a transcript is not read in full");
        }
    }

    fn follow(&self, reader: &Reader, line: Line) -> Option<FollowId> {
        // Locked until the line is in: an update may come before `follow` returns.
        let mut lines = lock(&self.follows.lines);
        if self.follows.over.load(Ordering::Acquire) {
            return None;
        }
        match self.watcher.follow(reader.file(), From::Offset(reader.offset())) {
            Ok(follow) => {
                lines.insert(follow, line);
                Some(follow)
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "a transcript is not followed");
                None
            }
        }
    }
}

impl Follows {
    /// On the watcher's thread.
    fn take(&self, update: Update, queue: &Queue) {
        match update {
            Update::Lines { follow, .. } => {
                if let Some(line) = lock(&self.lines).get(&follow) {
                    line.refresh();
                }
            }
            Update::Live(change) if !self.over.load(Ordering::Acquire) => queue.mail(|mail| mail.live(change)),
            _ => {}
        }
    }
}
