//! Claude's changes to a file, in its current text.

use std::collections::BTreeSet;

use claude_ide_system::encoding::Utf16;

use crate::blobs::{Blobs, Bytes};
use crate::callers::CallId;
use crate::history::{History, Source, Step};
use crate::lines::{Line, decode, encode, readable, slice};
use crate::regions::{Actor, Region, State, advance, drop_gone, revert};
use crate::turns::{ClientId, TurnId, Turns};

/// A zero byte within this many bytes marks a binary file, as in git.
const BINARY_BYTES: usize = 8000;

/// The changes to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The unreviewed ones.
    Unreviewed,
    /// Those of the last turn, of this client if there is one.
    LastTurn(Option<ClientId>),
    /// Those of the last turn's client, or of this one.
    Session(Option<ClientId>),
    /// All.
    All,
    /// Those of one turn.
    Turn(TurnId),
}

impl Scope {
    /// From its name in Lua: a word, perhaps with the number of a client, or the number of a turn.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (word, client) = match name.split_once(' ') {
            Some((word, client)) => (word, Some(client.parse().ok()?)),
            None => (name, None),
        };
        match word {
            "unreviewed" => Some(Self::Unreviewed),
            "turn" => Some(Self::LastTurn(client)),
            "session" => Some(Self::Session(client)),
            "all" => Some(Self::All),
            number => number.parse().ok().map(Self::Turn),
        }
    }

    /// Whether a turn's step counts.
    fn counts(self, turns: &Turns, turn: Option<TurnId>) -> bool {
        let last = |of: Option<_>| turns.all().rfind(|turn| of.is_none_or(|client| client == turn.client));
        match self {
            Self::Unreviewed | Self::All => true,
            Self::Turn(id) => turn == Some(id),
            Self::LastTurn(of) => turn.is_some() && turn == last(of).map(|last| last.id),
            Self::Session(of) => {
                let client = turn.and_then(|id| turns.client_of(id));
                client.is_some() && client == last(of).map(|last| last.client)
            }
        }
    }
}

/// A file's current content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Now<'a> {
    /// The last recorded content.
    Recorded,
    /// On disk; `None` if the file does not exist.
    Disk(Option<&'a [u8]>),
    /// In a modified buffer.
    Unsaved(&'a [u8]),
    /// On disk, beside a modified buffer of an older text: neither may be written before the user has chosen one.
    Behind(Option<&'a [u8]>),
}

/// A history, in the current text.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) lines: Vec<Line>,
    pub(crate) current: Option<Bytes>,
    pub(crate) regions: Vec<Region>,
    /// The first of Claude's steps.
    pub(crate) first: usize,
    last: usize,
    /// The turns of these changes.
    pub(crate) turns: BTreeSet<TurnId>,
    pub(crate) behind: bool,
    /// The unreviewed regions; `None`: these regions themselves.
    waiting: Option<Vec<Region>>,
}

impl View {
    /// `None` if there are no changes of Claude.
    pub(crate) fn of(history: &mut History, blobs: &Blobs, turns: &Turns, scope: Scope, now: Now<'_>) -> Option<Self> {
        let all = history.steps.len();
        let (count, bytes) = match now {
            Now::Recorded => return Self::after(history, blobs, turns, scope, all)?.without_idle(history),
            // Content on disk that was not observed yet may have any author, even if it equals the state before an
            // undo.
            Now::Disk(bytes) | Now::Behind(bytes) => (all, bytes),
            Now::Unsaved(bytes) => (history.length(blobs, Some(bytes)), Some(bytes)),
        };
        let mut view = Self::after(history, blobs, turns, scope, count)?;
        let lines = decode(bytes);
        view.regions = advance(&view.regions, &view.lines, &lines, Actor::User);
        view.waiting = view.waiting.map(|waiting| drop_gone(advance(&waiting, &view.lines, &lines, Actor::User)));
        view.lines = lines;
        view.current = bytes.map(Bytes::from);
        view.behind = matches!(now, Now::Behind(_));
        view.without_idle(history)
    }

    /// Drops regions that only together describe what is there anyway, as repeated lines or an empty file can: undoing
    /// them would change nothing.
    fn without_idle(mut self, history: &History) -> Option<Self> {
        let of_claude = || self.regions.iter().filter(|region| region.state == State::Claude);
        let is_even = of_claude().map(|region| region.count).sum::<usize>()
            == of_claude().map(|region| region.before.len()).sum::<usize>();
        let is_empty = self.current.as_ref().is_some_and(|bytes| bytes.is_empty());
        if is_even || is_empty {
            let chosen: Vec<usize> = self.in_state(State::Claude).collect();
            if self.undone(history, &chosen).as_deref() == self.current.as_deref() {
                self.regions.retain(|region| region.state != State::Claude);
            }
        }
        (!self.regions.is_empty()).then_some(self)
    }

    /// Whether the file was there before the first of Claude's steps.
    fn was_there(&self, history: &History) -> bool {
        self.first.checked_sub(1).and_then(|step| history.steps.get(step)?.blob).is_some()
    }

    /// The view after `count` steps.
    fn after(history: &mut History, blobs: &Blobs, turns: &Turns, scope: Scope, count: usize) -> Option<Self> {
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

    /// The unreviewed regions, without those that overlap the chosen ones.
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

    /// The regions that can be undone, and the number of those that the user has changed.
    pub(crate) fn sorted(&self) -> (Vec<usize>, usize) {
        if self.behind {
            return (Vec::new(), 0);
        }
        (self.in_state(State::Claude).collect(), self.in_state(State::Conflict).count())
    }

    fn in_state(&self, state: State) -> impl Iterator<Item = usize> {
        let all = self.regions.iter().enumerate();
        all.filter(move |(_, region)| region.state == state).map(|(index, _)| index)
    }

    /// The content without these regions; `None` if the file must be removed.
    pub(crate) fn undone(&self, history: &History, chosen: &[usize]) -> Option<Vec<u8>> {
        let chosen: Vec<Region> = chosen.iter().filter_map(|index| self.regions.get(*index)).cloned().collect();
        let lines = revert(&self.lines, &chosen);
        (self.was_there(history) || !lines.is_empty()).then(|| encode(&lines))
    }

    fn hunks(&self, callers: Vec<Vec<CallId>>) -> (Vec<Hunk>, Vec<u8>) {
        let claudes: Vec<Region> = self.regions.iter().filter(|region| region.state != State::Gone).cloned().collect();
        let without = encode(&revert(&self.lines, &claudes));
        let (old, new) = (Utf16::of(&without), self.current.as_deref().and_then(Utf16::of));
        let (mut added, mut removed) = (0, 0);
        let mut hunks = Vec::with_capacity(self.regions.len());
        for ((index, region), calls) in self.regions.iter().enumerate().zip(callers) {
            hunks.push(Hunk {
                before_start: (region.start + added).saturating_sub(removed),
                before: readable(&region.before, old),
                start: region.start,
                after: readable(slice(&self.lines, region.start, region.count), new),
                state: region.state,
                calls,
                reviewed: self.waiting.as_ref().is_some_and(|all| self.waiting_without(&[index]).len() == all.len()),
            });
            if region.state != State::Gone {
                added += region.before.len();
                removed += region.count;
            }
        }
        (hunks, without)
    }

    /// Whether the user has deleted the file: Claude has only changed it.
    fn is_deleted_by_user(&self, history: &History) -> bool {
        let is_users = |last: &Step| last.blob.is_some() || last.actor == Actor::User;
        self.current.is_none() && history.last().is_some_and(is_users)
    }

    /// `None` if the user has undone all of it.
    pub(crate) fn describe(self, history: &History, blobs: &Blobs) -> Option<Change> {
        let text = self.current.as_deref().unwrap_or_default();
        let (hunks, without) = self.hunks(history.callers.of(blobs, text, &self.regions));
        let before = self.first.checked_sub(1).and_then(|step| history.bytes(blobs, step));
        let (mut added, mut removed, mut conflicts, mut left) = (0, 0, 0, false);
        for hunk in hunks.iter().filter(|hunk| hunk.state != State::Gone) {
            left = true;
            added += hunk.after.len();
            removed += hunk.before.len();
            conflicts += usize::from(hunk.state == State::Conflict);
        }
        let by_user = self.is_deleted_by_user(history);
        if by_user {
            (added, removed, conflicts) = (0, 0, 0); // of Claude's
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
            by_user,
            source: history.source,
            behind: self.behind,
        })
    }
}

fn is_binary(bytes: Option<&Bytes>) -> bool {
    let has_zero = |bytes: &Bytes| bytes.iter().take(BINARY_BYTES).any(|byte| *byte == 0);
    bytes.is_some_and(|bytes| has_zero(bytes) && Utf16::of(bytes).is_none())
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It existed before and still does.
    Modified,
    /// It did not exist before.
    Created,
    /// It is deleted.
    Deleted,
}

impl Kind {
    /// Its name in Lua.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Created => "created",
            Self::Deleted => "deleted",
        }
    }
}

/// One hunk of a [`Change`].
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
    /// Whether it can be undone.
    pub state: State,
    /// Whether it is fully reviewed.
    pub reviewed: bool,
    /// The calls that made it, the latest first; none if that is not known.
    pub calls: Vec<CallId>,
}

/// Claude's changes to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path under which it was first opened.
    pub path: Bytes,
    /// The kind of change.
    pub kind: Kind,
    /// Whether it is no text.
    pub binary: bool,
    /// The content before Claude's first edit; `None` if the file did not exist.
    pub before: Option<Bytes>,
    /// The content after Claude's last edit.
    pub after: Option<Bytes>,
    /// The current content.
    pub current: Option<Bytes>,
    /// The current content without Claude's hunks.
    pub without: Vec<u8>,
    /// From top to bottom.
    pub hunks: Vec<Hunk>,
    /// The turns of these changes.
    pub turns: BTreeSet<TurnId>,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    /// Hunks that the user changed too.
    pub conflicts: usize,
    /// Whether the user has deleted the file: Claude has only changed it.
    pub by_user: bool,
    /// How the change was detected.
    pub source: Source,
    /// Whether its buffer has unsaved changes of an older text: all of this describes the disk.
    pub behind: bool,
}
