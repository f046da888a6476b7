//! Routes the watcher's updates to open transcripts, readers and clients.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::watch;

use super::lives::Lives;
use super::open_transcript::OpenTranscript;
use super::request_sink::RequestSink;
use super::{Service, lock};
use crate::live::LiveChange;
use crate::transcript::Batch;
use crate::watch::{FollowId, Update, Watcher};

/// Followers by file, the running sessions, and the sinks that receive their changes.
#[derive(Default)]
pub(super) struct Follows {
    followers: Mutex<HashMap<FollowId, Follower>>,
    pub(super) lives: Arc<Lives>,
    listeners: Mutex<Vec<Weak<RequestSink>>>,
}

/// The receiver of a file's changes.
#[derive(Clone)]
pub(super) enum Follower {
    Transcript(Arc<OpenTranscript>),
    /// A reader of the file outside this crate; counts its changes.
    Reader(watch::Sender<u64>),
}

/// A file followed for a reader such as [`crate::Feed`], until dropped.
pub struct Followed {
    service: Weak<Service>,
    follow: FollowId,
    changes: watch::Sender<u64>,
}

impl Followed {
    /// How often the file may have changed. Starts at 1: nothing was read yet.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// How many receivers there are.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.changes.receiver_count()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if let Some(service) = self.service.upgrade() {
            service.follows.unfollow(&service.watcher, self.follow);
        }
    }
}

impl Service {
    /// Passes on what the CLI of a session shows, to open transcripts of it. Does not block.
    pub fn show(&self, session: &str, batch: &Batch<'_>) {
        self.follows.show(session, batch);
    }

    /// Follows a file from its start.
    #[must_use]
    pub fn follow(self: &Arc<Self>, file: &Path) -> Followed {
        let changes = watch::Sender::new(1);
        let follow = self.follows.follow(&self.watcher, file, 0, Follower::Reader(changes.clone()));
        Followed { service: Arc::downgrade(self), follow, changes }
    }
}

impl Follows {
    /// Passes on what the CLI of a session shows. The transcripts read it on threads of their own.
    pub(super) fn show(&self, session: &str, batch: &Batch<'_>) {
        for follower in lock(&self.followers).values() {
            if let Follower::Transcript(transcript) = follower {
                transcript.show(session, batch);
            }
        }
    }

    /// Runs on the watcher's thread.
    pub(super) fn take(&self, update: Update) {
        match update {
            Update::News { follow } => {
                let follower = lock(&self.followers).get(&follow).cloned();
                match follower {
                    Some(Follower::Transcript(transcript)) => transcript.refresh(),
                    Some(Follower::Reader(changes)) => changes.send_modify(|count| *count += 1),
                    None => {}
                }
            }
            Update::Live(change) => {
                let mut listeners = lock(&self.listeners);
                // Before other readers: what they answer to it must not reach Neovim first.
                listeners.retain(|listener| {
                    let Some(sink) = listener.upgrade() else { return false };
                    sink.live((*change).clone());
                    !sink.is_closed()
                });
                self.lives.take(*change);
            }
        }
    }

    /// Sends the running sessions to a sink, and from now on their changes.
    pub(super) fn listen(&self, sink: &Arc<RequestSink>) {
        let mut listeners = lock(&self.listeners);
        for session in self.lives.all() {
            sink.live(LiveChange { session, previous: None });
        }
        listeners.push(Arc::downgrade(sink));
    }

    /// Follows a file after its first `offset` bytes.
    pub(super) fn follow(&self, watcher: &Watcher, file: &Path, offset: u64, follower: Follower) -> FollowId {
        // Locked until the follower is in: an update may come before `follow` returns.
        let mut followers = lock(&self.followers);
        let follow = watcher.follow(file, offset);
        followers.insert(follow, follower);
        follow
    }

    pub(super) fn unfollow(&self, watcher: &Watcher, follow: FollowId) {
        lock(&self.followers).remove(&follow);
        watcher.unfollow(follow);
    }

    #[cfg(test)]
    pub(super) fn followed(&self) -> usize {
        lock(&self.followers).len()
    }
}
