use std::sync::PoisonError;

use super::*;

/// Accepts a limited number of requests, and keeps them.
struct Takes(Mutex<(usize, Vec<Ask>)>);

impl Takes {
    fn most(count: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new((count, Vec::new()))))
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.len()
    }
}

impl crate::editor::Editor for Takes {
    fn ask(&self, ask: Ask) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (most, asked) = &mut *state;
        let fits = asked.len() < *most;
        if fits {
            asked.push(ask);
        }
        fits
    }
}

fn broker(editor: &Arc<Takes>) -> (Broker, mpsc::Receiver<String>) {
    let editor: Arc<dyn crate::editor::Editor> = Arc::<Takes>::clone(editor);
    Broker::new(Some(Writing { editor, commands: false }), Limits::default())
}

fn from(session: &str) -> Requester<'_> {
    Requester { session, before: None, socket: 1, runs: true }
}

/// Posts a message and handles it until its line, like a delivery worker.
fn see_through(broker: &Broker, session: &str, id: &str) {
    assert_eq!(broker.post(from(session), true, "hello", Some(id.to_owned())), None);
    let (queued, _) = broker.next(session).unwrap();
    broker.deliver(session, &queued);
    broker.take(Report::Sent { key: queued.key });
    broker.end(session, queued.key, End::Ack("u".to_owned()));
    assert!(broker.next(session).is_none(), "the delivery worker goes");
}

#[test]
fn a_message_that_ended_is_known_when_its_page_comes_back() {
    let editor = Takes::most(9);
    let (broker, _wanted) = broker(&editor);
    drop(broker.listen("s").unwrap());
    see_through(&broker, "s", "m1");
    for kind in ["message_start", "content_block_delta", "message_stop"] {
        broker.say("s", kind, "{}");
    }
    let _ears = broker.listen("s").unwrap();
    let answer = broker.post(from("s"), true, "hello", Some("m1".to_owned()));
    assert_eq!(answer, Some(End::Ack("u".to_owned()).text("m1")));
    assert!(broker.next("s").is_none() && editor.asked() == 1, "it is delivered once");
}

#[test]
fn remembered_messages_are_evicted_only_when_full_and_oldest_first() {
    let editor = Takes::most(9);
    let (broker, _wanted) = broker(&editor);
    for (session, id) in [("old", "m1"), ("new", "m2")] {
        see_through(&broker, session, id);
    }
    // Claude was interrupted within a reply, and no reader is connected.
    for number in 2..MAX_TOPICS {
        broker.say(&format!("cut{number}"), "message_start", "{}");
    }
    let known = |session: &str| broker.lock().topics.get(session).is_some_and(|topic| !topic.outbox.is_forgotten());
    let mut subscription: Vec<_> =
        (2..MAX_TOPICS).map(|number| broker.listen(&format!("reads{number}")).unwrap()).collect();
    assert!(known("old") && known("new"));
    subscription.push(broker.listen("one more").unwrap());
    assert!(!known("old") && known("new"));
    subscription.push(broker.listen("and one").unwrap());
    assert!(broker.listen("too many").is_none(), "those that are read stay");
}

#[test]
fn a_cancel_that_the_editor_does_not_take_is_refused() {
    let editor = Takes::most(1);
    let (broker, _wanted) = broker(&editor);
    broker.post(from("s"), true, "hello", Some("m1".to_owned()));
    let (queued, _) = broker.next("s").unwrap();
    broker.deliver("s", &queued);
    let answer = broker.cancel(from("s"), true, "m1").unwrap();
    assert!(answer.contains(BUSY) && answer.contains("m1"), "{answer}");
    assert!(broker.lock().asked.is_empty() && broker.next("s").is_some(), "it still waits");
}
