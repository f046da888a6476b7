//! What the watcher saw, handed to whom it concerns.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};

use super::desk::Desk;
use super::lock;
use super::outlet::Outlet;
use super::reader::Reader;
use crate::live::{LiveChange, LiveSession};
use crate::state::Activity;
use crate::watch::{FollowId, Update, Watcher};

/// The open transcripts that are followed, and who hears of running sessions.
#[derive(Default)]
pub(super) struct Follows {
    desks: Mutex<HashMap<FollowId, Arc<Desk>>>,
    live: Mutex<Live>,
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
                let desk = lock(&self.desks).get(&follow).cloned();
                if let Some(desk) = desk {
                    desk.refresh();
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
        // Locked until the desk is in: an update may come before `follow_news` returns.
        let mut desks = lock(&self.desks);
        let follow = watcher.follow_news(reader.file(), reader.offset());
        desks.insert(follow, Arc::clone(desk));
        follow
    }

    pub(super) fn unfollow(&self, watcher: &Watcher, follow: FollowId) {
        lock(&self.desks).remove(&follow);
        watcher.unfollow(follow);
    }

    #[cfg(test)]
    pub(super) fn followed(&self) -> usize {
        lock(&self.desks).len()
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
