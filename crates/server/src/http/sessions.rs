//! The sessions of HTTP clients. MCP, "Session Management".
//!
//! Invariants: each session takes a place of its endpoint; if none is free, the session that has been without a
//! connection longest is ended; all sessions end with the server.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use claude_ide_http::Secret;
use tokio::{
    sync::OwnedSemaphorePermit,
    task::JoinSet,
    time::{timeout, timeout_at},
};

use super::session::{Names, Session};
use crate::{endpoint::Endpoint, identity::Access, routes::Refusal, shared::Shared};

const NAME_BYTES: usize = 18;
/// A longer name is not one of ours and is not stored.
const MAX_NAME_BYTES: usize = 128;
/// Time for a session to end when its place is needed.
const ROOM_TIME: Duration = Duration::from_secs(1);

/// The named sessions, and the tasks that serve all of them.
#[derive(Default)]
pub(crate) struct Sessions {
    named: Mutex<BTreeMap<Box<str>, Arc<Session>>>,
    tasks: Mutex<JoinSet<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave this state half-changed, so a poisoned lock is fine.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    /// Whether a client may use this name. MCP: only visible ASCII.
    pub(super) fn is_name(name: &[u8]) -> bool {
        (1..=MAX_NAME_BYTES).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic)
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Session>> {
        lock(&self.named).get(name).cloned()
    }

    /// Starts a session.
    ///
    /// # Errors
    /// [`Refusal::TooManyClients`].
    pub(super) async fn begin(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        endpoint: &Arc<Endpoint>,
        access: &Access,
        name: Option<Box<str>>,
    ) -> Result<Arc<Session>, Refusal> {
        let place = self.place(endpoint).await.ok_or(Refusal::TooManyClients)?;
        let (session, server) = Session::new(shared, Arc::clone(self), endpoint, access, name.clone());
        if let Some(name) = name {
            lock(&self.named).insert(name, Arc::clone(&session));
        }
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            server.await;
            drop(place);
        });
        Ok(session)
    }

    async fn place(&self, endpoint: &Arc<Endpoint>) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&endpoint.places).try_acquire_owned() {
            return Some(place);
        }
        let alone = |session: &&Arc<Session>| session.is_behind(endpoint) && session.alone_since().is_some();
        let longest = lock(&self.named).values().filter(alone).min_by_key(|session| session.alone_since()).cloned();
        longest?.end();
        timeout(ROOM_TIME, Arc::clone(&endpoint.places).acquire_owned()).await.ok()?.ok()
    }

    /// Waits until all sessions have ended, which they do when the server stops. At the deadline the rest is aborted.
    pub(crate) async fn ended(&self, deadline: Instant) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        let rest = async { while tasks.join_next().await.is_some() {} };
        if timeout_at(deadline.into(), rest).await.is_err() {
            tracing::warn!("some sessions did not end in time");
        }
    }
}

impl Names for Sessions {
    fn name(&self, session: &Arc<Session>) {
        if session.name().is_none()
            && let Ok(name) = Secret::random::<NAME_BYTES>()
        {
            let name: Box<str> = name.reveal().into();
            if session.set_name(name.clone()) {
                lock(&self.named).insert(name, Arc::clone(session));
            }
        }
    }

    fn forget(&self, session: &Arc<Session>) {
        let mut named = lock(&self.named);
        if let Some(name) = session.name()
            && named.get(name).is_some_and(|known| Arc::ptr_eq(known, session))
        {
            named.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_can_be_seen() {
        assert!(Sessions::is_name(b"a-b"));
        assert!(!Sessions::is_name(b""));
        assert!(!Sessions::is_name(b"a b"));
        assert!(!Sessions::is_name(&[b'a'; MAX_NAME_BYTES + 1]));
    }
}
