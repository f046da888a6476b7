//! Claude's streamed reply, as sockets receive it.

use crate::lab::{Lab, open};
use serde_json::{Value as Json, json};

fn text_of(frames: &[Json]) -> String {
    frames.iter().filter_map(|frame| frame["event"]["delta"]["text"].as_str()).collect()
}

#[tokio::test]
async fn speech_is_streamed_live_from_the_start_of_a_message() {
    let lab = Lab::new();
    let mut socket = open(&lab).await;
    let say = |kind: &str, more: Json| {
        let mut event = json!({ "type": kind });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        lab.handle.say("s", kind, &event.to_string());
    };
    let delta = |text: &str| say("content_block_delta", json!({ "delta": { "type": "text_delta", "text": text } }));
    delta("of a message whose start nobody heard ");
    say("message_start", json!({}));
    delta("Here ");
    let mut late = lab.subscribe("s", "?last=0").await;
    let its_start = late.frame("stream_event").await;
    delta("is ");
    delta("text");
    say("message_stop", json!({}));
    let start = socket.frame("stream_event").await;
    for (reader, start) in [(&mut socket, start), (&mut late, its_start)] {
        let mut frames = vec![start];
        while frames.last().unwrap()["event"]["type"] != "message_stop" {
            frames.push(reader.frame("stream_event").await);
        }
        assert_eq!(frames[0]["event"]["type"], "message_start");
        assert_eq!(text_of(&frames), "Here is text");
    }
}

#[tokio::test]
async fn a_reader_that_is_too_slow_never_sees_a_text_with_a_gap() {
    let lab = Lab::new();
    let mut socket = open(&lab).await;
    let delta = |number: usize| {
        let text = format!("{number:06} {}", "x".repeat(4000));
        let event = json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": text } });
        lab.handle.say("s", "content_block_delta", &event.to_string());
    };
    lab.handle.say("s", "message_start", r#"{"type":"message_start"}"#);
    (0..5000).for_each(delta);
    lab.handle.say("s", "message_stop", r#"{"type":"message_stop"}"#);
    lab.handle.say("s", "message_start", r#"{"type":"message_start","second":true}"#);
    delta(0);
    lab.handle.say("s", "message_stop", r#"{"type":"message_stop"}"#);
    let mut expected = 0;
    loop {
        let event = socket.frame("stream_event").await["event"].clone();
        if event["second"] == true {
            break;
        }
        if let Some(text) = event["delta"]["text"].as_str() {
            assert_eq!(text.split(' ').next().unwrap().parse::<usize>().unwrap(), expected);
            expected += 1;
        }
    }
    assert!(text_of(&[socket.frame("stream_event").await]).starts_with("000000 "));
}
