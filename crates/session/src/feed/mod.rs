//! The lines of one transcript that may be shown outside the editor, in the file's order: pages of them, and a lookup
//! by uuid.
//!
//! Invariants:
//! - The file is read once, however many readers share it.
//! - A line comes verbatim, with two exceptions: a parent that is itself left out is replaced by the nearest shown one,
//!   and a prompt recorded as an attachment is rewritten as an ordinary prompt.
//! - Line numbers belong to an epoch; when the file is replaced, the next one begins.

mod envelope;

use std::path::{Path, PathBuf};

use crate::error::SessionError;
use crate::id::{Key, KeyMap};
use crate::line_buffer::{RawLine, to_u64};
use crate::tail::{Tail, TailEvent};
use envelope::Envelope;

/// Reads one transcript, and indexes its lines.
#[derive(Debug)]
pub struct Feed {
    tail: Tail,
    index: Index,
    epoch: u64,
    /// The uuids of the previous epoch, by number.
    former: Vec<Option<Key>>,
}

#[derive(Debug, Default)]
struct Index {
    places: Vec<Place>,
    /// The first line of each uuid.
    numbers: KeyMap<u32>,
    /// For each line that is left out: its nearest ancestor that is not.
    above: KeyMap<Option<Box<str>>>,
}

/// Where a line lies.
#[derive(Debug)]
struct Place {
    offset: u64,
    len: u32,
    key: Option<Key>,
    /// Its parent, if it differs from the file's.
    parent: Option<Option<Box<str>>>,
}

/// Consecutive lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FeedPage {
    /// The number of the first line.
    pub from: usize,
    /// The lines, concatenated.
    pub text: Vec<u8>,
    /// The end of each line in `text`.
    pub ends: Vec<usize>,
}

/// What [`Feed::advance`] read.
#[derive(Debug, PartialEq, Eq)]
pub struct Advance {
    /// The new lines.
    pub page: FeedPage,
    /// The file was replaced before these lines: all earlier ones are void.
    pub replaced: bool,
    /// Whether the end of the file was reached.
    pub at_end: bool,
}

impl FeedPage {
    /// The number after the last line.
    #[must_use]
    pub fn end(&self) -> usize {
        self.from + self.ends.len()
    }

    fn push(&mut self, line: &[u8], envelope: &Envelope<'_>, parent: Option<&Option<Box<str>>>) {
        envelope.write(line, parent, &mut self.text);
        self.ends.push(self.text.len());
    }
}

impl Feed {
    /// Begins at the start of a transcript, which need not exist yet. Reads nothing.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { tail: Tail::new(file), index: Index::default(), epoch: 0, former: Vec::new() }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.tail.path()
    }

    /// How many bytes were read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.tail.offset()
    }

    /// The epoch of the current line numbers.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many lines are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.places.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.places.is_empty()
    }

    /// The number of the first line with this uuid.
    #[must_use]
    pub fn find(&self, uuid: &str) -> Option<usize> {
        let number = self.index.numbers.get(&Key::of(uuid)?)?;
        usize::try_from(*number).ok()
    }

    /// Whether a line has a uuid.
    #[must_use]
    pub fn is_named(&self, number: usize) -> bool {
        self.index.places.get(number).is_some_and(|place| place.key.is_some())
    }

    /// Where a reader continues that had the lines up to `number` in the previous epoch: after the last of them that
    /// still exists. `None` if none does, or the epoch is older.
    #[must_use]
    pub fn resume(&self, epoch: u64, number: usize) -> Option<usize> {
        let seen = self.former.get(..number).filter(|_| epoch + 1 == self.epoch)?;
        let last = seen.iter().rev().flatten().find_map(|key| self.index.numbers.get(key))?;
        usize::try_from(*last).ok().map(|last| last + 1)
    }

    /// Reads on until about `max_bytes` of lines were found or the file ends.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn advance(&mut self, max_bytes: usize) -> Result<Advance, SessionError> {
        let event = self.tail.check()?;
        let replaced = event == TailEvent::Replaced;
        if replaced {
            let before = std::mem::take(&mut self.index);
            self.former = before.places.into_iter().map(|place| place.key).collect();
            self.epoch += 1;
        }
        let mut page = FeedPage { from: self.index.places.len(), ..FeedPage::default() };
        let mut at_end = event == TailEvent::Missing;
        while !at_end && page.text.len() < max_bytes {
            let index = &mut self.index;
            let mut broken = Vec::new();
            at_end = !self.tail.read_raw(|line| {
                if index.take(line, &mut page).is_none() {
                    broken.push(line.number);
                }
            })?;
            broken.into_iter().for_each(|number| self.tail.log_broken(number));
        }
        Ok(Advance { page, replaced, at_end })
    }

    /// Known lines from `from` on: at least one, then more while they total less than `max_bytes` and stand before
    /// `until`.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read or was rewritten.
    pub fn page(&mut self, from: usize, until: usize, max_bytes: usize) -> Result<FeedPage, SessionError> {
        let mut page = FeedPage { from, ..FeedPage::default() };
        let mut places = self.index.places.get(from..until.min(self.index.places.len())).unwrap_or_default();
        while let Some((run, bytes)) = run_of(places, max_bytes.saturating_sub(page.text.len())) {
            let (first, rest) = (run.first().map_or(0, |place| place.offset), places.get(run.len()..));
            let read = self.tail.line_at(first, bytes)?;
            for place in run {
                let start = usize::try_from(place.offset - first).unwrap_or(usize::MAX);
                let line = read.get(start..).and_then(|line| line.get(..to_usize(place.len))).unwrap_or_default();
                // It parsed when it was indexed. A rewritten file is reported by the next check.
                let envelope = Envelope::parse(line).ok_or(SessionError::UnknownMessage)?;
                page.push(line, &envelope, place.parent.as_ref());
            }
            places = rest.unwrap_or_default();
            if page.text.len() >= max_bytes {
                break;
            }
        }
        Ok(page)
    }
}

impl Index {
    /// Indexes a line and adds it to the page if it may be shown; `None` if it is broken.
    fn take(&mut self, line: &RawLine<'_>, page: &mut FeedPage) -> Option<()> {
        let bytes = line.bytes?;
        if bytes.is_empty() {
            return Some(());
        }
        let (debris, bytes) = envelope::without_debris(bytes);
        let envelope = Envelope::parse(bytes)?;
        let key = Key::of(envelope.uuid.text());
        let parent = self.parent_of(&envelope);
        if !envelope.may_be_shown() {
            if let Some(key) = key {
                let above = parent.unwrap_or_else(|| envelope.parent_text().map(Into::into));
                self.above.entry(key).or_insert(above);
            }
            return Some(());
        }
        let number = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        page.push(bytes, &envelope, parent.as_ref());
        self.places.push(Place {
            offset: line.offset + to_u64(debris),
            len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            key,
            parent,
        });
        if let Some(key) = key {
            self.numbers.entry(key).or_insert(number);
        }
        Some(())
    }

    /// The parent to show for a line; `None` keeps the file's own. The message before a compaction counts as the parent
    /// of the one after it.
    fn parent_of(&self, envelope: &Envelope<'_>) -> Option<Option<Box<str>>> {
        let parent = envelope.parent_text();
        let logical = Some(envelope.logical_parent.text()).filter(|logical| parent.is_none() && !logical.is_empty());
        let named = parent.or(logical)?;
        match Key::of(named).and_then(|key| self.above.get(&key)) {
            Some(above) => Some(above.clone()),
            None => logical.map(|logical| Some(logical.into())),
        }
    }
}

/// The longest run of adjacent places (only newlines between), and how many bytes it spans.
fn run_of(places: &[Place], max_bytes: usize) -> Option<(&[Place], usize)> {
    let first = places.first()?;
    let mut end = first.offset + u64::from(first.len);
    let mut count = 1;
    for place in places.iter().skip(1) {
        // At most a carriage return and a newline.
        let follows = place.offset <= end + 2;
        if !follows || end - first.offset >= to_u64(max_bytes) {
            break;
        }
        end = place.offset + u64::from(place.len);
        count += 1;
    }
    Some((places.get(..count)?, usize::try_from(end - first.offset).ok()?))
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
