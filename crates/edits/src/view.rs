//! What Claude changed in a file, as it stands in the text of now.

use std::collections::BTreeSet;

use crate::blobs::{Blobs, Bytes};
use crate::history::{History, Source};
use crate::lines::{Line, decode, encode, readable, slice};
use crate::regions::{Actor, Region, State, advance, drop_gone, revert};
use crate::turns::{TurnId, Turns};

/// Where a zero byte in so many first ones says that a file is no text, as git has it.
const BINARY_BYTES: usize = 8000;

/// Whose changes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that wait for a review.
    Unreviewed,
    /// Those of the last turn.
    LastTurn,
    /// Those of the client of the last turn.
    Session,
    /// All.
    All,
    /// Those of one turn.
    Turn(TurnId),
}

impl Scope {
    /// As Lua names it: a word, or the number of a turn.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "unreviewed" => Some(Self::Unreviewed),
            "turn" => Some(Self::LastTurn),
            "session" => Some(Self::Session),
            "all" => Some(Self::All),
            number => number.parse().ok().map(Self::Turn),
        }
    }

    /// Whether a step of a turn counts.
    fn counts(self, turns: &Turns, turn: Option<TurnId>) -> bool {
        let last = || turns.all().next_back();
        match self {
            Self::Unreviewed | Self::All => true,
            Self::Turn(id) => turn == Some(id),
            Self::LastTurn => turn.is_some() && turn == last().map(|last| last.id),
            Self::Session => {
                let client = turn.and_then(|id| turns.client_of(id));
                client.is_some() && client == last().map(|last| last.client)
            }
        }
    }
}

/// What a file holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Now<'a> {
    /// What was last recorded of it.
    Recorded,
    /// On disk; none where there is no file.
    Disk(Option<&'a [u8]>),
    /// In a buffer with unsaved changes.
    Unsaved(&'a [u8]),
    /// On disk, where a buffer has unsaved changes of an older text: neither may be written before the user has chosen one.
    Behind(Option<&'a [u8]>),
}

/// A history, as it stands in the text of now.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) lines: Vec<Line>,
    pub(crate) current: Option<Bytes>,
    pub(crate) regions: Vec<Region>,
    /// The step that is the first of Claude's.
    pub(crate) first: usize,
    last: usize,
    /// Those whose changes these are.
    pub(crate) turns: BTreeSet<TurnId>,
    pub(crate) behind: bool,
    /// What waits for a review; none: these regions themselves.
    waiting: Option<Vec<Region>>,
}

impl View {
    /// Nothing where nothing of Claude's is there.
    pub(crate) fn of(history: &mut History, blobs: &Blobs, turns: &Turns, scope: Scope, now: Now<'_>) -> Option<Self> {
        let all = history.steps.len();
        let (count, bytes) = match now {
            Now::Recorded => return Self::recorded(history, blobs, turns, scope, all),
            // What is on disk and not looked at yet may be of anything, even where it is what an undo took back.
            Now::Disk(bytes) | Now::Behind(bytes) => (all, bytes),
            Now::Unsaved(bytes) => (history.length(blobs, Some(bytes)), Some(bytes)),
        };
        let mut view = Self::recorded(history, blobs, turns, scope, count)?;
        let lines = decode(bytes);
        view.regions = advance(&view.regions, &view.lines, &lines, Actor::User);
        view.waiting = view.waiting.map(|waiting| drop_gone(advance(&waiting, &view.lines, &lines, Actor::User)));
        view.lines = lines;
        view.current = bytes.map(Bytes::from);
        view.behind = matches!(now, Now::Behind(_));
        Some(view)
    }

    /// A history as it stood after so many of its steps.
    fn recorded(history: &mut History, blobs: &Blobs, turns: &Turns, scope: Scope, count: usize) -> Option<Self> {
        let counts = |turn| scope.counts(turns, turn);
        let (unreviewed, reviewed_to) = history.unreviewed(blobs, count);
        let (regions, first, waiting) = if scope == Scope::Unreviewed {
            (unreviewed, reviewed_to, None)
        } else {
            let (regions, first) = history.changed_by(blobs, count, &counts)?;
            (regions, first, Some(unreviewed))
        };
        if regions.is_empty() {
            return None;
        }
        let (mut of, mut last) = (BTreeSet::new(), first);
        for (index, step) in history.steps.iter().enumerate().take(count).skip(first) {
            if let Some(turn) = step.turn.filter(|turn| counts(Some(*turn))) {
                of.insert(turn);
                last = index;
            }
        }
        let current = count.checked_sub(1).and_then(|step| history.bytes(blobs, step));
        let lines = decode(current.as_deref());
        Some(Self { lines, current, regions, first, last, turns: of, behind: false, waiting })
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting.as_ref().unwrap_or(&self.regions).len()
    }

    /// What waits for a review, apart from what has to do with these regions of the view.
    pub(crate) fn waiting_without(&self, chosen: &[usize]) -> Vec<Region> {
        let mut left: Vec<Region> = match &self.waiting {
            None => {
                let all = self.regions.iter().enumerate();
                all.filter(|(index, _)| !chosen.contains(index)).map(|(_, region)| region.clone()).collect()
            }
            Some(waiting) => {
                let chosen: Vec<&Region> = chosen.iter().filter_map(|index| self.regions.get(*index)).collect();
                waiting.iter().filter(|one| !chosen.iter().any(|region| one.meets(region))).cloned().collect()
            }
        };
        left.retain(|region| region.state != State::Gone);
        left
    }

    /// Those that can be taken back, and how many the user has changed since.
    pub(crate) fn sorted(&self) -> (Vec<usize>, usize) {
        if self.behind {
            return (Vec::new(), 0);
        }
        let of = |state| self.regions.iter().enumerate().filter(move |(_, region)| region.state == state);
        (of(State::Claude).map(|(index, _)| index).collect(), of(State::Conflict).count())
    }

    /// What the file would hold without these regions; nothing where it should go.
    pub(crate) fn undone(&self, history: &History, chosen: &[usize]) -> Option<Vec<u8>> {
        let chosen: Vec<Region> = chosen.iter().filter_map(|index| self.regions.get(*index)).cloned().collect();
        let lines = revert(&self.lines, &chosen);
        let was_there = self.first.checked_sub(1).and_then(|step| history.steps.get(step)?.blob).is_some();
        (was_there || !lines.is_empty()).then(|| encode(&lines))
    }

    fn hunks(&self) -> (Vec<Hunk>, Vec<u8>) {
        let (mut added, mut removed) = (0, 0);
        let mut hunks = Vec::with_capacity(self.regions.len());
        let mut claudes = Vec::new();
        for (index, region) in self.regions.iter().enumerate() {
            hunks.push(Hunk {
                before_start: (region.start + added).saturating_sub(removed),
                before: owned(&region.before),
                start: region.start,
                after: owned(slice(&self.lines, region.start, region.count)),
                state: region.state,
                reviewed: self.waiting.as_ref().is_some_and(|all| self.waiting_without(&[index]).len() == all.len()),
            });
            if region.state != State::Gone {
                added += region.before.len();
                removed += region.count;
                claudes.push(region.clone());
            }
        }
        (hunks, encode(&revert(&self.lines, &claudes)))
    }

    /// Nothing where the user has taken back all of it.
    pub(crate) fn describe(self, history: &History, blobs: &Blobs) -> Option<Change> {
        let (hunks, without) = self.hunks();
        let before = self.first.checked_sub(1).and_then(|step| history.bytes(blobs, step));
        let (mut added, mut removed, mut conflicts, mut left) = (0, 0, 0, false);
        for hunk in hunks.iter().filter(|hunk| hunk.state != State::Gone) {
            left = true;
            added += hunk.after.len();
            removed += hunk.before.len();
            conflicts += usize::from(hunk.state == State::Conflict);
        }
        let kind = match (&self.current, &before) {
            (None, _) => Kind::Deleted,
            (_, None) => Kind::Created,
            _ => Kind::Modified,
        };
        left.then(|| Change {
            path: Bytes::clone(&history.path),
            kind,
            binary: is_binary(before.as_ref()) || is_binary(self.current.as_ref()),
            before,
            after: history.bytes(blobs, self.last),
            current: self.current,
            without,
            hunks,
            turns: self.turns,
            added,
            removed,
            conflicts,
            source: history.source,
            behind: self.behind,
        })
    }
}

fn owned(lines: &[Line]) -> Vec<Box<[u8]>> {
    readable(lines).into_iter().map(Box::from).collect()
}

fn is_binary(bytes: Option<&Bytes>) -> bool {
    bytes.is_some_and(|bytes| bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0))
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is there, as before.
    Modified,
    /// It was not there.
    Created,
    /// It is gone.
    Deleted,
}

impl Kind {
    /// As Lua names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Created => "created",
            Self::Deleted => "deleted",
        }
    }
}

/// One place of a [`Change`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// From 0, in [`Change::without`].
    pub before_start: usize,
    /// The lines there.
    pub before: Vec<Box<[u8]>>,
    /// From 0, in [`Change::current`].
    pub start: usize,
    /// The lines there.
    pub after: Vec<Box<[u8]>>,
    /// Whether it can be taken back.
    pub state: State,
    /// Nothing of it waits for a review any more.
    pub reviewed: bool,
}

/// What Claude changed in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// As it was named first.
    pub path: Bytes,
    /// What became of the file.
    pub kind: Kind,
    /// No text.
    pub binary: bool,
    /// What it held before Claude's first edit; none: there was no file.
    pub before: Option<Bytes>,
    /// As Claude left it last.
    pub after: Option<Bytes>,
    /// As it is now.
    pub current: Option<Bytes>,
    /// As it is now but for Claude's hunks.
    pub without: Vec<u8>,
    /// Top to bottom.
    pub hunks: Vec<Hunk>,
    /// Those whose changes these are.
    pub turns: BTreeSet<TurnId>,
    /// Lines.
    pub added: usize,
    /// Lines.
    pub removed: usize,
    /// Hunks in which the user made changes too.
    pub conflicts: usize,
    /// How it was found.
    pub source: Source,
    /// Its buffer has unsaved changes of an older text: all of this is of the disk's.
    pub behind: bool,
}
