//! What the mailbox promises, without a Neovim.

use claude_ide_session::{Activity, LiveSession, Liveness, SessionId, SessionState, StateSource};
use serde_json::json;

use super::*;

fn delta(from: usize, len: usize, changed: &[usize]) -> Change {
    Change { delta: Delta { reset: false, from, len, changed: changed.to_vec() }, shift: None }
}

fn reset(len: usize, shift: Option<usize>) -> Change {
    Change { delta: Delta { reset: true, from: 0, len, changed: Vec::new() }, shift }
}

fn live(pid: u32, id: &str, activity: Activity, previous: Option<&str>) -> LiveChange {
    let state = SessionState { activity, waiting_for: None, since: None, source: StateSource::Record };
    let session = LiveSession {
        pid,
        id: SessionId::new(id),
        cwd: "/p".into(),
        name: None,
        kind: None,
        entrypoint: None,
        version: None,
        started: None,
        state,
        liveness: Liveness::Alive,
    };
    LiveChange { session, previous: previous.map(SessionId::new) }
}

/// Takes everything, as JSON.
fn drain(mailbox: &mut Mailbox) -> Vec<Json> {
    let field = |value| match value {
        Value::Id(id) => json!(id),
        Value::Text(text) => json!(text),
        Value::Json(json) => json,
        other => panic!("unexpected {other:?}"),
    };
    let events = std::iter::from_fn(|| mailbox.take());
    let object = |event| match event {
        Value::Table(fields) => {
            Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), field(value))).collect())
        }
        other => panic!("unexpected {other:?}"),
    };
    events.map(object).collect()
}

#[test]
fn answers_a_request_once() {
    let mut mailbox = Mailbox::default();
    let id = mailbox.open().unwrap();
    mailbox.reply(id, Ok(json!(1)));
    mailbox.reply(id, Err("again".into()));
    mailbox.hit(id, json!("late"));
    assert_eq!(drain(&mut mailbox), [json!({ "type": "session_reply", "id": id, "result": 1 })]);
}

#[test]
fn says_nothing_of_what_was_cancelled() {
    let mut mailbox = Mailbox::default();
    let (gone, stays) = (mailbox.open().unwrap(), mailbox.open().unwrap());
    mailbox.hit(gone, json!(1));
    mailbox.reply(stays, Err("no".into()));
    assert!(mailbox.close(gone));
    assert!(!mailbox.close(gone));
    mailbox.hit(gone, json!(2));
    mailbox.change(gone, delta(0, 1, &[]), json!({}));
    mailbox.reply(gone, Ok(json!(3)));
    assert_eq!(drain(&mut mailbox), [json!({ "type": "session_reply", "id": stays, "err": "no" })]);
}

#[test]
fn hits_that_nobody_saw_come_together() {
    let mut mailbox = Mailbox::default();
    let id = mailbox.open().unwrap();
    mailbox.hit(id, json!(1));
    mailbox.hit(id, json!(2));
    mailbox.reply(id, Ok(json!("report")));
    let events = drain(&mut mailbox);
    assert_eq!(events[0]["hits"], json!([1, 2]));
    assert_eq!(events[1]["result"], json!("report"));
}

#[test]
fn changes_that_nobody_saw_are_one_and_do_not_overtake_replies() {
    let mut mailbox = Mailbox::default();
    let (transcript, question) = (mailbox.open().unwrap(), mailbox.open().unwrap());
    mailbox.opened(transcript, json!("open"));
    mailbox.change(transcript, delta(5, 7, &[1, 4]), json!("old"));
    mailbox.reply(question, Ok(json!("rows")));
    mailbox.change(transcript, delta(3, 9, &[2, 0]), json!("new"));
    let events = drain(&mut mailbox);
    assert_eq!(events[0]["result"], json!("open"));
    assert_eq!(events[1]["result"], json!("rows"));
    assert_eq!(events[2]["delta"], json!({ "reset": false, "from": 3, "len": 9, "changed": [0, 1, 2] }));
    assert_eq!(events[2]["info"], json!("new"));
    assert_eq!(events.len(), 3);
}

#[test]
fn a_replacement_makes_what_came_before_it_void() {
    let grown = delta(5, 6, &[]);
    assert_eq!(grown.clone().then(reset(9, Some(3))), reset(9, Some(3)));
    assert_eq!(reset(9, Some(3)).then(delta(9, 10, &[8])), reset(10, Some(3)));
    assert_eq!(reset(9, Some(3)).then(reset(2, Some(1))), reset(2, None), "two of them: nothing is known of old rows");
}

#[test]
fn a_running_session_that_changed_twice_is_told_of_once() {
    let mut mailbox = Mailbox::default();
    mailbox.live(live(1, "b", Activity::Working, Some("a")));
    mailbox.live(live(2, "x", Activity::Idle, None));
    mailbox.live(live(1, "c", Activity::Idle, Some("b")));
    let events = drain(&mut mailbox);
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["change"]["session"]["id"], json!("c"));
    assert_eq!(events[0]["change"]["previous"], json!("a"), "the last one that Lua knew of");
}

#[test]
fn requests_are_bounded() {
    let mut mailbox = Mailbox::default();
    let ids: Vec<_> = std::iter::from_fn(|| mailbox.open()).collect();
    assert_eq!(ids.len(), MAX_OPEN);
    mailbox.close(ids[0]);
    assert!(mailbox.open().is_some());
    mailbox.clear();
    assert!(mailbox.open().unwrap() > ids[MAX_OPEN - 1], "numbers are never used again");
}
