//! The tree of messages: parents through links, orphans, forks, paths.

use super::classify::is_compaction;
use super::link::{Link, Place};
use super::opening::starts_agent;
use super::{Index, LineRef, Node, Tool};
use crate::id::{Key, NodeId};
use crate::lenient::Scalar;
use crate::line_head::Head;
use crate::model::RowKind;

/// Links are followed at most this far; only links whose parent came late are followed at all.
const MAX_LINK_STEPS: u32 = 10_000;
/// More siblings are no alternatives but a damaged file: their rows show no branches.
pub(super) const MAX_BRANCHES: usize = 64;

impl Index {
    /// Where a line attaches, by its `parentUuid`.
    ///
    /// After a compaction that is null and `logicalParentUuid` names the message before. That message can come later or
    /// never (measured); until then the compaction attaches to the last message, since no conversation begins with one.
    pub(super) fn place_of(&self, head: &Head<'_>) -> Place {
        if let Some(parent) = Key::of(head.parent.text()) {
            return self.follow(parent);
        }
        match Key::of(head.logical_parent.text()).map(|parent| self.follow(parent)) {
            Some(Place::Under(node)) => Place::Under(node),
            Some(Place::Root | Place::Unknown(_) | Place::Unsaid) => Place::Unsaid,
            None if head.parent == Scalar::None || is_compaction(head) => Place::Unsaid,
            None => Place::Root,
        }
    }

    fn follow(&self, mut key: Key) -> Place {
        for _ in 0..MAX_LINK_STEPS {
            match self.links.get(&key) {
                Some(Link::Node(node)) => return Place::Under(*node),
                Some(Link::Root) => return Place::Root,
                Some(Link::Via(next)) => key = *next,
                None => return Place::Unknown(key),
            }
        }
        Place::Root
    }

    /// The message above a line, without instructions to the model.
    pub(super) fn above(&self, head: &Head<'_>) -> Option<NodeId> {
        let mut at = self.parent_at(self.place_of(head), self.is_side(head));
        while let Some(node) = at.and_then(|id| self.node(id)).filter(|node| node.kind == RowKind::Meta) {
            at = node.parent;
        }
        at
    }

    fn parent_at(&self, place: Place, side: bool) -> Option<NodeId> {
        match place {
            Place::Under(parent) => Some(parent),
            Place::Root => None,
            Place::Unknown(_) | Place::Unsaid if side => self.last_side,
            Place::Unknown(_) | Place::Unsaid => self.last_main,
        }
    }

    /// Adds a message under its parent or, while that is unknown, under the previous message.
    pub(super) fn push_node(&mut self, at: LineRef, head: &Head<'_>, kind: RowKind) -> NodeId {
        let place = self.place_of(head);
        let side = self.is_side(head);
        let id = NodeId::from_index(self.nodes.len());
        let parent = self.parent_at(place, side);
        self.nodes.push(Node {
            kind,
            parent,
            parent_guessed: matches!(place, Place::Unknown(_) | Place::Unsaid),
            children: Vec::new(),
            lines: vec![at],
            tools: Vec::new(),
            start: head.time(),
            end: head.time(),
            model: None,
            usage: None,
            side,
        });
        if let Place::Unknown(key) = place {
            self.waiting.entry(key).or_default().push(id);
        }
        self.attach(id, parent);
        if side {
            self.last_side = Some(id);
            if parent.is_none() {
                self.give_sidechain(id);
            }
        } else {
            self.last_main = Some(id);
        }
        self.touched.push(id);
        id
    }

    /// Records what an id refers to, and attaches the nodes that waited for it.
    pub(super) fn insert_link(&mut self, uuid: Option<Key>, link: Link) {
        let Some(uuid) = uuid else { return };
        self.links.insert(uuid, link);
        for node in self.waiting.remove(&uuid).unwrap_or_default() {
            match self.follow(uuid) {
                Place::Under(parent) => self.move_under(node, Some(parent)),
                Place::Root | Place::Unsaid => self.move_under(node, None),
                Place::Unknown(key) => self.waiting.entry(key).or_default().push(node),
            }
        }
    }

    /// Moves a message under its recorded parent. A guessed parent that would close a cycle is dropped.
    fn move_under(&mut self, node: NodeId, parent: Option<NodeId>) {
        let Some(old) = self.nodes.get(node.index()).map(|node| node.parent) else { return };
        if let Some(mut path) = parent.and_then(|parent| self.path_up(parent, node)) {
            path.pop();
            let guessed = path.into_iter().rev().find(|id| self.node(*id).is_some_and(|node| node.parent_guessed));
            let Some(guessed) = guessed else { return };
            self.rehang(guessed, old);
        }
        self.mark(node, |node| node.parent_guessed = false);
        self.rehang(node, parent);
    }

    fn rehang(&mut self, node: NodeId, parent: Option<NodeId>) {
        let Some(old) = self.nodes.get(node.index()).map(|node| node.parent).filter(|old| *old != parent) else {
            return;
        };
        let left = self.siblings_mut(node, old);
        left.retain(|sibling| *sibling != node);
        let left: Vec<_> = left.iter().copied().take(MAX_BRANCHES).collect();
        self.touched.extend(left);
        if let Some(entry) = self.nodes.get_mut(node.index()) {
            entry.parent = parent;
        }
        self.attach(node, parent);
        self.touched.push(node);
    }

    fn attach(&mut self, node: NodeId, parent: Option<NodeId>) {
        let siblings = self.siblings_mut(node, parent);
        let at = siblings.partition_point(|sibling| *sibling < node);
        siblings.insert(at, node);
    }

    fn siblings_mut(&mut self, node: NodeId, parent: Option<NodeId>) -> &mut Vec<NodeId> {
        let side = self.nodes.get(node.index()).is_some_and(|node| node.side);
        match parent.and_then(|parent| self.nodes.get_mut(parent.index())) {
            Some(parent) => &mut parent.children,
            None if side => &mut self.side_roots,
            None => &mut self.roots,
        }
    }

    /// The messages from one up to an ancestor, both included.
    fn path_up(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        let mut path = vec![from];
        let mut at = from;
        while at != to {
            at = self.node(at)?.parent?;
            path.push(at);
        }
        Some(path)
    }

    /// The first sidechain message belongs to the oldest subagent call with its words, else to the oldest one, that has
    /// neither a result nor a sidechain.
    fn give_sidechain(&mut self, first: NodeId) {
        let told = self.openings.sidechain();
        let is_open = |tool: &Tool| tool.result.is_none() && tool.sidechain.is_none() && starts_agent(&tool.name);
        let tells = |tool: &Tool| told.is_some() && tool.prompt == told;
        let at = self.tools.iter().position(|tool| is_open(tool) && tells(tool));
        let at = at.or_else(|| self.tools.iter().position(is_open));
        if let Some(tool) = at.and_then(|at| self.tools.get_mut(at)) {
            tool.sidechain = Some(first);
            let node = tool.node;
            self.touched.push(node);
        }
    }

    /// The siblings of a message, including itself.
    pub(super) fn siblings(&self, id: NodeId) -> &[NodeId] {
        let Some(node) = self.node(id) else { return &[] };
        match node.parent.and_then(|parent| self.node(parent)) {
            Some(parent) => &parent.children,
            None if node.side => &self.side_roots,
            None => &self.roots,
        }
    }

    /// The newest conversation, from its first message to its last.
    pub(crate) fn newest_path(&self) -> Vec<NodeId> {
        self.last_main.map(|leaf| self.path_to(self.descend(leaf))).unwrap_or_default()
    }

    /// The conversation through a message, continued along its newest branch.
    pub(crate) fn path_through(&self, id: NodeId) -> Vec<NodeId> {
        if self.node(id).is_none() {
            return Vec::new();
        }
        let (mut newest, mut stack) = (id, vec![id]);
        while let Some(at) = stack.pop() {
            newest = newest.max(at);
            stack.extend(self.node(at).into_iter().flat_map(|node| node.children.iter().copied()));
        }
        self.path_to(self.descend(newest))
    }

    fn descend(&self, mut id: NodeId) -> NodeId {
        while let Some(last) = self.node(id).and_then(|node| node.children.last()) {
            id = *last;
        }
        id
    }

    fn path_to(&self, leaf: NodeId) -> Vec<NodeId> {
        let mut path = Vec::new();
        let mut at = Some(leaf);
        while let Some(id) = at {
            path.push(id);
            at = self.node(id).and_then(|node| node.parent);
        }
        path.reverse();
        path
    }
}
