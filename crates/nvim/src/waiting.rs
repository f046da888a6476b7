//! What waits for Lua to look: events of several sources, in order, each source within the bound that it declares.
//!
//! A new source of events is a type that implements [`Event`]; nothing here names one. Invariants: an event comes after all
//! that came before it of its turn, also where it is taken in parts; what was removed leaves no trace.

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

    /// What of it is taken at one look, and what then waits in its place: of one that Neovim would stand still for while it
    /// becomes values of Lua. The rest has the same key. Called under a lock: nothing large is copied.
    fn part(self) -> (Self, Option<Self>) {
        (self, None)
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
    fn part(self: Box<Self>) -> (Box<dyn Erased>, Option<Box<dyn Erased>>);
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

    fn part(self: Box<Self>) -> (Box<dyn Erased>, Option<Box<dyn Erased>>) {
        let (part, rest) = Event::part(*self);
        (Box::new(part), rest.map(|rest| -> Box<dyn Erased> { Box::new(rest) }))
    }

    fn into_value(self: Box<Self>) -> Value {
        Event::into_value(*self)
    }
}

/// An event, or a part of one, that nobody waits with any more.
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

    /// Takes what comes first, or a part of it.
    pub(crate) fn pop(&mut self) -> Option<Taken> {
        let moment = *self.events.first_key_value()?.0;
        let (part, rest) = self.take(moment)?.part();
        if let Some(rest) = rest {
            self.insert(moment, rest);
        }
        Some(Taken(part))
    }

    /// Removes an event that nobody saw. Whether there was one.
    pub(crate) fn remove<E: Event>(&mut self, key: u64) -> bool {
        self.moment::<E>(key).and_then(|moment| self.take(moment)).is_some()
    }

    /// Removes all of a kind. Others of its turn may be of another source.
    pub(crate) fn clear<E: Event>(&mut self) {
        let kind = TypeId::of::<E>();
        let of_kind = self.moments.iter().filter(|((other, _), _)| *other == kind);
        let moments: Vec<Moment> = of_kind.map(|(_, moment)| *moment).collect();
        for moment in moments {
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
