//! The waiting events: several sources in one order, each within the bound that it declares.
//!
//! A new source is a type that implements [`Event`]; nothing here names one. Invariants: events of one turn keep their
//! order; a removed event leaves no trace.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};

use crate::value::Value;

/// A kind of event, and how it stays bounded while Neovim is busy.
pub(crate) trait Event: Any + Send + Sized {
    const TURN: Turn;
    const BOUND: Bound;

    /// Distinguishes events of this kind.
    fn key(&self) -> u64;

    /// Its size in bytes, if the bound counts them.
    fn weight(&self) -> usize {
        0
    }

    /// Merges a later event with the same key into this unread one.
    fn then(self, later: Self) -> Self {
        later
    }

    /// Converts it for Lua.
    fn into_value(self) -> Value;
}

/// The order of delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// A caller waits for an answer, or the event must keep its order with such calls.
    Calls,
    /// Everything else.
    News,
}

/// The bound of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// At most this many events, and this many bytes unless there is only one. More are refused.
    Count { events: usize, bytes: usize },
    /// One per key; a newer event takes the older one's place. The number of keys is limited: each belongs to a request
    /// or to something that runs.
    Latest,
    /// Like `Latest`, but a newer event moves to the end, behind everything sent before it.
    LatestAtEnd,
}

/// An event whose type is erased.
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

/// An event that was taken out of the queue.
pub(crate) struct Taken(Box<dyn Erased>);

impl Taken {
    /// Converts it for Lua. May take a while: not under a lock.
    pub(crate) fn into_value(self) -> Value {
        self.0.into_value()
    }
}

/// A source, and one of its keys.
type Place = (TypeId, u64);

/// The order of an event.
pub(crate) type Moment = (Turn, u64);

/// The source's bound is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// All waiting events.
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
    /// Adds an event, or merges it with the one of its key.
    ///
    /// # Errors
    /// [`Full`], only with [`Bound::Count`].
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
                self.insert(now, Box::new(event));
            }
            (Bound::Latest | Bound::LatestAtEnd, None) => {
                let now = self.next::<E>();
                self.insert(now, Box::new(event));
            }
            (Bound::Latest, Some(moment)) => {
                let event = self.join(moment, event);
                self.insert(moment, Box::new(event));
            }
            (Bound::LatestAtEnd, Some(moment)) => {
                let event = self.join(moment, event);
                let now = self.next::<E>();
                self.insert(now, Box::new(event));
            }
        }
        Ok(())
    }

    /// Takes the first event.
    pub(crate) fn pop(&mut self) -> Option<Taken> {
        let moment = *self.events.first_key_value()?.0;
        self.take(moment).map(Taken)
    }

    /// Removes an unread event. Returns whether there was one.
    pub(crate) fn remove<E: Event>(&mut self, key: u64) -> bool {
        self.moment::<E>(key).and_then(|moment| self.take(moment)).is_some()
    }

    /// Removes all events of a kind; other sources may share its turn.
    pub(crate) fn clear<E: Event>(&mut self) {
        let kind = TypeId::of::<E>();
        let of_kind = self.moments.iter().filter(|((other, _), _)| *other == kind);
        let moments: Vec<Moment> = of_kind.map(|(_, moment)| *moment).collect();
        for moment in moments {
            self.take(moment);
        }
    }

    /// The moment of the event with this key.
    pub(crate) fn moment<E: Event>(&self, key: u64) -> Option<Moment> {
        self.moments.get(&(TypeId::of::<E>(), key)).copied()
    }

    /// The event with this key. Its key and weight must not change.
    pub(crate) fn get_mut<E: Event>(&mut self, key: u64) -> Option<&mut E> {
        let moment = self.moment::<E>(key)?;
        self.events.get_mut(&moment)?.as_mut().as_any().downcast_mut()
    }

    /// Number of events with this turn.
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

    /// Takes an event out and merges a later one into it.
    fn join<E: Event>(&mut self, moment: Moment, later: E) -> E {
        match self.take(moment).and_then(|before| before.into_any().downcast::<E>().ok()) {
            Some(before) => before.then(later),
            None => later,
        }
    }

    fn insert(&mut self, moment: Moment, event: Box<dyn Erased>) {
        let place = event.as_ref().place();
        let tally = self.tallies.entry(place.0).or_default();
        tally.events += 1;
        tally.bytes = tally.bytes.saturating_add(event.as_ref().weight());
        self.moments.insert(place, moment);
        self.events.insert(moment, event);
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
mod tests;
