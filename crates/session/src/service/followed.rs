//! A file followed for a reader outside this crate.

use std::path::Path;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::follows::Follower;
use super::shared::Shared;
use crate::transcript::Batch;
use crate::watch::FollowId;

/// A file followed for a reader such as [`crate::Feed`], until dropped.
pub struct Followed {
    shared: Weak<Shared>,
    follow: FollowId,
    changes: watch::Sender<u64>,
}

impl Followed {
    /// Follows a file from its start.
    pub(super) fn new(shared: &Arc<Shared>, file: &Path) -> Self {
        let changes = watch::Sender::new(1);
        let follow = shared.follows.follow(&shared.watcher, file, 0, Arc::new(changes.clone()));
        Self { shared: Arc::downgrade(shared), follow, changes }
    }

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
        if let Some(shared) = self.shared.upgrade() {
            shared.follows.unfollow(&shared.watcher, self.follow);
        }
    }
}

/// Counts the changes of the file.
impl Follower for watch::Sender<u64> {
    fn changed(self: Arc<Self>) {
        self.send_modify(|count| *count += 1);
    }

    fn show(self: Arc<Self>, _: &str, _: &Batch<'_>) {}
}
