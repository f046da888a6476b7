//! Threads of comments, as published to the readers of their session.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::frames::Outward;
use crate::topic::Topic;

/// Limits of what is published: the sessions that have threads, and bytes of those of one.
const MAX_SESSIONS: usize = 256;
const MAX_THREADS: usize = 512 * 1024;

/// Publishes the threads of a session to its readers.
pub(super) fn publish(known: &mut HashMap<String, String>, topic: Option<&Topic>, session: String, threads: &[Json]) {
    let text = Outward::Threads { session: &session, threads }.text();
    let is_one_too_many = known.len() >= MAX_SESSIONS && !known.contains_key(&session);
    if text.len() > MAX_THREADS || is_one_too_many {
        tracing::warn!(session, "comments are not published: too many sessions have some, or they are too large");
        return;
    }
    if let Some(topic) = topic {
        topic.tell(text.clone());
    }
    if threads.is_empty() {
        known.remove(&session);
    } else {
        known.insert(session, text);
    }
}
