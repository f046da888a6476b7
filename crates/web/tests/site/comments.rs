//! Threads of comments, shown to the readers of their session and changed by them; the test is the editor.

use crate::lab::{Lab, asked, lines, open, refused};
use claude_ide_web::{Act, Ask, Limits, Report};
use serde_json::{Value as Json, json};

fn threads(session: &str, ids: &[u64]) -> Report {
    let threads: Vec<Json> = ids.iter().map(|id| json!({ "id": id })).collect();
    serde_json::from_value(json!({ "threads": { "session": session, "threads": threads } })).unwrap()
}

#[tokio::test]
async fn threads_are_shown_in_their_session_to_those_who_come_later_too() {
    let (lab, _asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    lab.append("t", &lines(0..1));
    lab.handle.tell(threads("t", &[3]));
    lab.handle.tell(threads("s", &[1, 2]));
    let shown = json!({ "type": "threads", "sessionId": "s", "threads": [{ "id": 1 }, { "id": 2 }] });
    assert_eq!(socket.frame("threads").await, shown);
    let mut late = lab.subscribe("s", "?last=0").await;
    assert_eq!(late.frame("threads").await, shown);
    lab.handle.tell(serde_json::from_value(json!({ "threads": { "session": "s" } })).unwrap());
    assert_eq!(late.frame("threads").await, json!({ "type": "threads", "sessionId": "s", "threads": [] }));
}

#[tokio::test]
async fn a_writer_replies_and_is_told_whether_the_editor_has_it() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    let say =
        |act: &str, words: Json| json!({ "type": "comment", "id": "c", "thread": "1", "act": act, "words": words });
    for error in [None, Some("it runs in another terminal")] {
        socket.say(say("reply", json!("why\u{1b}[0m?"))).await;
        let Ask::Comment { key, session, thread, act, words } = asked(&mut asks).await else { panic!() };
        assert_eq!((session.as_str(), thread.as_str(), act, words.as_deref()), ("s", "1", Act::Reply, Some("why?")));
        lab.handle.tell(Report::Done { key, error: error.map(str::to_owned) });
        let answer = socket.frame(if error.is_some() { "error" } else { "commented" }).await;
        assert_eq!((&answer["id"], answer["reason"].as_str()), (&json!("c"), error));
    }
    for (act, words) in [("reply", json!("\u{1b}")), ("resolve", json!("why?"))] {
        assert_eq!(refused(&mut socket, say(act, words)).await.1, "a reply has words, and nothing else does");
    }
    assert!(refused(&mut socket, say("reply", json!("x".repeat(17_000)))).await.1.contains("at most"));
    socket.say(json!({ "type": "write", "on": false })).await;
    assert!(refused(&mut socket, say("resolve", Json::Null)).await.1.starts_with("writing is off"));
}
