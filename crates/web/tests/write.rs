//! What a socket may write, what comes of it, and what it is told: with an editor that the test is.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod lab;

use std::time::Duration;

use claude_ide_web::{Ask, Choice, Decision, Limits, Told};
use lab::{LONG, Lab, Socket, body, line, lines};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

async fn asked(asks: &mut UnboundedReceiver<Ask>) -> Ask {
    timeout(LONG, asks.recv()).await.expect("the editor is asked").unwrap()
}

/// The next message that the editor is to deliver.
async fn delivered(asks: &mut UnboundedReceiver<Ask>) -> (u64, String) {
    match asked(asks).await {
        Ask::Deliver { key, text, .. } => (key, text),
        other => panic!("{other:?}"),
    }
}

fn user(uuid: &str, content: &str) -> String {
    json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": content } }).to_string()
}

async fn open(lab: &Lab) -> Socket {
    lab.append("s", &lines(0..2));
    let mut socket = lab.subscribe("s", "").await;
    socket.history().await;
    socket
}

async fn refused(socket: &mut Socket, frame: Json) -> (String, String) {
    socket.say(frame.clone()).await;
    let error = socket.frame("error").await;
    assert_eq!(error.get("id"), frame.get("id"), "{frame}");
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    (text("error"), text("reason"))
}

fn message(id: &str, content: &str) -> Json {
    json!({ "type": "user_message", "id": id, "content": content })
}

#[tokio::test]
async fn nothing_is_taken_unless_writing_is_allowed() {
    let lab = Lab::new();
    lab.append("s", &lines(0..2));
    let mut socket = lab.subscribe("s", "").await;
    assert_eq!(socket.frame("state").await["canWrite"], false);
    for frame in [
        message("m", "hello"),
        json!({ "type": "cancel_message", "id": "m" }),
        json!({ "type": "decide", "id": 1, "choice": "accept" }),
        json!({ "type": "write", "on": true }),
    ] {
        let (_, reason) = refused(&mut socket, frame).await;
        assert_eq!(reason, "only reading is allowed: web.write is false");
    }
    let (error, _) = refused(&mut socket, message("m", "hello")).await;
    assert_eq!(error, "Failed to send message to session", "as the seed has it");
}

#[tokio::test]
async fn a_page_says_first_that_it_wants_to_write() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    lab.append("s", &lines(0..2));
    let code = lab.handle.code().unwrap();
    let login = json!({ "code": code.reveal() }).to_string();
    let answer = lab.ask("POST /api/login", &[&lab.host(), &lab.origin()], &login).await;
    assert_eq!(body(&answer)["ok"], true);
    let cookie = answer
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let cookie = format!("Cookie: {}", cookie.unwrap().1.split(';').next().unwrap());
    let path = "/api/claude/sessions/s/subscribe";
    let mut page = lab.knock(path, &[&lab.host(), &lab.origin(), &cookie]).await.unwrap();
    page.history().await;
    let (_, reason) = refused(&mut page, message("m", "hello")).await;
    assert!(reason.contains("writing is off"), "{reason}");
    page.say(json!({ "type": "write", "on": true })).await;
    assert_eq!(page.frame("writing").await, json!({ "type": "writing", "on": true, "commands": false }));
    assert_eq!(page.frame("state").await["canWrite"], true);
    page.say(message("m", "hello")).await;
    assert_eq!(delivered(&mut asks).await.1, "hello");
    page.say(json!({ "type": "write", "on": false })).await;
    assert_eq!(page.frame("state").await["canWrite"], false);
    refused(&mut page, message("n", "hello")).await;
}

#[tokio::test]
async fn messages_go_one_after_the_other_and_each_ends_in_its_line() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let (mut socket, mut other) = (open(&lab).await, lab.subscribe("s", "?last=0").await);
    other.frame("caught_up").await;
    for id in ["a", "b", "c"] {
        socket.say(message(id, &format!("text {id}"))).await;
    }
    for (number, id) in ["a", "b", "c"].into_iter().enumerate() {
        let (key, text) = delivered(&mut asks).await;
        assert_eq!(text, format!("text {id}"));
        assert!(asks.try_recv().is_err(), "one at a time");
        lab.handle.tell(Told::Sent { key });
        lab.append("s", &[user(&format!("other{number}"), "somebody else's"), user(&format!("uuid-{id}"), &text)]);
        for reader in [&mut socket, &mut other] {
            assert_eq!(reader.frame("ack").await, json!({ "type": "ack", "id": id, "uuid": format!("uuid-{id}") }));
        }
    }
}

#[tokio::test]
async fn what_waits_is_told_with_its_place_and_to_who_comes_later() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(message("a", "one")).await;
    socket.say(message("b", "two")).await;
    let queued = |id: &str, position: usize, content: &str| json!({ "type": "queued", "id": id, "position": position, "content": content });
    assert_eq!(socket.frame("queued").await, queued("a", 1, "one"));
    assert_eq!(socket.frame("queued").await, queued("b", 2, "two"));
    let mut late = lab.subscribe("s", "?last=0").await;
    assert_eq!(late.frame("queued").await, queued("a", 1, "one"));
    assert_eq!(late.frame("queued").await, queued("b", 2, "two"));
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Told::Sent { key });
    assert_eq!(late.frame("sent").await, json!({ "type": "sent", "id": "a" }));
    assert_eq!(late.frame("queued").await, queued("b", 1, "two"));
}

#[tokio::test]
async fn what_claude_does_not_have_can_be_taken_back_once() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    for id in ["a", "b"] {
        socket.say(message(id, id)).await;
    }
    let (key, _) = delivered(&mut asks).await;
    let cancel = |id: &str| json!({ "type": "cancel_message", "id": id });
    let cancelled = |id: &str| json!({ "type": "unqueued", "id": id, "reason": "cancelled" });
    socket.say(cancel("b")).await;
    assert_eq!(socket.frame("unqueued").await, cancelled("b"));
    socket.say(cancel("a")).await;
    assert_eq!(asked(&mut asks).await, Ask::TakeBack { key });
    lab.handle.tell(Told::Failed { key, reason: "cancelled".to_owned(), all: false });
    assert_eq!(socket.frame("unqueued").await, cancelled("a"));
    // The editor was faster.
    socket.say(message("c", "c")).await;
    let (key, _) = delivered(&mut asks).await;
    socket.say(cancel("c")).await;
    assert_eq!(asked(&mut asks).await, Ask::TakeBack { key });
    lab.handle.tell(Told::Sent { key });
    assert_eq!(socket.frame("error").await["id"], "c");
    for id in ["c", "a", "nobody"] {
        refused(&mut socket, cancel(id)).await;
    }
}

#[tokio::test]
async fn a_message_that_comes_twice_is_delivered_once_and_its_news_are_told_again() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(message("a", "one")).await;
    let (key, _) = delivered(&mut asks).await;
    drop(socket);
    let mut socket = lab.subscribe("s", "?last=0").await;
    socket.frame("caught_up").await;
    socket.say(message("a", "one")).await;
    assert_eq!(socket.frame("queued").await["id"], "a");
    lab.handle.tell(Told::Sent { key });
    lab.append("s", &[user("u", "one")]);
    let ack = socket.frame("ack").await;
    socket.say(message("a", "one")).await;
    assert_eq!(socket.frame("ack").await, ack);
    socket.say(message("z", "last")).await;
    assert_eq!(delivered(&mut asks).await.1, "last", "and nothing between");
}

#[tokio::test]
async fn words_alone_are_delivered_and_commands_only_where_they_are_allowed() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(message("a", "\u{1b}[201~one\r\ntwo\u{3}\u{202e}\u{1b}]0;x\u{7}!")).await;
    assert_eq!(delivered(&mut asks).await.1, "one\ntwo!");
    for content in ["/clear", "!ls", "# note", "&x", "exit", " \u{feff}/clear", "\u{1b}[1m/clear"] {
        let (_, reason) = refused(&mut socket, message("b", content)).await;
        assert!(reason.starts_with("commands are not allowed"), "{content:?}: {reason}");
    }
    let (_, reason) = refused(&mut socket, message("b", " \u{1b}[2J\r\n")).await;
    assert!(reason.starts_with("nothing is left"), "{reason}");
    let (lab, mut asks) = Lab::writable(Limits::default(), true);
    let mut socket = open(&lab).await;
    socket.say(message("a", "/clear")).await;
    assert!(matches!(asked(&mut asks).await, Ask::Deliver { command: true, .. }));
}

#[tokio::test]
async fn what_waits_and_what_comes_at_once_is_bounded() {
    let limits = Limits { messages: 3, message_bytes: 100, ..Limits::default() };
    let (lab, _asks) = Lab::writable(limits, false);
    let mut socket = open(&lab).await;
    let (_, reason) = refused(&mut socket, message("x", &"y".repeat(101))).await;
    assert_eq!(reason, "a message has at most 100 bytes");
    for id in ["", "a b", &"x".repeat(129)] {
        socket.say(message(id, "y")).await;
        assert!(socket.frame("error").await["reason"].as_str().unwrap().starts_with("an id"));
    }
    for id in ["a", "b", "c"] {
        socket.say(message(id, id)).await;
    }
    let (_, reason) = refused(&mut socket, message("d", "d")).await;
    assert_eq!(reason, "3 messages wait already");
    let limits = Limits { messages: 100, burst: 5, ..Limits::default() };
    let (lab, _asks) = Lab::writable(limits, false);
    let mut socket = open(&lab).await;
    for number in 0..50 {
        socket.say(message(&format!("n{number}"), "y")).await;
    }
    assert_eq!(socket.frame("error").await["reason"], "too much at once: wait a moment");
}

#[tokio::test]
async fn one_that_is_not_delivered_says_why_and_those_behind_it_go_too_where_nobody_is_left() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    for id in ["a", "b", "c"] {
        socket.say(message(id, id)).await;
    }
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Told::Failed { key, reason: "it runs elsewhere".to_owned(), all: false });
    assert_eq!(socket.frame("unqueued").await["reason"], "it runs elsewhere");
    let (key, text) = delivered(&mut asks).await;
    assert_eq!(text, "b");
    lab.handle.tell(Told::Failed { key, reason: "Claude has ended".to_owned(), all: true });
    for id in ["b", "c"] {
        let expected = json!({ "type": "unqueued", "id": id, "reason": "Claude has ended" });
        assert_eq!(socket.frame("unqueued").await, expected);
    }
}

#[tokio::test]
async fn a_message_that_never_appears_is_given_up() {
    let limits = Limits { ack: Duration::from_millis(200), ..Limits::default() };
    let (lab, mut asks) = Lab::writable(limits, false);
    // Of the same words, but before.
    lab.append("s", &[user("before", "lost")]);
    let mut socket = open(&lab).await;
    socket.say(message("a", "lost")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Told::Sent { key });
    let given_up = socket.frame("unqueued").await;
    assert!(given_up["reason"].as_str().unwrap().contains("nobody knows"), "{given_up}");
}

#[tokio::test]
async fn what_a_person_typed_while_it_waited_is_not_taken_for_it() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(message("a", "go on")).await;
    let (key, _) = delivered(&mut asks).await;
    for uuid in ["typed", "later"] {
        lab.append("s", &[user(uuid, "go on")]);
        while socket.next().await.expect("an open socket")["uuid"] != uuid {}
    }
    // Who sees to the message has heard of it as the socket has: it gets its turn.
    for _ in 0..3 {
        lab.get("/api/claude/sessions").await;
    }
    lab.handle.tell(Told::Sent { key });
    lab.append("s", &[user("mine", "go on")]);
    assert_eq!(socket.frame("ack").await["uuid"], "mine");
}

#[tokio::test]
async fn an_ack_follows_the_process_over_clear() {
    let (lab, mut asks) = Lab::writable(Limits::default(), true);
    lab.record("s", "idle", "");
    let mut socket = open(&lab).await;
    socket.say(message("a", "/clear")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Told::Sent { key });
    lab.record("t", "idle", "");
    lab.append("t", &[user("cleared", "<command-name>/clear</command-name><command-args></command-args>")]);
    assert_eq!(socket.frame("ack").await, json!({ "type": "ack", "id": "a", "uuid": "cleared" }));
}

#[tokio::test]
async fn after_clear_it_goes_to_a_session_that_has_no_file_yet() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    lab.record("s", "idle", "");
    let mut socket = open(&lab).await;
    lab.record("t", "idle", "");
    assert_eq!(socket.frame("session").await["sessionId"], "t");
    socket.say(message("a", "first")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.append("t", &[user("u-first", "first")]);
    lab.handle.tell(Told::Sent { key });
    assert_eq!(socket.frame("ack").await["uuid"], "u-first");
}

fn decision(id: u64, session: &str) -> Told {
    let choice = |id: &str, message: bool| Choice { id: id.to_owned(), label: id.to_owned(), message, answers: false };
    let about = json!({ "kind": "permission", "title": "Bash", "text": "ls" });
    Told::Decision(Decision {
        id,
        session: session.to_owned(),
        choices: vec![choice("allow", false), choice("reject", true)],
        about: about.as_object().unwrap().clone(),
    })
}

#[tokio::test]
async fn a_decision_is_told_to_its_session_answered_and_closed_for_all() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    lab.append("t", &lines(0..1));
    let mut elsewhere = lab.subscribe("t", "").await;
    elsewhere.history().await;
    lab.handle.tell(decision(7, "s"));
    let told = socket.frame("decision").await;
    assert_eq!(
        (&told["id"], &told["kind"], &told["choices"][0]["id"]),
        (&json!(7), &json!("permission"), &json!("allow"))
    );
    let mut late = lab.subscribe("s", "?last=0").await;
    assert_eq!(late.frame("decision").await, told);
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
    lab.handle.tell(Told::Closed { id: 7, outcome: "rejected".to_owned() });
    lab.handle.tell(Told::Decided { key, error: None });
    for reader in [&mut socket, &mut late] {
        let closed = json!({ "type": "decision_closed", "id": 7, "outcome": "rejected" });
        assert_eq!(reader.frame("decision_closed").await, closed);
    }
    assert!(refused(&mut late, decide("allow")).await.1.starts_with("nothing of that number"));
    lab.append("t", &[line(1)]);
    assert_eq!(elsewhere.uuids(1).await, ["u1"], "and heard of none of it");
}

#[tokio::test]
async fn who_answered_too_late_is_told_so_alone() {
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
        lab.handle.tell(Told::Decided { key, error });
    }
    lab.handle.tell(Told::Closed { id: 7, outcome: "accepted".to_owned() });
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

fn text_of(frames: &[Json]) -> String {
    frames.iter().filter_map(|frame| frame["event"]["delta"]["text"].as_str()).collect()
}

#[tokio::test]
async fn what_claude_says_is_told_as_it_is_said_from_the_start_of_a_message() {
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

#[tokio::test]
async fn frames_of_another_form_are_refused_and_name_what_they_were_for() {
    let (lab, _asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    for (frame, error) in [
        (json!({ "type": "user_message", "id": "a", "content": 1 }), "Failed to send message to session"),
        (json!({ "type": "cancel_message" }), "Failed to cancel message"),
        (json!({ "type": "decide", "id": "seven", "choice": "x" }), "Failed to decide"),
        (json!({ "type": "write", "on": "yes" }), "Failed to turn writing on"),
        (json!({ "type": "eval" }), "Unknown message: expected {\"type\":\"subscribe\"}"),
    ] {
        socket.say(frame.clone()).await;
        let told = socket.frame("error").await;
        assert_eq!((told["error"].as_str(), told.get("id")), (Some(error), frame.get("id")), "{frame}");
    }
}
