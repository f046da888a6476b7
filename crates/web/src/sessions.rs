//! The sessions as this crate asks of them: one client of the service for all connections, the running ones, the channels.
//!
//! The service may end before: then nothing is found any more. Invariant: whoever stops waiting for an answer takes the request back.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use claude_ide_session::{Activity, Client, LiveSession, News, Request, Service, SessionId, Sink, Summary};
use serde_json::{Value as Json, json};
use tokio::sync::{Semaphore, oneshot, watch};

use crate::channel::Channel;

/// Threads that read transcripts for the sockets at one time.
const READERS: usize = 4;
/// Channels that are kept though nobody reads them: a list that leads to a session, a page that reloads.
const KEPT_CHANNELS: usize = 3;
/// Of so many processes it is remembered which session they had before.
const MAX_MOVES: usize = 1024;

/// All that is asked of sessions.
pub(crate) struct Sessions {
    service: Weak<Service>,
    client: Arc<Client>,
    desk: Arc<Desk>,
    channels: Mutex<Channels>,
    pub(crate) readers: Arc<Semaphore>,
}

#[derive(Default)]
struct Channels {
    open: HashMap<PathBuf, Weak<Channel>>,
    kept: VecDeque<Arc<Channel>>,
}

/// What the service tells.
#[derive(Default)]
struct Desk {
    requests: Mutex<Requests>,
    live: Mutex<Live>,
    /// How often what runs has changed.
    lives: watch::Sender<u64>,
}

#[derive(Default)]
struct Requests {
    waiting: HashMap<u64, oneshot::Sender<Result<Json, String>>>,
    follows: HashMap<u64, watch::Sender<u64>>,
    /// Of requests whose number nobody knows yet.
    early: HashMap<u64, Result<Json, String>>,
    early_touched: HashSet<u64>,
}

#[derive(Default)]
struct Live {
    by_pid: BTreeMap<u32, LiveSession>,
    /// Which session a process went on with, by the one before, the newest last.
    moves: VecDeque<(SessionId, SessionId)>,
    /// Sessions that a process ran and that ended with it, the newest last.
    gone: VecDeque<SessionId>,
}

/// Nothing that is locked so is ever left half-changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sink for Desk {
    fn tell(&self, news: News) {
        match news {
            News::Reply { request, outcome } => {
                let mut requests = lock(&self.requests);
                match requests.waiting.remove(&request) {
                    Some(waiting) => drop(waiting.send(outcome)),
                    None => drop(requests.early.insert(request, outcome)),
                }
            }
            News::Touched { request } => {
                let mut requests = lock(&self.requests);
                match requests.follows.get(&request) {
                    Some(touched) => touched.send_modify(|count| *count += 1),
                    None => drop(requests.early_touched.insert(request)),
                }
            }
            News::Live(change) => {
                let mut live = lock(&self.live);
                let session = change.session;
                if let Some(previous) = change.previous {
                    if live.moves.len() >= MAX_MOVES {
                        live.moves.pop_front();
                    }
                    live.moves.push_back((previous, session.id.clone()));
                }
                if session.state.activity == Activity::Gone {
                    live.by_pid.remove(&session.pid);
                    if live.gone.len() >= MAX_MOVES {
                        live.gone.pop_front();
                    }
                    live.gone.push_back(session.id);
                } else {
                    live.gone.retain(|gone| *gone != session.id);
                    live.by_pid.insert(session.pid, session);
                }
                drop(live);
                self.lives.send_modify(|count| *count += 1);
            }
            News::Hit { .. } | News::Change { .. } => {}
        }
    }

    fn forget(&self, request: u64) {
        let mut requests = lock(&self.requests);
        requests.waiting.remove(&request);
        requests.early.remove(&request);
        requests.follows.remove(&request);
        requests.early_touched.remove(&request);
    }
}

/// Takes a request back that nobody waits for any more.
struct Asked<'a> {
    client: &'a Arc<Client>,
    request: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.client.cancel(self.request);
    }
}

impl Sessions {
    pub(crate) fn new(service: &Arc<Service>) -> Arc<Self> {
        let desk = Arc::<Desk>::default();
        Arc::new(Self {
            service: Arc::downgrade(service),
            client: service.join(Arc::<Desk>::clone(&desk)),
            desk,
            channels: Mutex::default(),
            readers: Arc::new(Semaphore::new(READERS)),
        })
    }

    /// Nothing is heard any more.
    pub(crate) fn leave(&self) {
        if let Some(service) = self.service.upgrade() {
            service.leave(&self.client);
        }
    }

    /// Every session there is, as the service lists them.
    pub(crate) async fn list(&self, project: Option<&str>) -> Result<Json, String> {
        let place = match project {
            Some(folder) => json!({ "scope": "folder", "folder": folder }),
            None => json!({ "scope": "all" }),
        };
        self.ask(json!({ "list": place })).await
    }

    /// What a list says of the session of a transcript; nothing, where nobody said anything in it.
    pub(crate) async fn summary(&self, file: &Path) -> Result<Option<Summary>, String> {
        let summary = self.ask(json!({ "one": { "file": file } })).await?;
        serde_json::from_value(summary).map_err(|error| error.to_string())
    }

    /// The transcript of a session; nothing if there is none, or that is no id. Of one that runs it may come with its first prompt.
    pub(crate) async fn find(&self, id: &str) -> Option<PathBuf> {
        if !is_id(id) {
            return None;
        }
        match self.ask(json!({ "find": { "id": id } })).await {
            Ok(Json::String(file)) => Some(file.into()),
            Ok(_) | Err(_) => self.client.transcript_of(&self.running(id)?).ok(),
        }
    }

    /// What a session is doing, worked out from its transcript where no record tells.
    pub(crate) async fn state(&self, id: &str, file: &Path) -> Option<Json> {
        self.ask(json!({ "state": { "id": id, "file": file } })).await.ok()
    }

    async fn ask(&self, request: Json) -> Result<Json, String> {
        let request: Request = serde_json::from_value(request).map_err(|error| error.to_string())?;
        let (answered, answer) = oneshot::channel();
        let number = self.client.request(request).map_err(|error| error.to_string())?;
        let _asked = Asked { client: &self.client, request: number };
        {
            let mut requests = lock(&self.desk.requests);
            if let Some(outcome) = requests.early.remove(&number) {
                return outcome;
            }
            requests.waiting.insert(number, answered);
        }
        answer.await.unwrap_or_else(|_| Err("sessions are not watched any more".to_owned()))
    }

    /// The channel of a transcript: the same for all who read it.
    pub(crate) fn channel(&self, file: &Path) -> Option<Arc<Channel>> {
        let mut channels = lock(&self.channels);
        channels.open.retain(|_, channel| channel.strong_count() > 0);
        let channel = match channels.open.get(file).and_then(Weak::upgrade) {
            Some(channel) => channel,
            None => {
                let channel = Arc::new(self.follow(file)?);
                channels.open.insert(file.to_owned(), Arc::downgrade(&channel));
                channel
            }
        };
        channels.kept.retain(|kept| !Arc::ptr_eq(kept, &channel));
        channels.kept.push_back(Arc::clone(&channel));
        let surplus = (channels.kept.len() > KEPT_CHANNELS).then(|| channels.kept.pop_front());
        drop(channels);
        drop(surplus);
        Some(channel)
    }

    fn follow(&self, file: &Path) -> Option<Channel> {
        let touched = watch::Sender::new(1);
        let request = self.client.follow(file, 0).ok()?;
        let mut requests = lock(&self.desk.requests);
        if requests.early_touched.remove(&request) {
            touched.send_modify(|count| *count += 1);
        }
        requests.follows.insert(request, touched.clone());
        drop(requests);
        let client = Arc::downgrade(&self.client);
        let end = move || {
            if let Some(client) = client.upgrade() {
                client.cancel(request);
            }
        };
        Some(Channel::new(file.to_owned(), touched, Arc::clone(&self.readers), end))
    }

    /// Says when something that runs has changed.
    pub(crate) fn lives(&self) -> watch::Receiver<u64> {
        self.desk.lives.subscribe()
    }

    /// The process that runs a session; of several, the one that was active last.
    pub(crate) fn running(&self, id: &str) -> Option<LiveSession> {
        let live = lock(&self.desk.live);
        let running = live.by_pid.values().filter(|session| session.id.as_str() == id);
        running.max_by_key(|session| session.state.since).cloned()
    }

    /// The session that the process of this one had before.
    pub(crate) fn came_from(&self, id: &str) -> Option<SessionId> {
        let live = lock(&self.desk.live);
        live.moves.iter().rev().find(|(_, next)| next.as_str() == id).map(|(before, _)| before.clone())
    }

    /// Whether a process ran a session since this began, and ended.
    pub(crate) fn has_gone(&self, id: &str) -> bool {
        lock(&self.desk.live).gone.iter().any(|gone| gone.as_str() == id)
    }

    /// All that run.
    pub(crate) fn all_running(&self) -> Vec<LiveSession> {
        lock(&self.desk.live).by_pid.values().cloned().collect()
    }

    /// The session that the process of this one went on with, if no process runs this one any more.
    pub(crate) fn went_on_as(&self, id: &str) -> Option<SessionId> {
        let live = lock(&self.desk.live);
        if live.by_pid.values().any(|session| session.id.as_str() == id) {
            return None;
        }
        let next = live.moves.iter().rev().find(|(before, _)| before.as_str() == id).map(|(_, next)| next.clone())?;
        live.by_pid.values().any(|session| session.id == next).then_some(next)
    }
}

/// Whether this can be a session's id: what the CLI makes, or a name of that kind.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
