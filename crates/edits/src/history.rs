//! The history of one file that Claude was about to edit: its text after every step, and the step's author.
//!
//! Invariant: the unreviewed changes are known from the last mark on, even if older steps were dropped for space.

use std::collections::BTreeSet;

use crate::blobs::{BlobId, Blobs, Bytes};
use crate::callers::{Caller, Callers};
use crate::lines::{Line, decode};
use crate::regions::{Actor, Region, advance, drop_gone};
use crate::turns::TurnId;

/// With more steps, the oldest is dropped.
const MAX_STEPS: usize = 100;

/// A change and its author.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) actor: Actor,
    /// `None`: the file did not exist.
    pub(crate) blob: Option<BlobId>,
    /// For Claude's steps.
    pub(crate) turn: Option<TurnId>,
    /// When it was seen, in nanoseconds; `None` if inserted later.
    pub(crate) at: Option<u64>,
    /// For an undo: the turns whose changes it removed.
    undone: BTreeSet<TurnId>,
    /// For an undo: the unreviewed changes before it, until another decision.
    pub(crate) mark: Option<Mark>,
}

impl Step {
    const fn put_in(actor: Actor, turn: Option<TurnId>, blob: Option<BlobId>) -> Self {
        Self { actor, blob, turn, at: None, undone: BTreeSet::new(), mark: None }
    }
}

/// The unreviewed changes at one step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) at: usize,
    /// The last step without unreviewed changes.
    pub(crate) base: usize,
    pub(crate) regions: Vec<Region>,
}

impl Mark {
    /// Adjusts to the removal of the first step; `None` if its own step is removed.
    fn shifted(self) -> Option<Self> {
        Some(Self { at: self.at.checked_sub(1)?, base: self.base.saturating_sub(1), regions: self.regions })
    }
}

/// How Claude's change to a file was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Announced by the client before the edit.
    Announced,
    /// By comparing checkpoints of a git work tree.
    Checkpoint,
    /// Named in the session's transcript.
    Transcript,
}

impl Source {
    /// Its name in Lua.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Announced => "announced",
            Self::Checkpoint => "checkpoint",
            Self::Transcript => "transcript",
        }
    }
}

/// The times of the last copies for two different turns. A turn's change to a file that was copied for another turn
/// since becomes a step of its own; otherwise the two turns could not be told apart.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    last: (TurnId, u64),
    before: (TurnId, u64),
}

impl Copied {
    /// Records a checkpoint for a turn.
    pub(crate) const fn note(&mut self, turn: TurnId, at: u64) {
        if self.last.0 != turn {
            self.before = self.last;
        }
        self.last = (turn, at);
    }

    /// Whether the files were copied for another turn since a turn's step.
    fn since(&self, step: &Step) -> bool {
        let other = if Some(self.last.0) == step.turn { self.before } else { self.last };
        step.at.unwrap_or_default() < other.1
    }
}

/// The input for a new step.
pub(crate) struct Noted<'a> {
    pub(crate) actor: Actor,
    /// `None`: the file does not exist.
    pub(crate) bytes: Option<&'a [u8]>,
    /// For Claude's steps.
    pub(crate) turn: Option<TurnId>,
    /// For an undo: the undone turns.
    pub(crate) undone: Option<&'a BTreeSet<TurnId>>,
    /// In nanoseconds.
    pub(crate) now: u64,
}

#[derive(Debug)]
pub(crate) struct History {
    /// The path under which it was first opened.
    pub(crate) path: Bytes,
    /// The path with links resolved.
    pub(crate) real: Bytes,
    /// Never empty.
    pub(crate) steps: Vec<Step>,
    /// Undos after the last step that the user has taken back, and may do again.
    taken_back: Vec<Step>,
    pub(crate) mark: Mark,
    /// Before the last step, if known.
    mark_before: Option<Mark>,
    /// After the user's last decision, or initially.
    pub(crate) decided: Mark,
    /// The unfinished turn that announced an edit: changes on disk are Claude's.
    pub(crate) turn: Option<TurnId>,
    /// The last turn that announced edits, and when it announced the first one, in nanoseconds.
    pub(crate) announced: Option<(TurnId, u64)>,
    /// While an undo is being written: the undone turns.
    pub(crate) undoing: Option<BTreeSet<TurnId>>,
    /// The turns of the last requested undo.
    pub(crate) to_undo: BTreeSet<TurnId>,
    /// While this editor writes the file for Claude: author and turn.
    pub(crate) landing: Option<(Actor, TurnId)>,
    /// Changes with every change of the history.
    pub(crate) revision: u64,
    /// The file's permissions, for recreating it.
    pub(crate) mode: Option<u32>,
    /// The number of names (hard links) before it was changed.
    pub(crate) links: u64,
    pub(crate) source: Source,
    /// Whose calls changed which lines.
    pub(crate) callers: Callers,
    /// Whether the file is private: its texts stay off the disk.
    secret: bool,
}

impl History {
    /// Begins with the file's current content.
    pub(crate) fn new(path: Bytes, real: Bytes, source: Source, secret: bool) -> Self {
        Self {
            path,
            real,
            steps: Vec::new(),
            taken_back: Vec::new(),
            mark: Mark::default(),
            mark_before: None,
            decided: Mark::default(),
            turn: None,
            announced: None,
            undoing: None,
            to_undo: BTreeSet::new(),
            landing: None,
            revision: 0,
            mode: None,
            links: 1,
            source,
            callers: Callers::default(),
            secret,
        }
    }

    pub(crate) fn last(&self) -> Option<&Step> {
        self.steps.last()
    }

    /// A call has changed the file.
    pub(crate) fn called(&mut self, blobs: &mut Blobs, caller: &Caller, before: Option<&[u8]>, after: &[u8]) {
        self.callers.add(blobs, self.secret, caller, before.unwrap_or_default(), after);
    }

    fn put(&self, blobs: &mut Blobs, bytes: Option<&[u8]>) -> Option<BlobId> {
        bytes.map(|bytes| blobs.put(bytes.into(), self.secret))
    }

    /// The content after a step; `None` if the file did not exist.
    pub(crate) fn bytes(&self, blobs: &Blobs, step: usize) -> Option<Bytes> {
        bytes_of(blobs, self.steps.get(step)?)
    }

    /// Advances the mark to the last step.
    pub(crate) fn fold(&mut self, blobs: &Blobs) {
        if self.mark.at + 1 >= self.steps.len() {
            return;
        }
        let undone = self.steps.iter().skip(self.mark.at + 1).any(|step| step.actor == Actor::Undo);
        let from = if undone { self.decided.clone() } else { self.mark.clone() };
        let actors: Vec<Actor> = self.steps.iter().map(|step| step.actor).collect();
        (self.mark, self.mark_before) = self.replay(blobs, from, &actors);
    }

    /// Carries regions through the steps, one for each actor. Returns the final mark, and the one before the last step.
    fn replay(&self, blobs: &Blobs, from: Mark, actors: &[Actor]) -> (Mark, Option<Mark>) {
        let first = from.at;
        let mut lines = self.steps.get(first).map_or_else(Vec::new, |step| lines_of(blobs, step));
        let mut passed = vec![from];
        for (index, (step, actor)) in self.steps.iter().zip(actors).enumerate().skip(first + 1) {
            let (new, before) = (lines_of(blobs, step), passed.last().cloned().unwrap_or_default());
            let same = if step.actor == Actor::Undo { self.same_before(blobs, index) } else { None };
            let earlier = same.and_then(|same| passed.get(same.checked_sub(first)?));
            let (regions, base) = match earlier {
                Some(earlier) => (earlier.regions.clone(), earlier.base),
                None => (drop_gone(advance(&before.regions, &lines, &new, *actor)), before.base),
            };
            let base = if regions.is_empty() { index } else { base };
            passed.push(Mark { at: index, base, regions });
            lines = new;
        }
        let last = passed.pop().unwrap_or_default();
        (last, passed.pop())
    }

    /// Finds the earlier step to which an undo returned: one with the same text, without changes of the user in between
    /// that were not undone.
    /// Claude's lines in it are Claude's again. A step is not returned to if one of the undos since undid changes of
    /// turns up to that step only: its text has come back by other means.
    fn same_before(&self, blobs: &Blobs, undo: usize) -> Option<usize> {
        let bytes = self.bytes(blobs, undo);
        let mut undos = Vec::new();
        for (index, step) in self.steps.iter().enumerate().take(undo + 1).rev() {
            if index < undo && bytes_of(blobs, step) == bytes && !undos.iter().any(|of| self.undid_up_to(*of, index)) {
                return Some(index);
            }
            match step.actor {
                Actor::User => return None,
                Actor::Accepted if !undos.iter().any(|of| self.has_undone(*of, step.turn)) => return None,
                Actor::Undo => undos.push(index),
                Actor::Accepted | Actor::Claude | Actor::SharedUndo => {}
            }
        }
        None
    }

    fn has_undone(&self, undo: usize, turn: Option<TurnId>) -> bool {
        let undone = self.steps.get(undo).map(|step| &step.undone);
        undone.zip(turn).is_some_and(|(undone, turn)| undone.contains(&turn))
    }

    /// Whether an undo undid nothing that was done after a step.
    fn undid_up_to(&self, undo: usize, last: usize) -> bool {
        !self.steps.iter().take(undo).skip(last + 1).any(|step| self.has_undone(undo, step.turn))
    }

    /// The author of an undo: Claude if it only removed changes that count.
    fn actor_of_undo(&self, undo: usize, counts: &impl Fn(Option<TurnId>) -> bool) -> Actor {
        let Some(undone) = self.steps.get(undo).map(|step| &step.undone) else { return Actor::Undo };
        let before = self.steps.iter().take(undo).skip(1);
        let turns = before.filter_map(|step| step.turn).filter(|turn| undone.contains(turn));
        let (counted, other): (Vec<TurnId>, Vec<TurnId>) = turns.partition(|turn| counts(Some(*turn)));
        match (counted.is_empty(), other.is_empty()) {
            (_, true) => Actor::Claude,
            (false, false) => Actor::SharedUndo,
            (true, false) => Actor::Undo,
        }
    }

    /// The changes of some of Claude's turns in the text after `count` steps, with all other steps taken as the user's;
    /// and the first step that counts. `None` if no step counts.
    pub(crate) fn changed_by(
        &self,
        blobs: &Blobs,
        count: usize,
        counts: &impl Fn(Option<TurnId>) -> bool,
    ) -> Option<(Vec<Region>, usize)> {
        let actor_of = |(index, step): (usize, &Step)| match step.actor {
            Actor::Undo => self.actor_of_undo(index, counts),
            Actor::Claude | Actor::Accepted if counts(step.turn) => Actor::Claude,
            _ => Actor::User,
        };
        let actors: Vec<Actor> = self.steps.iter().enumerate().take(count).map(actor_of).collect();
        let is_first = |(step, actor): (&Step, &Actor)| step.actor != Actor::Undo && *actor == Actor::Claude;
        let first = self.steps.iter().zip(&actors).skip(1).position(is_first)? + 1;
        let from = Mark { at: first - 1, base: first - 1, regions: Vec::new() };
        Some((self.replay(blobs, from, &actors).0.regions, first))
    }

    /// Drops the oldest step; the mark never points at a dropped one.
    pub(crate) fn forget_oldest(&mut self, blobs: &mut Blobs) {
        self.forget_taken_back(blobs);
        self.fold(blobs);
        if self.steps.is_empty() {
            return;
        }
        let old = self.steps.remove(0);
        self.mark = self.mark.clone().shifted().unwrap_or_else(|| std::mem::take(&mut self.mark));
        self.mark_before = self.mark_before.take().and_then(Mark::shifted);
        self.decided = std::mem::take(&mut self.decided).shifted().unwrap_or_else(|| self.mark.clone());
        for step in &mut self.steps {
            step.mark = step.mark.take().and_then(Mark::shifted);
        }
        if let Some(blob) = old.blob {
            blobs.drop(blob);
        }
    }

    /// The first of the trailing undos that these bytes revert.
    fn first_undo_back_to(&self, blobs: &Blobs, bytes: Option<&[u8]>) -> Option<usize> {
        let undos = self.steps.iter().rev().take_while(|step| step.mark.is_some()).count();
        let from = self.steps.len().saturating_sub(undos).max(1);
        (from..self.steps.len()).find(|index| same(self.bytes(blobs, index - 1).as_ref(), bytes))
    }

    /// Reverts undos, one or several, that the user has taken back.
    fn take_undo_back(&mut self, blobs: &mut Blobs, bytes: Option<&[u8]>) -> bool {
        let Some(first) = self.first_undo_back_to(blobs, bytes) else { return false };
        self.mark_before = None;
        let taken: Vec<Step> = self.steps.drain(first..).collect();
        if let Some(mark) = taken.first().and_then(|step| step.mark.clone()) {
            self.mark = mark;
        }
        self.taken_back.splice(..0, taken);
        true
    }

    /// Repeats undos, one or several, that the user had taken back.
    fn undo_again(&mut self, blobs: &Blobs, bytes: Option<&[u8]>) -> bool {
        let is_it = |step: &Step| same(bytes_of(blobs, step).as_ref(), bytes);
        let Some(last) = self.taken_back.iter().position(is_it) else { return false };
        let again: Vec<Step> = self.taken_back.drain(..=last).collect();
        for mut step in again {
            self.fold(blobs);
            step.mark = Some(self.mark.clone());
            self.steps.push(step);
        }
        true
    }

    fn forget_taken_back(&mut self, blobs: &mut Blobs) {
        self.taken_back.drain(..).filter_map(|step| step.blob).for_each(|blob| blobs.drop(blob));
    }

    /// Whether the file had this content, and only recorded steps at `at` or later changed it since. A step of the user
    /// ends the search: an announcement records unknown content, of whatever source, as one.
    pub(crate) fn was_known(&self, blobs: &Blobs, bytes: Option<&[u8]>, at: u64) -> bool {
        for step in self.steps.iter().rev() {
            if same(bytes_of(blobs, step).as_ref(), bytes) {
                return true;
            } else if step.actor == Actor::User || step.at.unwrap_or_default() < at {
                return false;
            }
        }
        false
    }

    /// Replaces the text of a step.
    pub(crate) fn hold(&mut self, blobs: &mut Blobs, step: usize, bytes: Option<&[u8]>) {
        let blob = self.put(blobs, bytes);
        let before = self.steps.get_mut(step).and_then(|step| std::mem::replace(&mut step.blob, blob));
        before.into_iter().for_each(|blob| blobs.drop(blob));
    }

    /// Claude's changes to a file within one turn are merged into one step, so that a half-written state leaves no
    /// trace.
    pub(crate) fn goes_on(
        &mut self,
        blobs: &mut Blobs,
        copied: &Copied,
        actor: Actor,
        bytes: Option<&[u8]>,
        turn: TurnId,
    ) -> bool {
        let count = self.steps.len();
        let Some(last) = self.last() else { return false };
        let is_same = actor == Actor::Claude && last.actor == Actor::Claude && last.turn == Some(turn);
        if !is_same || count < 2 || self.decided.at + 1 >= count || copied.since(last) {
            return false;
        }
        if self.mark.at + 1 >= count {
            let before = self.mark_before.take().filter(|before| before.at + 2 == count);
            self.mark = before.unwrap_or_else(|| self.decided.clone());
        }
        self.hold(blobs, count - 1, bytes);
        true
    }

    /// Records the file's current content. Returns whether it changed.
    pub(crate) fn record(&mut self, blobs: &mut Blobs, copied: &Copied, noted: &Noted<'_>) -> bool {
        let Noted { actor, bytes, turn, undone, now } = *noted;
        if self.last().is_some_and(|last| same(bytes_of(blobs, last).as_ref(), bytes)) {
            return false;
        }
        if actor == Actor::User && (self.take_undo_back(blobs, bytes) || self.undo_again(blobs, bytes)) {
            return true;
        }
        self.forget_taken_back(blobs);
        if turn.is_some_and(|turn| self.goes_on(blobs, copied, actor, bytes, turn)) {
            return true;
        }
        let mut step = Step { at: Some(now), ..Step::put_in(actor, turn, self.put(blobs, bytes)) };
        if let Some(undone) = undone {
            self.fold(blobs);
            step.turn = None;
            step.undone.clone_from(undone);
            step.mark = Some(self.mark.clone());
        }
        self.steps.push(step);
        if self.steps.len() > MAX_STEPS {
            self.forget_oldest(blobs);
        }
        true
    }

    /// The number of steps that count for a content: without undos that the user has reverted but not saved.
    pub(crate) fn length(&self, blobs: &Blobs, bytes: Option<&[u8]>) -> usize {
        let mut count = self.steps.len();
        if self.last().is_some_and(|last| same(bytes_of(blobs, last).as_ref(), bytes)) {
            return count;
        }
        for (index, step) in self.steps.iter().enumerate().skip(1).rev() {
            if step.mark.is_none() || step.blob.is_none() {
                break; // a file is not restored before it is saved
            } else if same(self.bytes(blobs, index - 1).as_ref(), bytes) {
                count = index;
            }
        }
        count
    }

    /// The regions of the text after `count` steps, and the first unreviewed step.
    pub(crate) fn unreviewed(&mut self, blobs: &Blobs, count: usize) -> (Vec<Region>, usize) {
        self.fold(blobs);
        let mark = self.steps.get(count).and_then(|step| step.mark.as_ref()).unwrap_or(&self.mark);
        (mark.regions.clone(), mark.base + 1)
    }

    /// Sets the unreviewed regions of the last recorded text.
    pub(crate) fn set_unreviewed(&mut self, regions: Vec<Region>) {
        let last = self.steps.len().saturating_sub(1);
        self.mark = Mark { at: last, base: if regions.is_empty() { last } else { self.mark.base }, regions };
        self.decided = self.mark.clone();
        self.forget_undos();
    }

    /// Called when steps after the last decision were inserted, or turned out to be another author's.
    pub(crate) fn amended(&mut self) {
        if self.decided.at == 0 {
            self.decided = Mark::default();
        }
        self.mark = self.decided.clone();
        self.forget_undos();
    }

    fn forget_undos(&mut self) {
        self.mark_before = None;
        for step in &mut self.steps {
            step.mark = None;
        }
    }

    /// Inserts a step later.
    pub(crate) fn insert(
        &mut self,
        blobs: &mut Blobs,
        index: usize,
        actor: Actor,
        turn: Option<TurnId>,
        bytes: Option<&[u8]>,
    ) {
        let step = Step::put_in(actor, turn, self.put(blobs, bytes));
        self.steps.insert(index.min(self.steps.len()), step);
    }

    /// A checkpoint shows a file's content before a turn, or a part of it, changed it. A different content when an edit
    /// was announced was written by a command of that turn.
    pub(crate) fn began_with(&mut self, blobs: &mut Blobs, found: &Found<'_>) {
        let of_turn = |step: &Step| step.turn == Some(found.turn);
        let decided = self.decided.at;
        let Some(first) = self.steps.iter().skip(decided).position(of_turn).map(|index| index + decided) else {
            return;
        };
        let mut last = self.steps.iter().rposition(of_turn).unwrap_or(first);
        let mut from = None;
        for (index, step) in self.steps.iter().enumerate().take(last).skip(decided) {
            if same(bytes_of(blobs, step).as_ref(), found.before) {
                from = Some(index);
            } else if step.at.is_some_and(|at| at < found.since) {
                from = None; // it had another content by then
            }
        }
        // A checkpoint that was incomplete when the edit was announced may contain the edit, and one within the turn
        // contains the turn's changes so far.
        let seen = self.steps.get(first).and_then(|step| step.at).unwrap_or_default();
        let is_older = self.announced.is_some_and(|(_, at)| found.taken < at) && (found.is_start || seen > found.taken);
        let before = first.checked_sub(1).and_then(|before| self.steps.get(before));
        let is_users = before.is_some_and(|step| step.actor == Actor::User) && first > decided;
        let from = match from {
            Some(from) => from,
            None if is_older && is_users => {
                let from = first - 1;
                if from == decided && from > 0 {
                    return; // already reviewed
                }
                self.insert(blobs, from, Actor::User, None, found.before);
                last += 1;
                from
            }
            None => return,
        };
        let mut amended = false;
        for step in self.steps.iter_mut().take(last).skip(from + 1).filter(|step| step.actor == Actor::User) {
            (step.actor, step.turn) = (Actor::Claude, Some(found.turn));
            amended = true;
        }
        if amended {
            self.amended();
        }
    }
}

/// A file that differs from a checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The turn of the checkpoint.
    pub turn: TurnId,
    /// Its content at the checkpoint; `None`: created since.
    pub before: Option<&'a [u8]>,
    /// When the checkpoint was started, in nanoseconds.
    pub since: u64,
    /// When it was complete.
    pub taken: u64,
    /// Whether it is the one at the turn's start.
    pub is_start: bool,
}

pub(crate) fn same(one: Option<&Bytes>, other: Option<&[u8]>) -> bool {
    one.map(AsRef::as_ref) == other
}

fn bytes_of(blobs: &Blobs, step: &Step) -> Option<Bytes> {
    blobs.get(step.blob?)
}

fn lines_of(blobs: &Blobs, step: &Step) -> Vec<Line> {
    match step.blob {
        Some(blob) => decode(Some(blobs.get(blob).as_deref().unwrap_or_default())),
        None => Vec::new(),
    }
}
