//! This crate's access to sessions: the service, the running sessions, and the channels of transcripts.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use claude_ide_session::{Lives, Service, ServiceError, SessionId};
use tokio::sync::Semaphore;

use crate::channel::Channel;

/// Limit of threads that read transcripts for sockets.
const READERS: usize = 4;
/// Unused channels that are kept: for the way from a list to a session, and for reloads.
const KEPT_CHANNELS: usize = 3;

/// Access to sessions.
pub(crate) struct Sessions {
    /// If it has ended, nothing is found any more.
    service: Weak<Service>,
    pub(crate) lives: Arc<Lives>,
    channels: Mutex<Channels>,
    readers: Arc<Semaphore>,
}

#[derive(Default)]
struct Channels {
    open: HashMap<PathBuf, Weak<Channel>>,
    kept: VecDeque<Arc<Channel>>,
}

/// A panic cannot leave this state half-changed, so a poisoned lock is fine.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    pub(crate) fn new(service: &Arc<Service>) -> Self {
        Self {
            service: Arc::downgrade(service),
            lives: service.lives(),
            channels: Mutex::default(),
            readers: Arc::new(Semaphore::new(READERS)),
        }
    }

    pub(crate) fn service(&self) -> Result<Arc<Service>, ServiceError> {
        self.service.upgrade().ok_or(ServiceError::Over)
    }

    /// The transcript of a session; `None` without a valid id or transcript. That of a running session may appear with
    /// its first prompt.
    pub(crate) async fn find(&self, id: &str) -> Option<PathBuf> {
        if !is_id(id) {
            return None;
        }
        let service = self.service().ok()?;
        match service.find(SessionId::new(id)).await {
            Ok(file) => Some(file),
            Err(_) => Some(self.lives.of(id)?.transcript()),
        }
    }

    /// The channel of a transcript, shared by its readers.
    pub(crate) fn channel(&self, file: &Path) -> Option<Arc<Channel>> {
        let mut channels = lock(&self.channels);
        channels.open.retain(|_, channel| channel.strong_count() > 0);
        let channel = match channels.open.get(file).and_then(Weak::upgrade) {
            Some(channel) => channel,
            None => {
                let followed = self.service().ok()?.follow(file);
                let channel = Arc::new(Channel::new(file.to_owned(), followed, Arc::clone(&self.readers)));
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
}

/// Whether this can be a session's id: made by the CLI, or of the same form.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
