//! Our requests to a client: pings, and its folders.

use std::{path::PathBuf, time::Instant};

use serde_json::value::RawValue;

use claude_ide_protocol::{jsonrpc::RequestId, mcp::ListRootsResult};

use super::{Client, Phase, Question};
use crate::roots;

impl Client {
    /// When [`Self::stop_waiting`] must be called.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.peer.asked.next_deadline()
    }

    /// A request's deadline has passed: its response still counts, but the client becomes ready without it.
    pub(crate) fn stop_waiting(&mut self) {
        let too_late = self.peer.asked.overdue(Instant::now()).contains(&&Question::Roots);
        if too_late && let Phase::AwaitingRoots(_) = self.phase {
            self.become_ready();
        }
    }

    /// Sends an MCP `ping`, if the client speaks MCP and has answered the last one.
    pub(crate) fn ping(&mut self) {
        let speaks_mcp = self.version.is_some() && self.phase == Phase::Ready;
        if speaks_mcp && !self.peer.asked.is_open(|question| *question == Question::Ping) {
            self.ask("ping", Question::Ping, None);
        }
    }

    fn ask(&mut self, method: &str, question: Question, deadline: Option<Instant>) {
        match self.peer.asked.ask(method, None::<&()>, question, deadline) {
            Ok(request) => self.outbox.push(request),
            Err(error) => tracing::error!(client = %self.info.id, %error, method, "not asked"),
        }
    }

    pub(super) fn response(&mut self, id: Option<&RequestId>, outcome: Result<&RawValue, &RawValue>) {
        match self.peer.asked.answered(id) {
            None => tracing::debug!(client = %self.info.id, "a response without a request"),
            Some(Question::Ping) => {}
            Some(Question::Roots) => self.learn_roots(outcome),
        }
    }

    /// Only the response to the last request counts: an older one would restore old folders.
    pub(super) fn ask_for_roots(&mut self) {
        let deadline = match self.phase {
            Phase::AwaitingRoots(deadline) => Some(deadline),
            Phase::Ready => None,
            Phase::New | Phase::Initializing => return,
        };
        if self.has_roots {
            self.asked_for_roots = true;
            self.peer.asked.withdraw(|question| *question == Question::Roots);
            self.ask("roots/list", Question::Roots, deadline);
        }
    }

    fn learn_roots(&mut self, outcome: Result<&RawValue, &RawValue>) {
        let roots: Option<ListRootsResult> = outcome.ok().and_then(|result| serde_json::from_str(result.get()).ok());
        if let Some(ListRootsResult { roots }) = roots {
            let map = &self.caller.services.options.path_map;
            let mapped: Vec<PathBuf> = roots
                .iter()
                .filter_map(|root| map.here(&root.uri)?.strip_prefix("file://").map(PathBuf::from))
                .collect();
            self.info.mapped = !mapped.is_empty() || (roots.is_empty() && !map.is_empty());
            self.caller.mapped = self.info.mapped;
            self.info.roots = if mapped.is_empty() {
                roots.iter().filter_map(|root| roots::path(&root.uri)).collect()
            } else {
                mapped
            };
            self.caller.root = self.info.roots.first().cloned();
        }
        match self.phase {
            Phase::AwaitingRoots(_) => self.become_ready(),
            Phase::New | Phase::Initializing | Phase::Ready => self.changed(),
        }
    }
}
