//! A request on its way to its answer.

use std::sync::Arc;

use serde_json::Value as Json;

use super::outlet::Outlet;

/// Whoever holds it owes an answer. Dropped unanswered, because the transcript was closed or our own code failed, it says
/// that instead; of a request that was cancelled nothing is said either way.
pub(super) struct Pending {
    id: u64,
    outlet: Option<Arc<Outlet>>,
}

impl Pending {
    pub(super) fn new(id: u64, outlet: Arc<Outlet>) -> Self {
        Self { id, outlet: Some(outlet) }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn answer(mut self, outcome: Result<Json, String>) {
        self.send(outcome);
    }

    /// The answer to a request to open a transcript, of which more will be said.
    pub(super) fn opened(mut self, info: Json) {
        if let Some(outlet) = self.outlet.take() {
            outlet.opened(self.id, info);
        }
    }

    fn send(&mut self, outcome: Result<Json, String>) {
        if let Some(outlet) = self.outlet.take() {
            outlet.reply(self.id, outcome);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.send(Err("it could not be finished: the log file may tell more".to_owned()));
    }
}
