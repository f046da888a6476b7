//! What a watcher tells.

use crate::live::LiveChange;

/// Identifies a follower of a [`super::Watcher`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FollowId(pub(super) u64);

/// An update of a watcher.
#[derive(Debug)]
pub(crate) enum Update {
    /// A followed transcript or its subagents changed: see [`super::Watcher::follow`].
    News {
        /// The follower.
        follow: FollowId,
    },
    /// A running session began, changed its activity, moved to another session (`/clear`), or ended.
    Live(Box<LiveChange>),
}
