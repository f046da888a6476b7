//! What waits for Lua to look: events of several sources, in order, each source within the bound that it declares.
//!
//! A new source of events is a type that implements [`Event`]; nothing here names one. Invariants: an event comes after all
//! that came before it of its turn; what was removed leaves no trace.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};

use crate::value::Value;

/// One kind of event, and how it stays bounded while Neovim does not look, for however long.
pub(crate) trait Event: Any + Send + Sized {
    const TURN: Turn;
    const BOUND: Bound;

    /// What tells one from another of this kind.
    fn key(&self) -> u64;

    /// How many bytes it holds, where the bound counts them.
    fn weight(&self) -> usize {
        0
    }

    /// This one, which nobody saw, and then a later one of the same key, as one.
    fn then(self, later: Self) -> Self {
        later
    }

    /// What Lua is told.
    fn into_value(self) -> Value;
}

/// What Lua is told first when several things wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// Somebody waits for an answer, or it belongs in one line with that.
    Calls,
    /// It was found out meanwhile.
    News,
}

/// How many of one kind may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// So many, and so many bytes unless there is but one. One more is refused.
    Count { events: usize, bytes: usize },
    /// One of each key, in the place of the older one. There is a bounded number of keys: each was asked for, or is of
    /// something that runs.
    Latest,
    /// The same, after all that waits: whoever reads it has read what was said before it.
    LatestAtEnd,
}

/// An event whose kind is known to itself alone.
trait Erased: Send {
    fn place(&self) -> Place;
    fn weight(&self) -> usize;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn as_any(&mut self) -> &mut dyn Any;
    fn into_value(self: Box<Self>) -> Value;
}

impl<E: Event> Erased for E {
    fn place(&self) -> Place {
        (TypeId::of::<E>(), self.key())
    }

    fn weight(&self) -> usize {
        Event::weight(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn into_value(self: Box<Self>) -> Value {
        Event::into_value(*self)
    }
}

/// An event that nobody waits with any more.
pub(crate) struct Taken(Box<dyn Erased>);

impl Taken {
    /// What Lua is told. May take a while: not under a lock.
    pub(crate) fn into_value(self) -> Value {
        self.0.into_value()
    }
}

/// A source, and one of its keys.
type Place = (TypeId, u64);

/// When an event came; orders them.
pub(crate) type Moment = (Turn, u64);

/// Its source has no room for one more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Everything that waits.
#[derive(Default)]
pub(crate) struct Waiting {
    events: BTreeMap<Moment, Box<dyn Erased>>,
    moments: HashMap<Place, Moment>,
    tallies: HashMap<TypeId, Tally>,
    last: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    events: usize,
    bytes: usize,
}

impl Waiting {
    /// Adds an event, or joins it to the one of its key.
    ///
    /// # Errors
    /// [`Full`], only where the bound is [`Bound::Count`].
    pub(crate) fn push<E: Event>(&mut self, event: E) -> Result<(), Full> {
        let before = self.moments.get(&event.place()).copied();
        match (E::BOUND, before) {
            (Bound::Count { events, bytes }, _) => {
                let tally = self.tally::<E>();
                let heavy = tally.bytes.saturating_add(Event::weight(&event)) > bytes;
                if tally.events >= events || (tally.events > 0 && heavy) {
                    return Err(Full);
                }
                let now = self.next::<E>();
                self.insert(now, event);
            }
            (Bound::Latest | Bound::LatestAtEnd, None) => {
                let now = self.next::<E>();
                self.insert(now, event);
            }
            (Bound::Latest, Some(moment)) => {
                let event = self.join(moment, event);
                self.insert(moment, event);
            }
            (Bound::LatestAtEnd, Some(moment)) => {
                let event = self.join(moment, event);
                let now = self.next::<E>();
                self.insert(now, event);
            }
        }
        Ok(())
    }

    /// Takes what comes first.
    pub(crate) fn pop(&mut self) -> Option<Taken> {
        let moment = *self.events.first_key_value()?.0;
        self.take(moment).map(Taken)
    }

    /// Removes an event that nobody saw. Whether there was one.
    pub(crate) fn remove<E: Event>(&mut self, key: u64) -> bool {
        self.moment::<E>(key).and_then(|moment| self.take(moment)).is_some()
    }

    /// Removes all of a turn.
    pub(crate) fn clear(&mut self, turn: Turn) {
        while let Some((moment, _)) = self.events.range((turn, 0)..=(turn, u64::MAX)).next() {
            let moment = *moment;
            self.take(moment);
        }
    }

    /// When the event came that waits with this key.
    pub(crate) fn moment<E: Event>(&self, key: u64) -> Option<Moment> {
        self.moments.get(&(TypeId::of::<E>(), key)).copied()
    }

    /// The event that waits with this key. Its key and its weight stay as they are.
    pub(crate) fn get_mut<E: Event>(&mut self, key: u64) -> Option<&mut E> {
        let moment = self.moment::<E>(key)?;
        self.events.get_mut(&moment)?.as_mut().as_any().downcast_mut()
    }

    /// How many of a turn wait.
    pub(crate) fn len(&self, turn: Turn) -> usize {
        self.events.range((turn, 0)..=(turn, u64::MAX)).count()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    fn tally<E: Event>(&self) -> Tally {
        self.tallies.get(&TypeId::of::<E>()).copied().unwrap_or_default()
    }

    fn next<E: Event>(&mut self) -> Moment {
        self.last += 1;
        (E::TURN, self.last)
    }

    /// The event of this moment, taken out, and then a later one, as one.
    fn join<E: Event>(&mut self, moment: Moment, later: E) -> E {
        match self.take(moment).and_then(|before| before.into_any().downcast::<E>().ok()) {
            Some(before) => before.then(later),
            None => later,
        }
    }

    fn insert<E: Event>(&mut self, moment: Moment, event: E) {
        let place = event.place();
        let tally = self.tallies.entry(place.0).or_default();
        tally.events += 1;
        tally.bytes = tally.bytes.saturating_add(Event::weight(&event));
        self.moments.insert(place, moment);
        self.events.insert(moment, Box::new(event));
    }

    fn take(&mut self, moment: Moment) -> Option<Box<dyn Erased>> {
        let event = self.events.remove(&moment)?;
        let place = event.as_ref().place();
        self.moments.remove(&place);
        if let Some(tally) = self.tallies.get_mut(&place.0) {
            tally.events -= 1;
            tally.bytes = tally.bytes.saturating_sub(event.as_ref().weight());
        }
        Some(event)
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("events", &self.events.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Declares a source of the tests: a key and a number, which add up.
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

    fn told(name: &'static str, key: u64, sum: usize) -> Value {
        Value::Table(vec![("type", Value::Text(name)), ("key", Value::Id(key)), ("sum", Value::Json(sum.into()))])
    }

    fn drain(waiting: &mut Waiting) -> Vec<Value> {
        std::iter::from_fn(|| waiting.pop()).map(Taken::into_value).collect()
    }

    #[test]
    fn whoever_waits_for_an_answer_comes_first_and_the_rest_in_order() {
        let mut waiting = Waiting::default();
        waiting.push(Latest(1, 1)).unwrap();
        waiting.push(AtEnd(1, 1)).unwrap();
        waiting.push(Asked(7, 1)).unwrap();
        waiting.push(Latest(2, 1)).unwrap();
        waiting.push(Asked(3, 1)).unwrap();
        assert_eq!((waiting.len(Turn::Calls), waiting.len(Turn::News)), (2, 3));
        let expected = [("Asked", 7), ("Asked", 3), ("Latest", 1), ("AtEnd", 1), ("Latest", 2)];
        assert_eq!(drain(&mut waiting), expected.map(|(name, key)| told(name, key, 1)));
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
        let expected = [told("Latest", 1, 500_500), told("Latest", 2, 1_000), told("AtEnd", 1, 500_500)];
        assert_eq!(drain(&mut waiting), expected);
    }

    #[test]
    fn at_the_end_is_after_all_that_waits() {
        let mut waiting = Waiting::default();
        waiting.push(AtEnd(1, 1)).unwrap();
        waiting.push(Latest(1, 1)).unwrap();
        waiting.push(AtEnd(1, 1)).unwrap();
        assert_eq!(drain(&mut waiting), [told("Latest", 1, 1), told("AtEnd", 1, 2)]);
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
        waiting.clear(Turn::Calls);
        assert_eq!(waiting.tally::<Asked>(), Tally::default());
        assert!(waiting.is_empty() && waiting.moments.is_empty());
    }

    #[test]
    fn what_one_source_removes_another_of_that_key_keeps() {
        let mut waiting = Waiting::default();
        waiting.push(Latest(1, 1)).unwrap();
        waiting.push(AtEnd(1, 1)).unwrap();
        assert!(waiting.remove::<Latest>(1));
        assert_eq!(drain(&mut waiting), [told("AtEnd", 1, 1)]);
    }
}
