//! A request on its way to its answer.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::queue::Queue;

/// Whoever holds it owes an answer. Dropped unanswered, because the transcript was closed or our own code failed, it says
/// that instead; of a request that was cancelled nothing is said either way.
#[derive(Debug)]
pub(super) struct Pending {
    id: u64,
    queue: Option<Arc<Queue>>,
}

impl Pending {
    pub(super) fn new(id: u64, queue: Arc<Queue>) -> Self {
        Self { id, queue: Some(queue) }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn answer(mut self, outcome: Result<Json, String>) {
        self.send(outcome);
    }

    fn send(&mut self, outcome: Result<Json, String>) {
        if let Some(queue) = self.queue.take() {
            queue.mail(|mail| mail.reply(self.id, outcome));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.send(Err("it could not be finished: the log file may tell more".to_owned()));
    }
}
