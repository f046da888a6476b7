use std::sync::PoisonError;

use super::*;

/// Takes so many things on, and keeps them.
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

fn desk(editor: &Arc<Takes>) -> (Desk, mpsc::Receiver<String>) {
    let editor: Arc<dyn crate::editor::Editor> = Arc::<Takes>::clone(editor);
    Desk::new(Some(Writing { editor, commands: false }), Limits::default())
}

fn from(session: &str) -> From<'_> {
    From { session, before: None, socket: 1, runs: true }
}

/// Posts a message and sees it through to its line, as a courier does.
fn see_through(desk: &Desk, session: &str, id: &str) {
    assert_eq!(desk.post(from(session), true, "hello", Some(id.to_owned())), None);
    let (parcel, _) = desk.next(session).unwrap();
    desk.deliver(session, &parcel);
    desk.take(Told::Sent { key: parcel.key });
    desk.end(session, parcel.key, End::Ack("u".to_owned()));
    assert!(desk.next(session).is_none(), "the courier goes");
}

#[test]
fn a_message_that_ended_is_known_when_its_page_comes_back() {
    let editor = Takes::most(9);
    let (desk, _wanted) = desk(&editor);
    drop(desk.listen("s").unwrap());
    see_through(&desk, "s", "m1");
    for kind in ["message_start", "content_block_delta", "message_stop"] {
        desk.say("s", kind, "{}");
    }
    let _ears = desk.listen("s").unwrap();
    let told = desk.post(from("s"), true, "hello", Some("m1".to_owned()));
    assert_eq!(told, Some(End::Ack("u".to_owned()).text("m1")));
    assert!(desk.next("s").is_none() && editor.asked() == 1, "it is delivered once");
}

#[test]
fn what_is_remembered_makes_room_only_where_there_is_none_and_the_oldest_first() {
    let editor = Takes::most(9);
    let (desk, _wanted) = desk(&editor);
    for (session, id) in [("old", "m1"), ("new", "m2")] {
        see_through(&desk, session, id);
    }
    // Claude was ended in the middle of what it said, and nobody reads that.
    for number in 2..MAX_ROOMS {
        desk.say(&format!("cut{number}"), "message_start", "{}");
    }
    let known = |session: &str| desk.lock().rooms.get(session).is_some_and(|room| !room.outbox.is_forgotten());
    let mut ears: Vec<_> = (2..MAX_ROOMS).map(|number| desk.listen(&format!("reads{number}")).unwrap()).collect();
    assert!(known("old") && known("new"));
    ears.push(desk.listen("one more").unwrap());
    assert!(!known("old") && known("new"));
    ears.push(desk.listen("and one").unwrap());
    assert!(desk.listen("too many").is_none(), "those that are read stay");
}

#[test]
fn a_cancel_that_the_editor_does_not_take_is_refused() {
    let editor = Takes::most(1);
    let (desk, _wanted) = desk(&editor);
    desk.post(from("s"), true, "hello", Some("m1".to_owned()));
    let (parcel, _) = desk.next("s").unwrap();
    desk.deliver("s", &parcel);
    let told = desk.cancel(from("s"), true, "m1").unwrap();
    assert!(told.contains(BUSY) && told.contains("m1"), "{told}");
    assert!(desk.lock().asked.is_empty() && desk.next("s").is_some(), "it still waits");
}
