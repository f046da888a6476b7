//! The sessions of agents that speak HTTP, as far as one matters here: a request runs on one connection, and that it is
//! cancelled is told on another one of the same session. MCP, "Session Management".
//!
//! A session is a name and nothing else: the token lets in, so one that this server never gave is as good. Invariant: a name
//! is known while a connection of it is there, and what it is told is bounded.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::{TryRng as _, rngs::SysRng};
use tokio::sync::mpsc;

use crate::editor::ClientId;

const NAME_BYTES: usize = 18;
/// A longer name is none of ours, and is not kept.
const MAX_NAME_BYTES: usize = 128;
/// So much may wait for one connection; it takes what comes at once.
const MAX_WAITING: usize = 32;

/// How each connection of a session is told.
type Connections = BTreeMap<ClientId, mpsc::Sender<Arc<str>>>;

/// Who is there of each session.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    here: Mutex<BTreeMap<Box<str>, Connections>>,
}

/// The place of a connection in its session; it is given up when this is dropped.
pub(super) struct Place<'s> {
    sessions: &'s Sessions,
    name: Box<str>,
    client: ClientId,
    told: mpsc::Receiver<Arc<str>>,
}

impl Sessions {
    fn here(&self) -> MutexGuard<'_, BTreeMap<Box<str>, Connections>> {
        // Every change is complete before anything that could panic.
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name that nobody guesses; none where the system has no random bytes.
    pub(super) fn new_name() -> Option<Box<str>> {
        let mut bytes = [0_u8; NAME_BYTES];
        SysRng.try_fill_bytes(&mut bytes).ok()?;
        Some(URL_SAFE_NO_PAD.encode(bytes).into())
    }

    /// Whether a client may call its session so. MCP: visible ASCII alone.
    pub(crate) fn is_name(name: &[u8]) -> bool {
        (1..=MAX_NAME_BYTES).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic)
    }

    pub(super) fn join(&self, name: &str, client: ClientId) -> Place<'_> {
        let (tell, told) = mpsc::channel(MAX_WAITING);
        self.here().entry(name.into()).or_default().insert(client, tell);
        Place { sessions: self, name: name.into(), client, told }
    }
}

impl Place<'_> {
    /// Resolves with what another connection of the session passed on.
    pub(super) async fn told(&mut self) -> Option<Arc<str>> {
        self.told.recv().await
    }

    /// Tells all other connections of the session.
    pub(super) fn pass_on(&self, message: &str) {
        let message: Arc<str> = message.into();
        let here = self.sessions.here();
        for (client, tell) in here.get(&self.name).into_iter().flatten() {
            if *client != self.client && tell.try_send(Arc::clone(&message)).is_err() {
                tracing::debug!(%client, "a connection was told too much at once");
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut here = self.sessions.here();
        if let Some(clients) = here.get_mut(&self.name) {
            clients.remove(&self.client);
            if clients.is_empty() {
                here.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Identity;

    #[test]
    fn what_one_is_told_reaches_the_others_of_its_session_alone() {
        let identity = Identity::generate().unwrap();
        let sessions = Sessions::default();
        let (first, second, other) = (identity.next_client(), identity.next_client(), identity.next_client());
        let one = sessions.join("a", first);
        let mut two = sessions.join("a", second);
        let mut three = sessions.join("b", other);
        one.pass_on("cancelled");
        assert_eq!(two.told.try_recv().ok().as_deref(), Some("cancelled"));
        assert!(three.told.try_recv().is_err());
        drop((one, two, three));
        assert!(sessions.here().is_empty(), "nothing is kept of those that left");
    }

    #[test]
    fn a_name_is_short_and_can_be_seen() {
        assert!(Sessions::is_name(Sessions::new_name().unwrap().as_bytes()));
        assert!(!Sessions::is_name(b""));
        assert!(!Sessions::is_name(b"a b"));
        assert!(!Sessions::is_name(&[b'a'; MAX_NAME_BYTES + 1]));
    }
}
