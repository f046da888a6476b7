//! The queue without a Neovim.

use std::sync::atomic::Ordering;

use claude_ide_server::{ClientEvent, ClientId, ClientInfo, ClientState};
use serde_json::json;

use super::*;
use crate::clients::{ServerEnded, announce};
use crate::lua::testing::counting_handle;

fn queue() -> Arc<Queue> {
    Arc::default()
}

fn call(client: u64, args: Json) -> EditorCall {
    let Json::Object(args) = args else { panic!("arguments are an object") };
    EditorCall { client: ClientId::new(client), name: "open_diff", args, progress: None }
}

fn client(id: u64) -> ClientInfo {
    ClientInfo {
        endpoint: "ide",
        id: ClientId::new(id),
        state: ClientState::Connected,
        name: None,
        version: None,
        pid: None,
        mapped: false,
        unsupported: false,
        run: None,
        protocol: None,
        roots: Vec::new(),
    }
}

fn gone(id: u64) -> ClientEvent {
    ClientEvent::Disconnected { client: client(id), reason: "closed".to_owned() }
}

/// An event's type, and the id of its call or client.
fn summary(event: &Value) -> (String, u64) {
    let Value::Table(fields) = event else { panic!("an event is a table") };
    let field = |name| fields.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
    let Some(Value::Text(kind)) = field("type") else { panic!("an event has a type") };
    let id = match (field("id"), field("client")) {
        (Some(Value::Id(id)), _) => id,
        (None, Some(Value::Json(client))) => client["id"].as_u64().unwrap(),
        other => panic!("an event names a call or a client: {other:?}"),
    };
    (kind.to_owned(), id)
}

fn drain(queue: &Queue) -> Vec<(String, u64)> {
    std::iter::from_fn(|| queue.poll()).map(|event| summary(&event)).collect()
}

fn expect(events: &[(&str, u64)]) -> Vec<(String, u64)> {
    events.iter().map(|&(kind, id)| (kind.to_owned(), id)).collect()
}

#[test]
fn gives_events_in_the_order_in_which_they_came() {
    let queue = queue();
    announce(&queue, ClientEvent::Connected(client(7)));
    let _first = queue.submit(call(7, json!({}))).unwrap();
    announce(&queue, ClientEvent::Ready(client(7)));
    let _second = queue.submit(call(7, json!({}))).unwrap();
    assert_eq!(drain(&queue), expect(&[("client_connected", 7), ("call", 1), ("client_ready", 7), ("call", 2)]));
    assert_eq!(queue.len(), 0);
}

#[test]
fn wakes_once_for_a_burst_and_at_once_for_what_waited_before() {
    let queue = queue();
    announce(&queue, ClientEvent::Connected(client(1)));
    let (handle, rings) = counting_handle();
    queue.arm(Ringer::Server, handle);
    assert_eq!(rings.load(Ordering::Relaxed), 1);
    let _tickets: Vec<Ticket> = (0..100).map(|_| queue.submit(call(1, json!({}))).unwrap()).collect();
    assert_eq!(rings.load(Ordering::Relaxed), 1);
    assert_eq!(drain(&queue).len(), 101);
    announce(&queue, gone(1));
    assert_eq!(rings.load(Ordering::Relaxed), 2);
    queue.disarm(Ringer::Server);
    drain(&queue);
    queue.put(ServerEnded);
    assert_eq!(rings.load(Ordering::Relaxed), 2);
}

#[test]
fn an_answer_reaches_its_caller_once() {
    let queue = queue();
    let mut ticket = queue.submit(call(1, json!({}))).unwrap();
    assert!(!queue.answer(1, Reply::Result(b"1".to_vec())), "Lua has not seen the call");
    assert_eq!(drain(&queue), expect(&[("call", 1)]));
    assert!(queue.answer(1, Reply::Result(b"1".to_vec())));
    assert!(!queue.answer(1, Reply::Failed("again".to_owned())));
    assert!(matches!(ticket.answer.try_recv(), Ok(Reply::Result(bytes)) if bytes == b"1"));
    drop(ticket);
    assert_eq!(drain(&queue), []);
    assert_eq!(queue.unanswered(), 0);
}

#[test]
fn a_cancellation_is_reported_only_for_a_delivered_call() {
    let queue = queue();
    let seen = queue.submit(call(1, json!({}))).unwrap();
    assert_eq!(drain(&queue), expect(&[("call", 1)]));
    let unseen = queue.submit(call(1, json!({}))).unwrap();
    drop(unseen);
    drop(seen);
    assert_eq!(drain(&queue), expect(&[("cancel", 1)]));
    assert!(!queue.answer(1, Reply::Failed("too late".to_owned())));
    assert_eq!(queue.unanswered(), 0);
}

#[test]
fn a_client_that_came_and_went_between_polls_is_never_reported() {
    let queue = queue();
    for id in 1..=1_000 {
        announce(&queue, ClientEvent::Connected(client(id)));
        announce(&queue, ClientEvent::Ready(client(id)));
        announce(&queue, gone(id));
    }
    assert_eq!(queue.len(), 0);
    assert!(queue.poll().is_none());
}

#[test]
fn the_end_of_a_client_replaces_its_pending_events() {
    let queue = queue();
    announce(&queue, ClientEvent::Connected(client(1)));
    assert_eq!(drain(&queue), expect(&[("client_connected", 1)]));
    announce(&queue, ClientEvent::Ready(client(1)));
    announce(&queue, ClientEvent::Connected(client(2)));
    announce(&queue, gone(1));
    assert_eq!(drain(&queue), expect(&[("client_connected", 2), ("client_disconnected", 1)]));
}

#[test]
fn the_end_of_a_client_comes_before_the_cancellation_of_its_calls() {
    let queue = queue();
    announce(&queue, ClientEvent::Connected(client(1)));
    let seen = queue.submit(call(1, json!({}))).unwrap();
    assert_eq!(drain(&queue), expect(&[("client_connected", 1), ("call", 1)]));
    let unseen = queue.submit(call(1, json!({}))).unwrap();
    announce(&queue, gone(1));
    drop((seen, unseen));
    assert_eq!(drain(&queue), expect(&[("client_disconnected", 1), ("cancel", 1)]));
}

#[test]
fn newer_knowledge_of_a_client_replaces_older() {
    let queue = queue();
    announce(&queue, ClientEvent::Connected(client(1)));
    for pid in 1..=1_000 {
        announce(&queue, ClientEvent::Changed(ClientInfo { pid: Some(pid), ..client(1) }));
    }
    assert_eq!(queue.len(), 1);
    let Some(Value::Table(fields)) = queue.poll() else { panic!("the news is there") };
    assert!(fields.iter().any(|(_, value)| matches!(value, Value::Json(client) if client["pid"] == 1_000)));
}

#[test]
fn calls_beyond_the_bound_are_refused_until_some_are_taken() {
    let queue = queue();
    let tickets: Vec<Ticket> = (0..16_384).map(|_| queue.submit(call(1, json!({}))).unwrap()).collect();
    assert_eq!(queue.submit(call(1, json!({}))).unwrap_err(), Refusal::Full);
    assert!(queue.poll().is_some());
    let _one_more = queue.submit(call(1, json!({}))).unwrap();
    assert_eq!(queue.submit(call(1, json!({}))).unwrap_err(), Refusal::Full);
    drop(tickets);
    assert_eq!(drain(&queue), expect(&[("call", 16_385), ("cancel", 1)]));
}

#[test]
fn calls_are_weighed_too() {
    let queue = queue();
    let large = "x".repeat(100 << 20);
    let first = queue.submit(call(1, json!({ "text": large }))).unwrap();
    let _second = queue.submit(call(1, json!({ "text": large }))).unwrap();
    assert_eq!(queue.submit(call(1, json!({ "text": large }))).unwrap_err(), Refusal::Full);
    drop(first);
    let _third = queue.submit(call(1, json!({ "text": large }))).unwrap();
}

#[test]
fn cancelled_calls_leave_nothing_behind_without_a_poll() {
    let queue = queue();
    for _ in 0..100_000 {
        drop(queue.submit(call(1, json!({}))).unwrap());
    }
    let state = queue.lock();
    assert!(state.waiting.is_empty());
    assert!(state.calls.is_empty());
}

#[test]
fn arguments_that_nest_too_deeply_are_refused() {
    let nested = |depth: usize| {
        let mut args = json!({});
        for _ in 1..depth {
            args = json!({ "in": args });
        }
        args
    };
    let queue = queue();
    assert!(queue.submit(call(1, nested(value::MAX_DEPTH))).is_ok());
    assert_eq!(queue.submit(call(1, nested(value::MAX_DEPTH + 1))).unwrap_err(), Refusal::TooDeep);
}
