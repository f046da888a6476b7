//! Where lines attach: what the ids of other lines refer to.

use crate::id::{Key, NodeId};

/// What a line's id refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// A message, or a link whose message above is known.
    Node(NodeId),
    /// A link with no message above it.
    Root,
    /// A link whose parent has not been seen.
    Via(Key),
}

/// Where a new line attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Under(NodeId),
    Root,
    /// Unknown until the line with this id is read.
    Unknown(Key),
    /// The line names no parent.
    Unsaid,
}

impl Place {
    pub(super) fn as_link(self) -> Link {
        match self {
            Self::Under(node) => Link::Node(node),
            Self::Root | Self::Unsaid => Link::Root,
            Self::Unknown(key) => Link::Via(key),
        }
    }
}
