//! Requests end once, in order, and within limits.

use std::future::{pending, ready};

use serde_json::{Value, json, value::RawValue};

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    User,
    Disk,
}

impl Kind for WaitsFor {
    fn cost(self) -> usize {
        match self {
            Self::User => 0,
            Self::Disk => 2,
        }
    }
}

type Served = InFlight<WaitsFor, Value, Refusal>;

fn served() -> Served {
    InFlight::new(Limits { requests: 4, bytes: 100, cost: 4, batch_bytes: 60 })
}

fn id(number: u32) -> RequestId {
    RequestId::from_raw(&RawValue::from_string(number.to_string()).unwrap()).unwrap()
}

fn answered(served: &mut Served, number: u32, batch: Option<BatchId>) {
    served.begin(id(number), batch, 10, Box::new(|| Box::pin(ready(Ok(json!("x"))))), WaitsFor::Disk);
}

fn open(served: &mut Served, number: u32, kind: WaitsFor) {
    served.begin(id(number), None, 10, Box::new(|| Box::pin(pending())), kind);
}

fn settled(served: &mut Served) -> Vec<String> {
    served.start_waiting();
    let answers = std::iter::from_fn(|| served.settle_now()).flatten();
    answers.map(|answer| String::from_utf8(answer).unwrap()).collect()
}

#[test]
fn a_begun_request_is_answered_once_and_frees_its_id() {
    let mut served = served();
    answered(&mut served, 1, None);
    assert_eq!(served.is_free(&id(1)), Err(Refusal::IdInUse(id(1))));
    assert_eq!(settled(&mut served), [r#"{"jsonrpc":"2.0","id":1,"result":"x"}"#]);
    assert_eq!(settled(&mut served), [""; 0]);
    assert!(served.is_free(&id(1)).is_ok() && served.is_empty());
}

#[test]
fn a_cancelled_request_is_neither_answered_nor_begun() {
    let mut served = served();
    served.begin(id(1), None, 10, Box::new(|| panic!("it was cancelled")), WaitsFor::Disk);
    assert!(served.cancel(&id(1)));
    assert!(!served.cancel(&id(2)));
    assert_eq!(settled(&mut served), [""; 0]);
    assert_eq!(served.len(), 0);
}

#[test]
fn only_as_much_runs_as_its_answers_have_room_for_and_a_user_holds_up_nothing() {
    let mut served = served();
    open(&mut served, 1, WaitsFor::Disk);
    open(&mut served, 2, WaitsFor::User);
    open(&mut served, 3, WaitsFor::Disk);
    answered(&mut served, 4, None);
    assert_eq!(settled(&mut served), [""; 0], "the fourth waits");
    served.cancel(&id(1));
    assert_eq!(settled(&mut served), [""; 0]);
    assert_eq!(settled(&mut served), [r#"{"jsonrpc":"2.0","id":4,"result":"x"}"#]);
}

#[test]
fn both_number_and_size_are_bounded() {
    let mut served = served();
    assert!(served.has_room(1000).is_ok(), "one may be as large as a message can be");
    open(&mut served, 1, WaitsFor::User);
    assert_eq!(served.has_room(91), Err(Refusal::TooLarge { limit: 100 }));
    for number in 2..=4 {
        assert!(served.has_room(10).is_ok());
        open(&mut served, number, WaitsFor::User);
    }
    assert_eq!(served.has_room(0), Err(Refusal::TooMany { limit: 4 }));
}

#[test]
fn giving_up_answers_only_the_requests_given_up() {
    let mut served = served();
    open(&mut served, 1, WaitsFor::User);
    answered(&mut served, 2, None);
    let given_up = served.give_up(|kind| kind == WaitsFor::User, || Refusal::TooMany { limit: 0 });
    assert_eq!(given_up.len(), 1);
    assert_eq!(settled(&mut served), [r#"{"jsonrpc":"2.0","id":2,"result":"x"}"#]);
    assert_eq!(settled(&mut served), [""; 0]);
}

#[test]
fn a_reused_id_is_not_ended_by_its_earlier_request() {
    let mut served = served();
    open(&mut served, 1, WaitsFor::User);
    settled(&mut served);
    assert_eq!(served.give_up(|_| true, || Refusal::TooMany { limit: 0 }).len(), 1);
    answered(&mut served, 1, None);
    assert_eq!(settled(&mut served), [r#"{"jsonrpc":"2.0","id":1,"result":"x"}"#]);
}

#[test]
fn a_batch_is_answered_whole_when_its_last_part_is_there_and_is_bounded() {
    let mut served = served();
    let batch = served.begin_batch();
    answered(&mut served, 1, Some(batch));
    answered(&mut served, 2, Some(batch));
    served.add_to_batch(batch, None, Some(b"0".to_vec()));
    assert_eq!(served.end_batch(batch), None);
    let whole = settled(&mut served);
    let answers: Vec<Value> = serde_json::from_str(&whole[0]).unwrap();
    assert_eq!((whole.len(), answers.len()), (1, 3));
    let batch = served.begin_batch();
    for number in 1..=3 {
        answered(&mut served, number, Some(batch));
    }
    served.end_batch(batch);
    settled(&mut served);
    let whole = settled(&mut served);
    let answers: Vec<Value> = serde_json::from_str(&whole[0]).unwrap();
    let refused = answers.iter().filter(|answer| answer["error"]["code"] == -32000).count();
    assert_eq!((answers.len(), refused), (3, 1), "{answers:?}");
}

#[test]
fn a_batch_of_nothing_is_answered_with_nothing() {
    let mut served = served();
    let batch = served.begin_batch();
    assert_eq!(served.end_batch(batch), None);
}
