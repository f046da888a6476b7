//! Tracks which lines of a text are Claude's, while both Claude and the user continue to change it.
//!
//! Invariant: undoing Claude's regions changes no line outside them, and bytes stay exact: line endings, the final
//! newline and the byte order mark are part of the lines.

use std::collections::HashMap;
use std::ops::Range;

use crate::diff::{Hunk, between_ends, hunks};
use crate::lines::{Line, is_nothing, slice, without_nothing};

/// Limit for splitting a region: lines times hunks.
const MAX_SPLIT: usize = 20_000_000;

/// Whether a region can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As Claude left it.
    Claude,
    /// Changed by the user since.
    Conflict,
    /// Already undone by the user.
    Gone,
}

impl State {
    /// Its name in Lua.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
        }
    }
}

/// Lines `[start, start + count)` of a text, in place of which `before` would stand without Claude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// From 0.
    pub(crate) start: usize,
    /// Number of lines; 0 if Claude only removed some.
    pub(crate) count: usize,
    /// The lines before Claude's change.
    pub(crate) before: Vec<Line>,
    /// Whether it can be undone.
    pub(crate) state: State,
    /// For a conflict: the lines as Claude left them, so that the user can revert their own change.
    left: Option<Vec<Line>>,
}

impl Region {
    #[cfg(test)]
    pub(crate) const fn new(start: usize, count: usize, before: Vec<Line>, state: State) -> Self {
        Self { start, count, before, state, left: None }
    }

    pub(crate) const fn end(&self) -> usize {
        self.start + self.count
    }

    /// Whether they share a line, or an empty one lies at the other's edge or inside.
    pub(crate) const fn meets(&self, other: &Self) -> bool {
        if self.count == 0 || other.count == 0 {
            return touch(self.start, self.end(), other.start, other.end());
        }
        self.start < other.end() && other.start < self.end()
    }
}

/// The author of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// Claude.
    Claude,
    /// The user, or one of their programs.
    User,
    /// Claude, and the user has already accepted it.
    Accepted,
    /// The user undid some of Claude's changes, not necessarily these.
    Undo,
    /// The user undid changes of several turns at once, these among them.
    SharedUndo,
}

/// True also for adjacent ranges.
const fn touch(first: usize, last: usize, other: usize, other_last: usize) -> bool {
    first <= other_last && other <= last
}

/// Whether they are equal, or both without text.
fn same_lines(one: &[Line], other: &[Line]) -> bool {
    one == other || (is_nothing(one) && is_nothing(other))
}

/// With repeated lines, an insertion or deletion can be placed differently. The place that undoes a region is the one
/// that the user meant.
fn slide_to_region(hunk: &mut Hunk, old: &[Line], new: &[Line], regions: &[Region]) {
    let inserts = hunk.old_count == 0;
    if !inserts && hunk.new_count > 0 {
        return;
    }
    let (text, at, count) = if inserts { (new, hunk.new, hunk.new_count) } else { (old, hunk.old, hunk.old_count) };
    let (mut low, mut high) = (at, at);
    while low > 0 && text.get(low - 1) == text.get(low + count - 1) {
        low -= 1;
    }
    while high + count < text.len() && text.get(high) == text.get(high + count) {
        high += 1;
    }
    for region in regions {
        let shifted = |from: usize| (from + region.start).checked_sub(hunk.old);
        let (Some(place), Some(old_at), Some(new_at)) = (shifted(at), shifted(hunk.old), shifted(hunk.new)) else {
            continue;
        };
        let fits = (low..=high).contains(&place)
            && if inserts {
                region.count == 0 && slice(new, new_at, count) == region.before
            } else {
                region.count == count && region.before.is_empty()
            };
        if fits {
            (hunk.old, hunk.new) = (old_at, new_at);
            return;
        }
    }
}

/// Lines `[first, last)` with replacements for the regions.
fn with_instead<'a>(
    lines: &'a [Line],
    first: usize,
    last: usize,
    regions: &'a [Region],
    instead: impl Fn(&'a Region) -> &'a [Line],
) -> Vec<Line> {
    let (mut out, mut at) = (Vec::new(), first);
    for region in regions {
        out.extend_from_slice(slice(lines, at, region.start.saturating_sub(at)));
        out.extend_from_slice(instead(region));
        at = region.end();
    }
    out.extend_from_slice(slice(lines, at, last.saturating_sub(at)));
    out
}

/// Lines `[first, last)` without the regions in them.
fn without(lines: &[Line], first: usize, last: usize, regions: &[Region]) -> Vec<Line> {
    with_instead(lines, first, last, regions, |region| &region.before)
}

/// Lines `[first, last)` as Claude left them; `None` if no longer known.
fn as_left(lines: &[Line], first: usize, last: usize, regions: &[Region]) -> Option<Vec<Line>> {
    if regions.iter().any(|region| region.state == State::Conflict && region.left.is_none()) {
        return None;
    }
    Some(with_instead(lines, first, last, regions, |region| match &region.left {
        Some(left) => left,
        None => slice(lines, region.start, region.count),
    }))
}

/// Removes equal lines at a region's ends; `None` if nothing is left.
fn trim(lines: &[Line], mut region: Region) -> Option<Region> {
    let differs = between_ends(&region.before, slice(lines, region.start, region.count));
    region.start += differs.old;
    region.count = differs.new_count;
    region.before = slice(&region.before, differs.old, differs.old_count).to_vec();
    (region.count > 0 || !region.before.is_empty()).then_some(region)
}

/// Hunks and regions that meet.
struct Cluster {
    first: usize,
    last: usize,
    hunks: Vec<Hunk>,
    regions: Vec<Region>,
}

impl Cluster {
    const fn is_place(&self) -> bool {
        self.first == self.last && self.hunks.is_empty()
    }

    /// Whether a change of the user and one of Claude belong together. Adjacent lines do not; but a place where Claude
    /// left no line is only known by its neighbours.
    const fn same_matter(&self, other: &Self) -> bool {
        if self.is_place() || other.is_place() {
            return self.side_by_side(other);
        }
        self.first < other.last && other.first < self.last
    }

    /// Adjacent changes of Claude are one.
    const fn side_by_side(&self, other: &Self) -> bool {
        touch(self.first, self.last, other.first, other.last)
    }

    fn join(self, mut later: Self) -> Self {
        let (mut hunks, mut regions) = (self.hunks, self.regions);
        hunks.append(&mut later.hunks);
        regions.append(&mut later.regions);
        Self { first: self.first.min(later.first), last: self.last.max(later.last), hunks, regions }
    }
}

/// Merges hunks and regions that meet, in the order of the text.
fn clusters(hunks: &[Hunk], regions: &[Region], meets: fn(&Cluster, &Cluster) -> bool) -> Vec<Cluster> {
    let mut found: Vec<Cluster> = Vec::new();
    let mut add = |mut cluster: Cluster| {
        // Only a hunk can join regions.
        while let Some(top) =
            found.pop_if(|top| !(cluster.hunks.is_empty() && top.hunks.is_empty()) && meets(top, &cluster))
        {
            cluster = top.join(cluster);
        }
        found.push(cluster);
    };
    let (mut hunks, mut regions) = (hunks.iter().peekable(), regions.iter().peekable());
    loop {
        let region_first = match (hunks.peek(), regions.peek()) {
            (None, None) => return found,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some(hunk), Some(region)) => region.start < hunk.old || (region.start == hunk.old && region.count == 0),
        };
        if region_first {
            let Some(region) = regions.next() else { continue };
            add(Cluster { first: region.start, last: region.end(), hunks: Vec::new(), regions: vec![region.clone()] });
        } else {
            let Some(hunk) = hunks.next() else { continue };
            add(Cluster { first: hunk.old, last: hunk.old_end(), hunks: vec![*hunk], regions: Vec::new() });
        }
    }
}

/// Undoes some regions of a text; they are sorted.
pub(crate) fn revert(lines: &[Line], regions: &[Region]) -> Vec<Line> {
    without_nothing(without(lines, 0, lines.len(), regions))
}

/// With repeated lines, a text can be read as containing a region or not. Then it may be undone already, and becomes a
/// conflict. `moved` maps the regions of `regions` to those of `result`; unchanged ones are checked.
fn doubt(regions: &[Region], moved: &HashMap<usize, usize>, result: &mut [Region], old: &[Line], new: &[Line]) {
    let plain = revert(old, regions);
    if plain == new {
        result.iter_mut().for_each(|region| region.state = State::Gone);
        return;
    }
    let hunks = hunks(&plain, new);
    let (mut added, mut removed, mut next) = (0, 0, 0);
    for (index, region) in regions.iter().enumerate() {
        let first = (region.start + added).saturating_sub(removed);
        let last = first + region.before.len();
        added += region.before.len();
        removed += region.count;
        while hunks.get(next).is_some_and(|hunk| hunk.old_end() < first) {
            next += 1;
        }
        let seen = hunks.get(next).is_some_and(|hunk| touch(hunk.old, hunk.old_end(), first, last));
        if let (Some(region), false) = (moved.get(&index).and_then(|at| result.get_mut(*at)), seen) {
            region.state = State::Conflict;
        }
    }
}

/// The place in a text before Claude's changes of a place at which a change of the user begins in the text after them.
/// Within lines that Claude replaced, lines correspond from the first on.
fn place_of_start(claudes: &[Hunk], start: usize) -> usize {
    let mut place = start;
    for hunk in claudes.iter().take_while(|hunk| hunk.new < start) {
        place = if hunk.new_end() <= start {
            hunk.old_end() + (start - hunk.new_end())
        } else {
            hunk.old + (start - hunk.new).min(hunk.old_count)
        };
    }
    place
}

/// The same for a place where a change of the user ends: lines correspond from the last on.
fn place_of_end(claudes: &[Hunk], end: usize) -> usize {
    let mut place = end;
    for hunk in claudes.iter().take_while(|hunk| hunk.new < end || hunk.new_end() == end) {
        place = if hunk.new_end() <= end {
            hunk.old_end() + (end - hunk.new_end())
        } else {
            hunk.old_end() - (hunk.new_end() - end).min(hunk.old_count)
        };
    }
    place
}

/// The place in the text that Claude left of a line that the user has not changed since.
fn place_in_left(users: &[Hunk], line: usize) -> usize {
    let last = users.iter().rfind(|hunk| hunk.new_end() <= line);
    last.map_or(line, |hunk| hunk.old_end() + (line - hunk.new_end()))
}

/// Whether one of Claude's changes is in the lines that a change of the user replaced.
fn is_of_claude(claudes: &[Hunk], user: &Hunk) -> bool {
    let is_in = |hunk: &Hunk| {
        if hunk.new_count == 0 || user.old_count == 0 {
            return touch(hunk.new, hunk.new_end(), user.old, user.old_end());
        }
        hunk.new < user.old_end() && user.old < hunk.new_end()
    };
    claudes.iter().any(is_in)
}

/// Claude's changes of which the user has changed some lines since. Only these lines are in conflict; lines that the user
/// has put back are no longer Claude's, and the others still are. All three texts begin at line `start`.
/// `None` if the texts, with repeated lines, can be read in several ways.
fn split(start: usize, before: &[Line], left: &[Line], now: &[Line]) -> Option<Vec<Region>> {
    let (claudes, users) = (hunks(before, left), hunks(left, now));
    if (claudes.len() + users.len()).saturating_mul(before.len() + now.len()) > MAX_SPLIT {
        return None;
    }
    let is_claudes = |old: &Range<usize>, new: &Range<usize>| {
        let is_old = |line| claudes.iter().any(|hunk| (hunk.old..hunk.old_end()).contains(&line));
        let is_new =
            |line| claudes.iter().any(|hunk| (hunk.new..hunk.new_end()).contains(&place_in_left(&users, line)));
        old.clone().all(is_old) && new.clone().all(is_new)
    };
    let (mut found, mut is_clear) = (Vec::new(), true);
    let mut add = |old: Range<usize>, new: Range<usize>, state, left: Option<Vec<Line>>| {
        let before = slice(before, old.start, old.len()).to_vec();
        if before != slice(now, new.start, new.len()) {
            is_clear = is_clear && (state == State::Conflict || is_claudes(&old, &new));
            found.push(Region { start: start + new.start, count: new.len(), before, state, left });
        }
    };
    for hunk in hunks(before, now) {
        let (mut old, mut new) = (hunk.old, hunk.new);
        let meets = |user: &&Hunk| {
            if user.new_count == 0 {
                return touch(user.new, user.new_end(), hunk.new, hunk.new_end());
            }
            user.new < hunk.new_end() && hunk.new < user.new_end() // otherwise it was put back
        };
        for user in users.iter().filter(meets) {
            let first = user.new.clamp(new, hunk.new_end());
            let last = user.new_end().clamp(first, hunk.new_end());
            let is_whole = (first, last) == (user.new, user.new_end());
            let places = (place_of_start(&claudes, user.old), place_of_end(&claudes, user.old_end()));
            let from = places.0.clamp(old, hunk.old_end());
            let to = places.1.clamp(from, hunk.old_end());
            if is_whole && (from, to.max(places.1)) != (places.0, to) {
                return None;
            }
            if first == last && from == to {
                continue; // Claude's own lines, removed
            }
            add(old..from, new..first, State::Claude, None);
            if is_of_claude(&claudes, user) && (user.old_count > 0 || from < to) {
                let left = is_whole.then(|| slice(left, user.old, user.old_count).to_vec());
                add(from..to, first..last, State::Conflict, left);
            }
            (old, new) = (to, last);
        }
        add(old..hunk.old_end(), new..hunk.new_end(), State::Claude, None);
    }
    is_clear.then_some(found)
}

/// The new regions in place of those that a change met. `joined` is their union in `new`; none if nothing of it is
/// Claude's.
fn judge(cluster: &Cluster, mut joined: Region, old: &[Line], new: &[Line], actor: Actor) -> Vec<Region> {
    if actor == Actor::Accepted || (actor != Actor::Claude && cluster.regions.is_empty()) {
        return Vec::new();
    }
    let conflict = cluster.regions.iter().any(|region| region.state == State::Conflict);
    if actor == Actor::Claude || (actor == Actor::Undo && !conflict) {
        joined.state = if conflict { State::Conflict } else { State::Claude };
        return trim(new, joined).into_iter().collect();
    }
    let now = slice(new, joined.start, joined.count);
    if same_lines(now, &joined.before) {
        joined.state = State::Gone;
        return vec![joined];
    }
    joined.left = as_left(old, cluster.first, cluster.last, &cluster.regions);
    if joined.left.as_deref() == Some(now) {
        joined.left = None;
        return trim(new, joined).into_iter().collect();
    }
    if actor == Actor::SharedUndo {
        return Vec::new(); // an undone change of an earlier one of those turns could return with it
    }
    let left = joined.left.as_deref().filter(|_| actor == Actor::User);
    left.and_then(|left| split(joined.start, &joined.before, left, now)).unwrap_or_else(|| {
        joined.state = State::Conflict;
        vec![joined]
    })
}

/// Carries regions of `old`, in order, over a change of the text. Undone ones are only in the result if the user undid
/// them just now.
pub(crate) fn advance(regions: &[Region], old: &[Line], new: &[Line], actor: Actor) -> Vec<Region> {
    let mut hunks = hunks(old, new);
    if !matches!(actor, Actor::Claude | Actor::Accepted) {
        for hunk in &mut hunks {
            slide_to_region(hunk, old, new, regions);
        }
    }
    let meets = if actor == Actor::Claude { Cluster::side_by_side } else { Cluster::same_matter };
    let (mut result, mut moved) = (Vec::new(), HashMap::new());
    let (mut added, mut removed, mut passed) = (0, 0, 0);
    for cluster in clusters(&hunks, regions, meets) {
        if cluster.hunks.is_empty() {
            for mut region in cluster.regions {
                region.start = (region.start + added).saturating_sub(removed);
                moved.insert(passed, result.len());
                passed += 1;
                result.push(region);
            }
            continue;
        }
        let start = (cluster.first + added).saturating_sub(removed);
        passed += cluster.regions.len();
        for hunk in &cluster.hunks {
            added += hunk.new_count;
            removed += hunk.old_count;
        }
        let joined = Region {
            start,
            count: (cluster.last + added).saturating_sub(removed + start),
            before: without(old, cluster.first, cluster.last, &cluster.regions),
            state: State::Claude,
            left: None,
        };
        result.extend(judge(&cluster, joined, old, new, actor));
    }
    if actor == Actor::User && !hunks.is_empty() && !result.is_empty() {
        doubt(regions, &moved, &mut result, old, new);
    }
    result
}

/// Drops undone regions.
pub(crate) fn drop_gone(mut regions: Vec<Region>) -> Vec<Region> {
    regions.retain(|region| region.state != State::Gone);
    regions
}

#[cfg(test)]
mod tests;
