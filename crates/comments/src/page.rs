//! The threads as the web page shows them: bounded, and without lines that are withheld.

use std::cmp::Reverse;

use serde_json::{Value as Json, json};

use crate::round;
use crate::thread::{Author, State, Thread};

/// Limits of what is shown: the latest threads, their latest entries, and characters of one of these.
const MOST_THREADS: usize = 100;
const MOST_ENTRIES: usize = 20;
const MOST_WORDS: usize = 4 * 1024;
/// Of all together.
const MOST_BYTES: usize = 256 * 1024;

/// The threads by file and line, the resolved ones last. What the user has not sent is whole: it is sent as it is shown.
pub(crate) fn shown(mut threads: Vec<&Thread>, withheld: &[String]) -> Json {
    let is_over = |thread: &Thread| thread.state() == State::Resolved;
    threads.sort_by_key(|thread| (is_over(thread), Reverse(thread.entries.iter().map(|entry| entry.at).max())));
    let mut bytes = 0;
    let mut shown: Vec<_> =
        threads.into_iter().take(MOST_THREADS).map(|thread| (thread, one(thread, withheld))).collect();
    shown.retain(|(_, json)| {
        bytes += json.to_string().len();
        bytes <= MOST_BYTES
    });
    shown.sort_by_key(|(thread, _)| {
        let line = thread.anchor.as_ref().map(|anchor| anchor.shown().first);
        (is_over(thread), thread.path.as_deref(), line, thread.id)
    });
    shown.into_iter().map(|(_, json)| json).collect()
}

fn one(thread: &Thread, withheld: &[String]) -> Json {
    let said = || thread.entries.iter().filter(|entry| entry.by == Author::Claude || entry.sent);
    let earlier = said().count().saturating_sub(MOST_ENTRIES);
    let entries = said().skip(earlier);
    json!({
        "id": thread.id,
        "place": round::place(thread),
        "lines": round::lines(thread, withheld),
        "state": thread.state(),
        "earlier": earlier,
        "entries": entries.map(|entry| json!({ "by": entry.by, "words": round::cut(entry.words.trim(), MOST_WORDS) })).collect::<Vec<_>>(),
        "draft": thread.draft().map(|entry| entry.words.trim()),
    })
}
