//! What the watcher saw, handed to whom it concerns.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use super::desk::Desk;
use super::lock;
use super::outlet::Outlet;
use super::reader::Reader;
use crate::live::{LiveChange, LiveSession};
use crate::state::Activity;
use crate::watch::{FollowId, Update, Watcher};

/// The files that are followed, and who hears of running sessions.
#[derive(Default)]
pub(super) struct Follows {
    followers: Mutex<HashMap<FollowId, Follower>>,
    live: Mutex<Live>,
}

/// Whom a change of a file concerns.
#[derive(Clone)]
enum Follower {
    /// An open transcript.
    Desk(Arc<Desk>),
    /// Whoever reads the file himself.
    Outlet(Arc<Outlet>, u64),
}

#[derive(Default)]
struct Live {
    /// By process, for whoever comes later.
    running: BTreeMap<u32, LiveSession>,
    listeners: Vec<Weak<Outlet>>,
}

impl Follows {
    /// On the watcher's thread.
    pub(super) fn take(&self, update: Update) {
        match update {
            Update::News { follow } => {
                let follower = lock(&self.followers).get(&follow).cloned();
                match follower {
                    Some(Follower::Desk(desk)) => desk.refresh(),
                    Some(Follower::Outlet(outlet, request)) => outlet.touched(request),
                    None => {}
                }
            }
            Update::Live(change) => lock(&self.live).take(change),
            Update::Lines { .. } | Update::Appeared { .. } => {}
        }
    }

    /// Tells which sessions run, and from now on what changes of them.
    pub(super) fn listen(&self, outlet: &Arc<Outlet>) {
        let mut live = lock(&self.live);
        for session in live.running.values() {
            outlet.live(LiveChange { session: session.clone(), previous: None });
        }
        live.listeners.push(Arc::downgrade(outlet));
    }

    /// Follows what a reader has read, for its desk.
    pub(super) fn follow(&self, watcher: &Watcher, reader: &Reader, desk: &Arc<Desk>) -> FollowId {
        self.add(watcher, &reader.file(), reader.offset(), Follower::Desk(Arc::clone(desk)))
    }

    /// Follows a file of which `offset` bytes were read, for a request.
    pub(super) fn follow_file(
        &self,
        watcher: &Watcher,
        file: &Path,
        offset: u64,
        outlet: &Arc<Outlet>,
        request: u64,
    ) -> FollowId {
        self.add(watcher, file, offset, Follower::Outlet(Arc::clone(outlet), request))
    }

    fn add(&self, watcher: &Watcher, file: &Path, offset: u64, follower: Follower) -> FollowId {
        // Locked until the follower is in: an update may come before `follow_news` returns.
        let mut followers = lock(&self.followers);
        let follow = watcher.follow_news(file, offset);
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

impl Live {
    fn take(&mut self, change: LiveChange) {
        if change.session.state.activity == Activity::Gone {
            self.running.remove(&change.session.pid);
        } else {
            self.running.insert(change.session.pid, change.session.clone());
        }
        self.listeners.retain(|listener| {
            let Some(outlet) = listener.upgrade() else { return false };
            outlet.live(change.clone());
            !outlet.is_closed()
        });
    }
}
