//! The waiting events without a Neovim.

use super::*;

/// Declares a source for tests: a key, and numbers that add up.
macro_rules! source {
    ($name:ident, $turn:ident, $bound:expr) => {
        struct $name(u64, usize);

        impl Event for $name {
            const TURN: Turn = Turn::$turn;
            const BOUND: Bound = $bound;

            fn key(&self) -> u64 {
                self.0
            }

            fn weight(&self) -> usize {
                self.1
            }

            fn then(self, later: Self) -> Self {
                Self(self.0, self.1 + later.1)
            }

            fn into_value(self) -> Value {
                Value::Table(vec![
                    ("type", Value::Text(stringify!($name))),
                    ("key", Value::Id(self.0)),
                    ("sum", Value::Json(self.1.into())),
                ])
            }
        }
    };
}

source!(Asked, Calls, Bound::Count { events: 3, bytes: 100 });
source!(Latest, News, Bound::Latest);
source!(AtEnd, News, Bound::LatestAtEnd);

fn event(name: &'static str, key: u64, sum: usize) -> Value {
    Value::Table(vec![("type", Value::Text(name)), ("key", Value::Id(key)), ("sum", Value::Json(sum.into()))])
}

fn drain(waiting: &mut Waiting) -> Vec<Value> {
    std::iter::from_fn(|| waiting.pop()).map(Taken::into_value).collect()
}

#[test]
fn awaited_answers_come_first_and_the_rest_in_order() {
    let mut waiting = Waiting::default();
    waiting.push(Latest(1, 1)).unwrap();
    waiting.push(AtEnd(1, 1)).unwrap();
    waiting.push(Asked(7, 1)).unwrap();
    waiting.push(Latest(2, 1)).unwrap();
    waiting.push(Asked(3, 1)).unwrap();
    assert_eq!((waiting.len(Turn::Calls), waiting.len(Turn::News)), (2, 3));
    let expected = [("Asked", 7), ("Asked", 3), ("Latest", 1), ("AtEnd", 1), ("Latest", 2)];
    assert_eq!(drain(&mut waiting), expected.map(|(name, key)| event(name, key, 1)));
    assert!(waiting.is_empty() && waiting.moments.is_empty());
}

#[test]
fn a_later_one_of_a_key_joins_the_older_in_its_place_or_at_the_end() {
    let mut waiting = Waiting::default();
    for number in 1..=1_000 {
        waiting.push(Latest(1, number)).unwrap();
        waiting.push(AtEnd(1, number)).unwrap();
        waiting.push(Latest(2, 1)).unwrap();
    }
    let expected = [event("Latest", 1, 500_500), event("Latest", 2, 1_000), event("AtEnd", 1, 500_500)];
    assert_eq!(drain(&mut waiting), expected);
}

#[test]
fn at_the_end_is_after_all_that_waits() {
    let mut waiting = Waiting::default();
    waiting.push(AtEnd(1, 1)).unwrap();
    waiting.push(Latest(1, 1)).unwrap();
    waiting.push(AtEnd(1, 1)).unwrap();
    assert_eq!(drain(&mut waiting), [event("Latest", 1, 1), event("AtEnd", 1, 2)]);
}

#[test]
fn counts_and_weighs_and_refuses_one_more() {
    let mut waiting = Waiting::default();
    waiting.push(Asked(1, 500)).unwrap();
    assert_eq!(waiting.push(Asked(2, 1)), Err(Full), "heavy, and not the only one");
    assert!(waiting.remove::<Asked>(1));
    assert!(!waiting.remove::<Asked>(1));
    for key in 1..=3 {
        waiting.push(Asked(key, 1)).unwrap();
    }
    assert_eq!(waiting.push(Asked(4, 1)), Err(Full));
    waiting.pop().unwrap();
    waiting.push(Asked(4, 1)).unwrap();
    assert_eq!(waiting.tally::<Asked>(), Tally { events: 3, bytes: 3 });
    waiting.clear::<Asked>();
    assert_eq!(waiting.tally::<Asked>(), Tally::default());
    assert!(waiting.is_empty() && waiting.moments.is_empty());
}

#[test]
fn removal_by_one_source_keeps_the_entry_of_another() {
    let mut waiting = Waiting::default();
    waiting.push(Latest(1, 1)).unwrap();
    waiting.push(AtEnd(1, 1)).unwrap();
    assert!(waiting.remove::<Latest>(1));
    assert_eq!(drain(&mut waiting), [event("AtEnd", 1, 1)]);
    waiting.push(Latest(1, 1)).unwrap();
    waiting.push(Latest(2, 1)).unwrap();
    waiting.push(AtEnd(1, 1)).unwrap();
    waiting.clear::<Latest>();
    assert_eq!(drain(&mut waiting), [event("AtEnd", 1, 1)], "of one turn with the others");
}
