//! Output of a CLI in a terminal: batches of whole lines, passed on as the pieces of a streamed Messages API text. Only
//! the beginning and end of a message are synthesised.

use claude_ide_session::Batch;
use serde_json::{Value as Json, json};

/// Characters per piece.
const PIECE: usize = 2 * 1024;

/// The events of a batch.
pub(crate) fn events(batch: &Batch<'_>) -> Vec<Json> {
    let Batch { message, index, is_final, delta } = *batch;
    let mut events = Vec::new();
    if index == 0 {
        events.push(json!({ "type": "message_start", "message": { "id": message, "role": "assistant" } }));
        let block = json!({ "type": "text", "text": "" });
        events.push(json!({ "type": "content_block_start", "index": 0, "content_block": block }));
    }
    let mut rest = delta;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(at, _)| at);
        let (text, more) = rest.split_at(end);
        let delta = json!({ "type": "text_delta", "text": text });
        events.push(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
        rest = more;
    }
    if is_final {
        events.push(json!({ "type": "content_block_stop", "index": 0 }));
        events.push(json!({ "type": "message_stop" }));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(index: u64, is_final: bool, delta: &str) -> Vec<Json> {
        events(&Batch { message: "m", index, is_final, delta })
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
