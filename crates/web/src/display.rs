//! Output of a CLI in a terminal, from its hook `MessageDisplay`: batches of whole lines, passed on as the pieces of a
//! streamed Messages API text. Only the beginning and end of a message are synthesised.
//!
//! Source: CLI 2.1.329, which posts `{session_id, message_id, index, final, delta, …}` and shows nothing until it gets
//! an answer.

use hyper::StatusCode;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::answer::{self, Answer};
use crate::broker::Broker;
use crate::server::Site;

/// Size limit of a batch.
const MAX_BATCH: usize = 256 * 1024;
/// Characters per piece.
const PIECE: usize = 2 * 1024;

#[derive(Deserialize)]
struct Batch {
    session_id: String,
    message_id: String,
    index: u64,
    #[serde(rename = "final")]
    is_final: bool,
    delta: String,
}

/// Handles a batch of a CLI with a valid hooks' token.
pub(crate) async fn take(site: &Site, body: Incoming) -> Answer {
    match answer::posted(body, MAX_BATCH, site.limits.handshake).await {
        Ok(batch) => {
            say(&site.broker, &batch);
            // The empty answer leaves the display as it is.
            answer::json(StatusCode::OK, &json!({}))
        }
        Err(bad) => bad,
    }
}

fn say(broker: &Broker, batch: &Batch) {
    for event in events(batch) {
        let kind = event.get("type").and_then(Json::as_str).unwrap_or_default();
        broker.say(&batch.session_id, kind, &event.to_string());
    }
}

fn events(Batch { message_id, index, is_final, delta, .. }: &Batch) -> Vec<Json> {
    let mut events = Vec::new();
    if *index == 0 {
        events.push(json!({ "type": "message_start", "message": { "id": message_id, "role": "assistant" } }));
        let block = json!({ "type": "text", "text": "" });
        events.push(json!({ "type": "content_block_start", "index": 0, "content_block": block }));
    }
    let mut rest = delta.as_str();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(at, _)| at);
        let (text, more) = rest.split_at(end);
        let delta = json!({ "type": "text_delta", "text": text });
        events.push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
        rest = more;
    }
    if *is_final {
        events.push(json!({ "type": "content_block_stop", "index": 0 }));
        events.push(json!({ "type": "message_stop" }));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(index: u64, is_final: bool, delta: &str) -> Vec<Json> {
        let batch = json!({ "session_id": "s", "message_id": "m", "index": index, "final": is_final, "delta": delta });
        events(&serde_json::from_value(batch).unwrap())
    }

    fn text(events: &[Json]) -> String {
        events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect()
    }

    #[test]
    fn batches_are_one_message_with_a_start_and_an_end() {
        let all = [batch(0, false, "one\n"), batch(1, false, "two\n"), batch(2, true, "end")].concat();
        let kinds: Vec<_> = all.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds[..2], ["message_start", "content_block_start"]);
        assert_eq!(kinds[kinds.len() - 2..], ["content_block_stop", "message_stop"]);
        assert_eq!(text(&all), "one\ntwo\nend");
    }

    #[test]
    fn a_long_batch_goes_in_pieces_that_end_where_letters_end() {
        let long = "ä".repeat(3 * PIECE + 1);
        let all = batch(1, false, &long);
        assert_eq!((all.len(), text(&all)), (4, long));
    }
}
