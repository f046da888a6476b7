//! Open requests to the user, sent to sockets and answered by them; the test is editor and CLI.

use crate::lab::{Lab, asked, line, lines, open, refused};
use claude_ide_web::{Ask, Choice, Decision, Limits, Report};
use serde_json::json;

fn decision(id: u64, session: &str) -> Report {
    let choice = |id: &str, message: bool| Choice { id: id.to_owned(), label: id.to_owned(), message, answers: false };
    let about = json!({ "kind": "permission", "title": "Bash", "text": "ls" });
    Report::Decision(Decision {
        id,
        session: session.to_owned(),
        choices: vec![choice("allow", false), choice("reject", true)],
        about: about.as_object().unwrap().clone(),
    })
}

#[tokio::test]
async fn a_decision_is_shown_in_its_session_answered_and_closed_for_all() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    lab.append("t", &lines(0..1));
    let mut elsewhere = lab.subscribe("t", "").await;
    elsewhere.history().await;
    lab.handle.tell(decision(7, "s"));
    let answer = socket.frame("decision").await;
    assert_eq!(
        (&answer["id"], &answer["kind"], &answer["choices"][0]["id"]),
        (&json!(7), &json!("permission"), &json!("allow"))
    );
    let mut late = lab.subscribe("s", "?last=0").await;
    assert_eq!(late.frame("decision").await, answer);
    let decide = |choice: &str| json!({ "type": "decide", "id": 7, "choice": choice });
    for (frame, why) in [
        (decide("destroy"), "there is no such choice"),
        (json!({ "type": "decide", "id": 7, "choice": "allow", "message": "x" }), "no words go with that choice"),
        (json!({ "type": "decide", "id": 8, "choice": "allow" }), "nothing of that number waits"),
    ] {
        assert!(refused(&mut socket, frame).await.1.starts_with(why), "{why}");
    }
    refused(&mut elsewhere, decide("allow")).await;
    socket.say(json!({ "type": "decide", "id": 7, "choice": "reject", "message": "no\u{1b}[0m!" })).await;
    let Ask::Decide { key, decision, choice, message, .. } = asked(&mut asks).await else { panic!() };
    assert_eq!((decision, choice.as_str(), message.as_deref()), (7, "reject", Some("no!")));
    lab.handle.tell(Report::Closed { id: 7, outcome: "rejected".to_owned() });
    lab.handle.tell(Report::Done { key, error: None });
    for reader in [&mut socket, &mut late] {
        let closed = json!({ "type": "decision_closed", "id": 7, "outcome": "rejected" });
        assert_eq!(reader.frame("decision_closed").await, closed);
    }
    assert!(refused(&mut late, decide("allow")).await.1.starts_with("nothing of that number"));
    lab.append("t", &[line(1)]);
    assert_eq!(elsewhere.uuids(1).await, ["u1"], "and heard of none of it");
}

#[tokio::test]
async fn only_the_late_answerer_gets_an_error() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let (mut socket, mut other) = (open(&lab).await, lab.subscribe("s", "?last=0").await);
    other.frame("caught_up").await;
    lab.handle.tell(decision(7, "s"));
    for reader in [&mut socket, &mut other] {
        reader.frame("decision").await;
        reader.say(json!({ "type": "decide", "id": 7, "choice": "allow" })).await;
    }
    for error in [None, Some("it was answered already".to_owned())] {
        let Ask::Decide { key, .. } = asked(&mut asks).await else { panic!() };
        lab.handle.tell(Report::Done { key, error });
    }
    lab.handle.tell(Report::Closed { id: 7, outcome: "accepted".to_owned() });
    let mut errors = 0;
    for reader in [&mut socket, &mut other] {
        loop {
            let frame = reader.next().await.unwrap();
            match frame["type"].as_str() {
                Some("error") => errors += 1,
                Some("decision_closed") => break,
                _ => {}
            }
        }
    }
    assert_eq!(errors, 1);
}

#[tokio::test]
async fn only_a_writer_can_stop_claude() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(json!({ "type": "interrupt", "id": "stop" })).await;
    let Ask::Interrupt { key, session } = asked(&mut asks).await else { panic!() };
    assert_eq!(session, "s");
    lab.handle.tell(Report::Done { key, error: Some("Claude does not work".to_owned()) });
    let error = socket.frame("error").await;
    assert_eq!(
        (&error["error"], &error["reason"], &error["id"]),
        (&json!("Failed to interrupt"), &json!("Claude does not work"), &json!("stop"))
    );
    socket.say(json!({ "type": "write", "on": false })).await;
    assert!(refused(&mut socket, json!({ "type": "interrupt" })).await.1.starts_with("writing is off"));
}
