//! Routes the watcher's updates to open transcripts, readers and clients.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use super::lives::Lives;
use super::lock::lock;
use super::request_sink::RequestSink;
use crate::live::{LiveChange, LiveSession};
use crate::transcript::Batch;
use crate::watch::{FollowId, Update, Watcher};

/// Followers by file, the running sessions, and the sinks that receive their changes.
#[derive(Default)]
pub(super) struct Follows {
    followers: Mutex<HashMap<FollowId, Arc<dyn Follower>>>,
    pub(super) lives: Arc<Lives>,
    listeners: Mutex<Vec<Weak<RequestSink>>>,
}

/// The receiver of a file's changes.
pub(super) trait Follower: Send + Sync {
    /// The file or its subagents may have changed.
    fn changed(self: Arc<Self>);

    /// The CLI of a session shows a batch of a message.
    fn show(self: Arc<Self>, session: &str, batch: &Batch<'_>);
}

impl Follows {
    /// Passes on what the CLI of a session shows. The transcripts read it on threads of their own.
    pub(super) fn show(&self, session: &str, batch: &Batch<'_>) {
        for follower in lock(&self.followers).values() {
            Arc::clone(follower).show(session, batch);
        }
    }

    /// Runs on the watcher's thread.
    pub(super) fn take(&self, update: Update) {
        match update {
            Update::News { follow } => {
                let follower = lock(&self.followers).get(&follow).cloned();
                if let Some(follower) = follower {
                    follower.changed();
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

    /// The running sessions; among them each that a listener has heard of.
    pub(super) fn running(&self) -> Vec<LiveSession> {
        let _told = lock(&self.listeners); // they hear of a change before it is stored
        self.lives.all()
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
    pub(super) fn follow(&self, watcher: &Watcher, file: &Path, offset: u64, follower: Arc<dyn Follower>) -> FollowId {
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
