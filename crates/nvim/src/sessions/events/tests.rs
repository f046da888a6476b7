//! The sessions' sink without a Neovim.

use claude_ide_session::{
    Activity, Change, ConfigDir, Delta, LiveSession, Liveness, SessionId, SessionState, StateSource,
};
use serde_json::json;

use super::*;

fn change(transcript: u64, from: usize, len: usize, changed: &[usize], info: Json) -> News {
    let delta = Delta { reset: false, from, len, changed: changed.to_vec() };
    News::Change { transcript, growth: Growth { change: Change { delta, shift: None }, info } }
}

fn reply(request: u64, result: Json) -> News {
    News::Reply { request, outcome: Ok(result) }
}

fn hit(request: u64, hit: Json) -> News {
    News::Hit { request, hit }
}

fn live(pid: u32, id: &str, activity: Activity, previous: Option<&str>) -> News {
    let state = SessionState { activity, waiting_for: None, since: None, source: StateSource::Record };
    let session = LiveSession {
        pid,
        config_dir: ConfigDir::at("/c"),
        id: SessionId::new(id),
        cwd: "/p".into(),
        name: None,
        kind: None,
        job: None,
        entrypoint: None,
        version: None,
        started: None,
        state,
        liveness: Liveness::Alive,
    };
    News::Live(LiveChange { session, previous: previous.map(SessionId::new) })
}

/// Takes everything, as JSON.
fn drain(queue: &Queue) -> Vec<Json> {
    let field = |value| match value {
        Value::Id(id) => json!(id),
        Value::Text(text) => json!(text),
        Value::Json(json) => json,
        other => panic!("unexpected {other:?}"),
    };
    let events = std::iter::from_fn(|| queue.poll());
    let object = |event| match event {
        Value::Table(fields) => {
            Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), field(value))).collect())
        }
        other => panic!("unexpected {other:?}"),
    };
    events.map(object).collect()
}

#[test]
fn an_answer_or_why_there_is_none() {
    let queue = Queue::default();
    queue.tell(reply(1, json!([2])));
    queue.tell(News::Reply { request: 2, outcome: Err("no".into()) });
    let expected = [
        json!({ "type": "session_reply", "id": 1, "result": [2] }),
        json!({ "type": "session_reply", "id": 2, "err": "no" }),
    ];
    assert_eq!(drain(&queue), expected);
}

#[test]
fn a_requests_pending_events_are_dropped_with_it() {
    let queue = Queue::default();
    queue.tell(hit(1, json!(1)));
    queue.tell(reply(1, json!(1)));
    queue.tell(change(1, 0, 1, &[], json!({})));
    queue.tell(reply(2, json!(2)));
    queue.forget(1);
    assert_eq!(drain(&queue), [json!({ "type": "session_reply", "id": 2, "result": 2 })]);
    queue.tell(reply(3, json!(3)));
    queue.change(clear);
    assert!(drain(&queue).is_empty());
}

#[test]
fn undelivered_hits_come_together() {
    let queue = Queue::default();
    queue.tell(hit(1, json!(1)));
    queue.tell(hit(1, json!(2)));
    queue.tell(reply(1, json!("report")));
    let events = drain(&queue);
    assert_eq!(events[0]["hits"], json!([1, 2]));
    assert_eq!(events[1]["result"], json!("report"));
}

#[test]
fn undelivered_changes_merge_and_do_not_overtake_replies() {
    let queue = Queue::default();
    queue.tell(reply(1, json!("open")));
    queue.tell(change(1, 5, 7, &[1, 4], json!("old")));
    queue.tell(reply(2, json!("rows")));
    queue.tell(change(1, 3, 9, &[2, 0], json!("new")));
    let events = drain(&queue);
    assert_eq!(events[0]["result"], json!("open"));
    assert_eq!(events[1]["result"], json!("rows"));
    assert_eq!(events[2]["delta"], json!({ "reset": false, "from": 3, "len": 9, "changed": [0, 1, 2] }));
    assert_eq!(events[2]["info"], json!("new"));
    assert_eq!(events.len(), 3);
}

#[test]
fn a_running_session_that_changed_twice_is_reported_once() {
    let queue = Queue::default();
    queue.tell(live(1, "b", Activity::Working, Some("a")));
    queue.tell(live(2, "x", Activity::Idle, None));
    queue.tell(live(1, "c", Activity::Idle, Some("b")));
    let events = drain(&queue);
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["change"]["session"]["id"], json!("c"));
    assert_eq!(events[0]["change"]["previous"], json!("a"), "the last one that Lua knew of");
}
