//! A socket's messages; the test is the editor.

use std::time::Duration;

use crate::lab::{LONG, Lab, asked, body, delivered, lines, message, open, refused, user};
use claude_ide_web::{Ask, Limits, Report};
use serde_json::json;

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
    let path = "/api/claude/sessions/s/subscribe";
    let mut page = lab.knock(path, &[&lab.host(), &lab.origin()]).await.unwrap();
    page.say(json!({ "type": "auth", "token": body(&answer)["key"] })).await;
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
        lab.handle.tell(Report::Sent { key });
        lab.append("s", &[user(&format!("other{number}"), "somebody else's"), user(&format!("uuid-{id}"), &text)]);
        for reader in [&mut socket, &mut other] {
            assert_eq!(reader.frame("ack").await, json!({ "type": "ack", "id": id, "uuid": format!("uuid-{id}") }));
        }
    }
}

#[tokio::test]
async fn a_message_that_the_transcript_has_before_the_editor_says_so_is_found() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(message("a", "hello")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Report::Given { key });
    lab.append("s", &[user("u", "hello")]);
    socket.frame("user").await;
    lab.handle.tell(Report::Sent { key });
    assert_eq!(socket.frame("ack").await, json!({ "type": "ack", "id": "a", "uuid": "u" }));
}

#[tokio::test]
async fn queued_messages_are_shown_with_their_place_also_to_later_readers() {
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
    lab.handle.tell(Report::Sent { key });
    assert_eq!(late.frame("sent").await, json!({ "type": "sent", "id": "a" }));
    assert_eq!(late.frame("queued").await, queued("b", 1, "two"));
}

#[tokio::test]
async fn an_undelivered_message_can_be_withdrawn_once() {
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
    lab.handle.tell(Report::Failed { key, reason: "cancelled".to_owned(), all: false });
    assert_eq!(socket.frame("unqueued").await, cancelled("a"));
    // The editor was faster.
    socket.say(message("c", "c")).await;
    let (key, _) = delivered(&mut asks).await;
    socket.say(cancel("c")).await;
    assert_eq!(asked(&mut asks).await, Ask::TakeBack { key });
    lab.handle.tell(Report::Sent { key });
    assert_eq!(socket.frame("error").await["id"], "c");
    for id in ["c", "a", "nobody"] {
        refused(&mut socket, cancel(id)).await;
    }
}

#[tokio::test]
async fn a_message_that_comes_twice_is_delivered_once_and_its_state_sent_again() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(message("a", "one")).await;
    let (key, _) = delivered(&mut asks).await;
    drop(socket);
    let mut socket = lab.subscribe("s", "?last=0").await;
    socket.frame("caught_up").await;
    socket.say(message("a", "one")).await;
    assert_eq!(socket.frame("queued").await["id"], "a");
    lab.handle.tell(Report::Sent { key });
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
async fn queued_and_simultaneous_messages_are_bounded() {
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
async fn an_undelivered_message_says_why_and_those_behind_it_fail_without_a_receiver() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    for id in ["a", "b", "c"] {
        socket.say(message(id, id)).await;
    }
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Report::Failed { key, reason: "it runs elsewhere".to_owned(), all: false });
    assert_eq!(socket.frame("unqueued").await["reason"], "it runs elsewhere");
    let (key, text) = delivered(&mut asks).await;
    assert_eq!(text, "b");
    lab.handle.tell(Report::Failed { key, reason: "Claude has ended".to_owned(), all: true });
    for id in ["b", "c"] {
        let expected = json!({ "type": "unqueued", "id": id, "reason": "Claude has ended" });
        assert_eq!(socket.frame("unqueued").await, expected);
    }
}

#[tokio::test]
async fn a_message_that_never_appears_is_given_up() {
    let limits = Limits { ack: Duration::from_millis(200), ..Limits::default() };
    let (lab, mut asks) = Lab::writable(limits, false);
    // Has the same text, but came before.
    lab.append("s", &[user("before", "lost")]);
    let mut socket = open(&lab).await;
    socket.say(message("a", "lost")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Report::Sent { key });
    let given_up = socket.frame("unqueued").await;
    assert!(given_up["reason"].as_str().unwrap().contains("nobody knows"), "{given_up}");
}

/// The end of a background task starts a turn by itself: a prompt typed just then waits in the CLI for the end of a
/// call.
#[tokio::test]
async fn a_message_that_came_into_a_turn_is_looked_for_until_the_turn_is_over() {
    let limits = Limits { ack: Duration::ZERO, ..Limits::default() };
    let (lab, mut asks) = Lab::writable(limits, false);
    lab.run("s", "busy").await;
    let mut socket = open(&lab).await;
    for id in ["a", "b"] {
        socket.say(message(id, &format!("text {id}"))).await;
    }
    let (key, text) = delivered(&mut asks).await;
    lab.handle.tell(Report::Sent { key });
    let attachment = json!({ "type": "queued_command", "prompt": text, "humanTurn": true });
    let line = json!({ "type": "attachment", "uuid": "q", "parentUuid": "u1", "attachment": attachment });
    lab.append("s", &[user("other", "somebody else's"), line.to_string()]);
    let (mut ended, mut lines) = (Vec::new(), Vec::new());
    while ended.is_empty() || lines.len() < 2 {
        let frame = socket.next().await.unwrap();
        match frame["type"].as_str().unwrap() {
            "ack" | "unqueued" => ended.push(frame),
            "user" => lines.push(frame),
            _ => {}
        }
    }
    assert_eq!(ended, [json!({ "type": "ack", "id": "a", "uuid": "q" })]);
    assert_eq!(
        lines[1],
        json!({ "type": "user", "uuid": "q", "parentUuid": "u1", "message": { "role": "user", "content": text } })
    );
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Report::Sent { key });
    lab.record("s", "idle", "");
    assert_eq!(socket.frame("unqueued").await["id"], "b");
}

#[tokio::test]
async fn a_users_own_typing_is_not_taken_for_a_queued_message() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    socket.say(message("a", "go on")).await;
    let (key, _) = delivered(&mut asks).await;
    for uuid in ["typed", "later"] {
        lab.append("s", &[user(uuid, "go on")]);
        while socket.next().await.expect("an open socket")["uuid"] != uuid {}
    }
    // The delivery worker has the same news as the socket; all who read the transcript take turns.
    for _ in 0..3 {
        lab.subscribe("s", "?last=0").await.history().await;
    }
    lab.handle.tell(Report::Sent { key });
    lab.append("s", &[user("mine", "go on")]);
    assert_eq!(socket.frame("ack").await["uuid"], "mine");
}

#[tokio::test]
async fn the_editor_learns_whether_a_process_ran_the_session_at_the_time() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    let mut socket = open(&lab).await;
    for (id, status) in [("a", None), ("b", Some("busy"))] {
        if let Some(status) = status {
            lab.record("s", status, "");
            socket.frame("state").await;
        }
        socket.say(message(id, id)).await;
        let Ask::Deliver { key, ran, .. } = asked(&mut asks).await else { panic!("no message") };
        assert_eq!(ran, status.is_some());
        lab.handle.tell(Report::Failed { key, reason: "x".to_owned(), all: false });
    }
}

#[tokio::test]
async fn an_ack_follows_the_process_over_clear() {
    let (lab, mut asks) = Lab::writable(Limits::default(), true);
    lab.run("s", "idle").await;
    let mut socket = open(&lab).await;
    socket.say(message("a", "/clear")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Report::Sent { key });
    lab.record("t", "idle", "");
    lab.append("t", &[user("cleared", "<command-name>/clear</command-name><command-args></command-args>")]);
    assert_eq!(socket.frame("ack").await, json!({ "type": "ack", "id": "a", "uuid": "cleared" }));
}

#[tokio::test]
async fn a_reader_away_during_clear_does_not_send_a_message_again() {
    // A lost message is not reported before that.
    let (lab, mut asks) = Lab::writable(Limits { ack: LONG * 10, ..Limits::default() }, true);
    lab.run("s", "idle").await;
    let mut socket = open(&lab).await;
    socket.say(message("a", "/clear")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.handle.tell(Report::Sent { key });
    lab.record("t", "idle", "");
    assert_eq!(socket.frame("session").await["sessionId"], "t");
    drop(socket);
    lab.append("t", &[user("first", "something else")]);
    let mut socket = lab.subscribe("t", "").await;
    socket.history().await;
    socket.say(message("a", "/clear")).await;
    assert_eq!(socket.frame("sent").await["id"], "a");
    lab.append("t", &[user("cleared", "<command-name>/clear</command-name><command-args></command-args>")]);
    assert_eq!(socket.frame("ack").await, json!({ "type": "ack", "id": "a", "uuid": "cleared" }));
    socket.say(message("b", "last")).await;
    assert_eq!(delivered(&mut asks).await.1, "last", "and nothing between");
}

#[tokio::test]
async fn after_clear_it_goes_to_a_session_that_has_no_file_yet() {
    let (lab, mut asks) = Lab::writable(Limits::default(), false);
    lab.run("s", "idle").await;
    let mut socket = open(&lab).await;
    lab.record("t", "idle", "");
    assert_eq!(socket.frame("session").await["sessionId"], "t");
    socket.say(message("a", "first")).await;
    let (key, _) = delivered(&mut asks).await;
    lab.append("t", &[user("u-first", "first")]);
    lab.handle.tell(Report::Sent { key });
    assert_eq!(socket.frame("ack").await["uuid"], "u-first");
}

#[tokio::test]
async fn malformed_frames_are_refused_and_the_error_names_their_purpose() {
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
        let reply = socket.frame("error").await;
        assert_eq!((reply["error"].as_str(), reply.get("id")), (Some(error), frame.get("id")), "{frame}");
    }
}
