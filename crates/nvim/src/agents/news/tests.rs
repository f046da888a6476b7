//! Splitting of a chat's events.

use std::sync::Arc;

use claude_ide_agent::{Gate, Speaker, TextKind};

use super::*;
use crate::waiting::{Taken, Waiting};

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { by: Speaker::default(), block: 1, kind: TextKind::Text, text: text.to_owned() }
}

fn news(gate: &Arc<Gate>, events: Vec<AgentEvent>) -> ChatNews {
    let reserved = gate.hold(events.iter().map(AgentEvent::weight).sum());
    ChatNews::new(7, events, reserved)
}

/// The events of each poll.
fn looks(waiting: &mut Waiting) -> Vec<Vec<Json>> {
    let looks = std::iter::from_fn(|| waiting.pop()).map(Taken::into_value);
    let events = looks.map(|event| {
        let Value::Table(mut fields) = event else { panic!("an event is a table") };
        let Some(("events", Value::Json(Json::Array(events)))) = fields.pop() else { panic!("events are a list") };
        events
    });
    events.collect()
}

fn words(events: &[Json]) -> String {
    events.iter().map(|one| one["text"].as_str().unwrap_or("|")).collect()
}

#[test]
fn a_huge_text_is_taken_in_parts_in_order_and_whole() {
    let gate = Arc::default();
    let whole: String = (0..200_000).map(|number| format!("{number} ä€🦀\n")).collect();
    let mut waiting = Waiting::default();
    let events = vec![AgentEvent::Void, text(&whole), AgentEvent::Void, text("the end")];
    waiting.push(news(&gate, events)).unwrap();
    let looks = looks(&mut waiting);
    assert!(looks.len() >= whole.len() / AT_ONCE, "{}", looks.len());
    for events in &looks {
        assert!(words(events).len() <= AT_ONCE);
    }
    let all: String = looks.iter().map(|events| words(events)).collect();
    assert!(all == format!("|{whole}|the end"), "nothing is lost, nothing is cut within a character");
    assert_eq!(gate.bytes(), 0);
}

#[test]
fn taken_news_are_no_longer_held() {
    let gate = Arc::default();
    let mut waiting = Waiting::default();
    waiting.push(news(&gate, vec![text(&"x".repeat(10 * AT_ONCE))])).unwrap();
    let before = gate.bytes();
    waiting.pop().map(Taken::into_value).unwrap();
    assert!(gate.bytes() < before, "the agent's reader may continue");
    waiting.pop().map(Taken::into_value).unwrap();
    assert!(gate.bytes() <= before - 2 * AT_ONCE);
    drop(waiting);
    assert_eq!(gate.bytes(), 0);
}

#[test]
fn news_during_a_take_come_after_it() {
    let gate = Arc::default();
    let mut waiting = Waiting::default();
    waiting.push(news(&gate, vec![text(&"x".repeat(AT_ONCE + 1))])).unwrap();
    waiting.pop().unwrap();
    waiting.push(news(&gate, vec![text("y"), AgentEvent::Void])).unwrap();
    waiting.push(news(&gate, vec![AgentEvent::Void, text("z")])).unwrap();
    let looks = looks(&mut waiting);
    assert_eq!(looks.iter().map(|events| words(events)).collect::<Vec<_>>(), ["xy||z"], "small ones are one look");
    assert_eq!(looks[0].len(), 4, "and one text where they are of one");
}

#[test]
fn joined_texts_stay_small_and_many_small_events_are_split_too() {
    let gate = Arc::default();
    let mut waiting = Waiting::default();
    for _ in 0..1_000 {
        waiting.push(news(&gate, vec![text(&"x".repeat(1_000))])).unwrap();
    }
    let looked = looks(&mut waiting);
    assert!(looked.iter().flatten().all(|one| words(std::slice::from_ref(one)).len() <= AT_ONCE));
    assert_eq!(looked.iter().map(|events| words(events).len()).sum::<usize>(), 1_000_000);
    for number in 0..10_000 {
        waiting.push(news(&gate, vec![AgentEvent::Withdrawn { request: format!("{number}") }])).unwrap();
    }
    let looked = looks(&mut waiting);
    assert!(looked.len() > 10 && looked.iter().all(|events| events.len() < 2_000), "{}", looked.len());
    let numbers = looked.iter().flatten().map(|one| one["request"].as_str().unwrap().parse::<u32>().unwrap());
    assert!(numbers.eq(0..10_000));
}

#[test]
fn a_single_thing_without_text_comes_whole() {
    let gate = Arc::default();
    let mut waiting = Waiting::default();
    let text = "x".repeat(3 * AT_ONCE);
    waiting.push(news(&gate, vec![AgentEvent::Void, AgentEvent::Notice { text }, AgentEvent::Void])).unwrap();
    assert_eq!(looks(&mut waiting).iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
}
