//! Splitting of a chat's events.

use std::sync::Arc;

use claude_ide_agent::{Gate, TextKind};

use super::*;

fn text(text: &str) -> Event {
    Event::Text { by: None, block: 1, kind: TextKind::Text, text: text.to_owned() }
}

fn put(inbox: &mut Inbox, gate: &Arc<Gate>, events: Vec<Event>) {
    let reserved = gate.hold(events.iter().map(Event::weight).sum());
    inbox.put(events, reserved);
}

/// The texts of the events; "|" for another event.
fn taken(inbox: &mut Inbox) -> Vec<String> {
    let events = std::iter::from_fn(|| inbox.next());
    let texts = events.map(|(event, _)| match event {
        Event::Text { text, .. } => text,
        _ => "|".to_owned(),
    });
    texts.collect()
}

#[test]
fn a_huge_text_is_taken_in_parts_in_order_and_whole() {
    let gate = Arc::default();
    let whole: String = (0..200_000).map(|number| format!("{number} ä€🦀\n")).collect();
    let mut inbox = Inbox::default();
    put(&mut inbox, &gate, vec![Event::Void, text(&whole), Event::Void, text("the end")]);
    let texts = taken(&mut inbox);
    assert!(texts.len() >= whole.len() / AT_ONCE && texts.iter().all(|text| text.len() <= AT_ONCE), "{}", texts.len());
    assert!(texts.concat() == format!("|{whole}|the end"), "nothing is lost, nothing is cut within a character");
    assert_eq!(gate.bytes(), 0);
}

#[test]
fn what_is_taken_is_no_longer_held() {
    let gate = Arc::default();
    let mut inbox = Inbox::default();
    put(&mut inbox, &gate, vec![text(&"x".repeat(10 * AT_ONCE))]);
    let before = gate.bytes();
    inbox.next().unwrap();
    assert!(gate.bytes() <= before - AT_ONCE, "the agent's reader may continue");
    inbox.next().unwrap();
    assert!(gate.bytes() <= before - 2 * AT_ONCE);
    drop(inbox);
    assert_eq!(gate.bytes(), 0);
}

#[test]
fn news_during_a_take_come_after_it_and_join_a_text() {
    let gate = Arc::default();
    let mut inbox = Inbox::default();
    put(&mut inbox, &gate, vec![text(&"x".repeat(AT_ONCE + 1))]);
    inbox.next().unwrap();
    put(&mut inbox, &gate, vec![text("y"), Event::Void]);
    put(&mut inbox, &gate, vec![Event::Void, text("z")]);
    assert_eq!(taken(&mut inbox), ["xy", "|", "|", "z"]);
}

#[test]
fn joined_texts_stay_small() {
    let gate = Arc::default();
    let mut inbox = Inbox::default();
    for _ in 0..1_000 {
        put(&mut inbox, &gate, vec![text(&"x".repeat(1_000))]);
    }
    let texts = taken(&mut inbox);
    assert!(texts.iter().all(|text| text.len() <= AT_ONCE));
    assert_eq!(texts.concat().len(), 1_000_000);
    assert_eq!(gate.bytes(), 0);
}
