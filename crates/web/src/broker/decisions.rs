//! Open requests to the user, as published to clients.

use std::collections::BTreeMap;

use crate::editor::Decision;
use crate::frames::Outward;
use crate::topic::Topic;

/// Limits of published decisions: their number, and the size of one.
const MAX_DECISIONS: usize = 64;
const MAX_DECISION: usize = 512 * 1024;

/// Publishes a request to a session's readers.
pub(super) fn open(decisions: &mut BTreeMap<u64, Decision>, topic: Option<&Topic>, decision: Decision) {
    let text = text_of(&decision);
    if decisions.len() >= MAX_DECISIONS || text.len() > MAX_DECISION {
        tracing::warn!(decision = decision.id, "a decision is not published: too many are open, or it is too large");
        return;
    }
    if let Some(topic) = topic {
        topic.tell(text);
    }
    decisions.insert(decision.id, decision);
}

/// A session's open requests, as published.
pub(super) fn of_session(decisions: &BTreeMap<u64, Decision>, session: &str) -> Vec<String> {
    decisions.values().filter(|decision| decision.session == session).map(text_of).collect()
}

fn text_of(Decision { id, choices, about, .. }: &Decision) -> String {
    Outward::Decision { id: *id, choices, about }.text()
}
