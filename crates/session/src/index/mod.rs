//! The index of one transcript: where each message's lines lie, and how messages are linked. No contents.
//!
//! A *node* is one message as the user sees it: a prompt; a reply with all its lines (the CLI writes one a content
//! block, sharing `message.id`) and its tool results; a notice. Lines of pure bookkeeping are *links*: their children
//! attach to the nearest node above.
//!
//! Invariants: the tree depends only on the order of lines, not on how they were read; it has no cycles; the first line
//! with an id wins; no message is lost to a missing or broken line: its children attach to the message before.

mod classify;
mod commands;
mod launch;
mod link;
mod node;
mod opening;
mod results;
mod rows;
mod step;
mod tree;

use std::collections::{HashMap, HashSet};

use crate::id::{Key, KeyMap, Name, NodeId};
use crate::line_buffer::RawLine;
use crate::line_head::{Content, Head, MessageHead, is_api_request};
use crate::model::{RowKind, ToolStatus, Usage};
use crate::time::Millis;
use classify::is_notification;
pub(crate) use classify::{Class, classify};
pub use commands::CommandTime;
use link::Link;
pub use node::{Branch, Delta, Row, ToolRow};
pub(crate) use node::{LineRef, Node, Tool, ToolEnd};
use opening::{Openings, starts_agent};
pub use step::Step;

/// Which messages of a file are its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversation {
    /// A session: sidechains (subagents of older CLIs, in the same file) are separate.
    Session,
    /// A subagent's own file, in which every line is a sidechain.
    Agent,
}

/// The newest reply of a message id, and the request that tells it from the next: gateways and stubs give several
/// replies one id.
#[derive(Clone, Copy, Debug)]
struct Reply {
    node: NodeId,
    request: Option<Key>,
}

#[derive(Debug)]
pub(crate) struct Index {
    conversation: Conversation,
    nodes: Vec<Node>,
    tools: Vec<Tool>,
    links: KeyMap<Link>,
    replies: KeyMap<Reply>,
    tool_by_id: KeyMap<usize>,
    /// Nodes whose parent has not been seen, by that parent's id.
    waiting: KeyMap<Vec<NodeId>>,
    roots: Vec<NodeId>,
    side_roots: Vec<NodeId>,
    last_main: Option<NodeId>,
    last_side: Option<NodeId>,
    names: HashSet<Name>,
    /// The call that started each subagent.
    agent_calls: HashMap<Box<str>, Box<str>>,
    agents_touched: bool,
    /// The texts of the current line by which a subagent's messages are known as a call's.
    openings: Openings,
    /// Nodes changed since the last [`Index::take_touched`].
    touched: Vec<NodeId>,
    broken: u32,
}

impl Index {
    pub(crate) fn new(conversation: Conversation) -> Self {
        Self {
            conversation,
            nodes: Vec::new(),
            tools: Vec::new(),
            links: KeyMap::default(),
            replies: KeyMap::default(),
            tool_by_id: KeyMap::default(),
            waiting: KeyMap::default(),
            roots: Vec::new(),
            side_roots: Vec::new(),
            last_main: None,
            last_side: None,
            names: HashSet::new(),
            agent_calls: HashMap::new(),
            agents_touched: false,
            openings: Openings::default(),
            touched: Vec::new(),
            broken: 0,
        }
    }

    /// Adds a line. `false` if it is broken: the caller logs its number.
    pub(crate) fn add(&mut self, line: &RawLine<'_>) -> bool {
        let Some(bytes) = line.bytes else {
            self.broken += 1;
            return false;
        };
        if bytes.is_empty() || is_api_request(bytes) {
            return true;
        }
        let Some(head) = Head::parse(bytes) else {
            self.broken += 1;
            return false;
        };
        let at =
            LineRef { offset: line.offset, len: u32::try_from(bytes.len()).unwrap_or(u32::MAX), number: line.number };
        if self.conversation == Conversation::Session {
            self.openings = Openings::of(&head, bytes);
        }
        self.add_head(at, &head);
        if is_notification(&head) {
            self.add_notification(&head, bytes);
        }
        true
    }

    /// How many lines were no JSON, or too long.
    pub(crate) fn broken(&self) -> u32 {
        self.broken
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())
    }

    pub(crate) fn tool(&self, tool: usize) -> Option<&Tool> {
        self.tools.get(tool)
    }

    pub(crate) fn tool_by_id(&self, id: &str) -> Option<&Tool> {
        self.tool_by_id.get(&Key::of(id)?).and_then(|tool| self.tools.get(*tool))
    }

    /// Number of messages on all branches.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes changed since the last call.
    pub(crate) fn take_touched(&mut self) -> Vec<NodeId> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Tokens of all replies, each reply counted once.
    pub(crate) fn total_usage(&self) -> Usage {
        self.nodes.iter().filter_map(|node| node.usage).fold(Usage::default(), Usage::plus)
    }

    fn add_head(&mut self, at: LineRef, head: &Head<'_>) {
        let uuid = Key::of(head.uuid.text());
        if uuid.is_some_and(|uuid| self.links.contains_key(&uuid)) {
            return;
        }
        let class = classify(head);
        match class {
            Class::Hidden => {}
            Class::Link => {
                let owner = self.place_of(head);
                self.insert_link(uuid, owner.as_link());
            }
            Class::Node(RowKind::Reply) => self.add_reply(at, head, uuid),
            Class::Node(kind) => {
                let node = self.push_node(at, head, kind);
                self.insert_link(uuid, Link::Node(node));
                self.add_results(at, head, Some(node));
            }
            Class::Results => self.add_result_line(at, head, uuid),
        }
    }

    /// Adds one line of a reply: its first, or a further block.
    fn add_reply(&mut self, at: LineRef, head: &Head<'_>, uuid: Option<Key>) {
        let empty = MessageHead::default();
        let message = head.message.0.as_ref().unwrap_or(&empty);
        if head.inner.is_true()
            && let Some(node) = self.caller(head)
        {
            self.mark(node, |node| {
                node.lines.push(at);
                node.end = head.time().or(node.end);
            });
            self.touched.push(node);
            self.insert_link(uuid, Link::Node(node));
            return self.add_tools(node, head, message);
        }
        let message_id = Key::of(message.id.text());
        let request = Key::of(head.request.text());
        let known = message_id
            .and_then(|id| self.replies.get(&id))
            .filter(|reply| self.is_more_of(**reply, head, message, request))
            .map(|reply| reply.node);
        let node = known.unwrap_or_else(|| self.push_node(at, head, RowKind::Reply));
        if let Some(id) = message_id {
            self.replies.insert(id, Reply { node, request });
        }
        let model = self.name(message.model.text());
        if let Some(entry) = self.nodes.get_mut(node.index()) {
            if known.is_some() {
                entry.lines.push(at);
            }
            entry.model = model.or(entry.model.take());
            entry.usage = message.usage.0.map(Usage::from).or(entry.usage);
            entry.end = head.time().or(entry.end);
        }
        self.touched.push(node);
        self.insert_link(uuid, Link::Node(node));
        self.add_tools(node, head, message);
    }

    /// The reply of which a script made the calls of a line: the lines follow its result.
    fn caller(&self, head: &Head<'_>) -> Option<NodeId> {
        self.above(head).filter(|id| self.node(*id).is_some_and(|node| !node.tools.is_empty()))
    }

    /// Whether a line is a further block of `reply`, which has the same message id.
    fn is_more_of(&self, reply: Reply, head: &Head<'_>, message: &MessageHead<'_>, request: Option<Key>) -> bool {
        if self.above(head) != Some(reply.node) {
            return false;
        }
        match (reply.request, request) {
            (Some(before), Some(now)) => before == now,
            // The model is asked again once all calls have results. A call can have its result before the next one is
            // written.
            _ => !self.all_answered(reply.node) || has_call(&message.content),
        }
    }

    fn all_answered(&self, node: NodeId) -> bool {
        let tools = self.node(node).map(|node| node.tools.as_slice()).unwrap_or_default();
        !tools.is_empty() && tools.iter().filter_map(|tool| self.tool(*tool)).all(|tool| tool.result.is_some())
    }

    fn add_tools(&mut self, node: NodeId, head: &Head<'_>, message: &MessageHead<'_>) {
        let Content::Blocks(blocks) = &message.content else { return };
        for block in blocks.iter().filter(|block| matches!(block.kind.text(), "tool_use" | "server_tool_use")) {
            let name = self.name(block.name.text()).unwrap_or_else(|| Name::new("?"));
            let tool = self.tools.len();
            self.tools.push(Tool {
                name,
                node,
                started: head.time(),
                result: None,
                end: None,
                background: false,
                goes_on: None,
                never_ran: false,
                changed: None,
                prompt: self.openings.of_call(block.id.text()),
                sidechain: None,
            });
            if let Some(id) = Key::of(block.id.text()) {
                self.tool_by_id.entry(id).or_insert(tool);
            }
            self.mark(node, |node| node.tools.push(tool));
        }
    }

    /// Adds a line of results to the reply that made the calls.
    fn add_result_line(&mut self, at: LineRef, head: &Head<'_>, uuid: Option<Key>) {
        match self.add_results(at, head, None) {
            Some(node) => self.insert_link(uuid, Link::Node(node)),
            None => {
                let node = self.push_node(at, head, RowKind::Results);
                self.insert_link(uuid, Link::Node(node));
            }
        }
    }

    /// Attaches each result of the line to its call; returns the node of the first known call. `inside` is the line's
    /// own node.
    fn add_results(&mut self, at: LineRef, head: &Head<'_>, inside: Option<NodeId>) -> Option<NodeId> {
        let Content::Blocks(blocks) = &head.message.0.as_ref()?.content else { return None };
        let mut owner = None;
        for block in blocks.iter().filter(|block| block.kind.text() == "tool_result") {
            let Some(tool) = Key::of(block.tool_use_id.text()).and_then(|id| self.tool_by_id.get(&id)).copied() else {
                continue;
            };
            let background = self.add_launch(head, block.tool_use_id.text());
            let Some(tool) = self.tools.get_mut(tool) else { continue };
            let status = match (head.denial.is_set(), block.is_error.is_true()) {
                (true, _) => ToolStatus::Rejected,
                (false, true) => ToolStatus::Failed,
                (false, false) => ToolStatus::Done,
            };
            (tool.result, tool.background) = (Some(at), background && status == ToolStatus::Done);
            let is_interrupt = head.denial.text() == "user-rejected" && !head.denied_before_run.is_true();
            tool.never_ran = head.denial.is_set() && !is_interrupt;
            if let Some(outcome) = &head.outcome.0 {
                tool.goes_on = outcome.goes_on().then_some(Millis::MAX);
                tool.changed = outcome.changed();
            }
            tool.end = (!tool.background).then_some(ToolEnd { status, time: head.time() });
            self.agents_touched |= starts_agent(&tool.name) || background;
            let node = tool.node;
            owner = owner.or(Some(node));
            self.touched.push(node);
            if let (Some(entry), Some(time), None) = (self.nodes.get_mut(node.index()), head.time(), inside) {
                entry.end = Some(time);
            }
        }
        owner
    }

    fn mark(&mut self, node: NodeId, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(node.index()) {
            change(node);
        }
    }

    /// Interns a name.
    fn name(&mut self, text: &str) -> Option<Name> {
        if text.is_empty() {
            return None;
        }
        if let Some(name) = self.names.get(text) {
            return Some(name.clone());
        }
        let name = Name::new(text);
        self.names.insert(name.clone());
        Some(name)
    }

    fn is_side(&self, head: &Head<'_>) -> bool {
        self.conversation == Conversation::Session && head.sidechain.is_true()
    }
}

fn has_call(content: &Content<'_>) -> bool {
    let Content::Blocks(blocks) = content else { return false };
    blocks.iter().any(|block| matches!(block.kind.text(), "tool_use" | "server_tool_use"))
}
