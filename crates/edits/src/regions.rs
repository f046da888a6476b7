//! Which lines of a text are Claude's, while Claude and the user both go on changing it.
//!
//! Invariant: taking back Claude's regions never changes a line outside them, and bytes stay exact: ends of lines, the final newline
//! and the byte order mark are part of the lines here.

use std::collections::HashMap;

use crate::diff::{Hunk, between_ends, hunks};
use crate::lines::{Line, readable, slice, without_nothing};

/// Whether a region can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Claude's, as Claude left it.
    Claude,
    /// Claude's, and changed by the user since.
    Conflict,
    /// The user has taken it back already.
    Gone,
}

impl State {
    /// As Lua names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
        }
    }
}

/// Lines `[start, start + count)` of a text are where `before` would stand without Claude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// From 0.
    pub(crate) start: usize,
    /// Lines; none where Claude removed some.
    pub(crate) count: usize,
    /// What would stand there.
    pub(crate) before: Vec<Line>,
    /// Whether it can be taken back.
    pub(crate) state: State,
    /// Of a conflict: its lines as Claude left them, so that the user can take their own change back.
    left: Option<Vec<Line>>,
}

impl Region {
    pub(crate) const fn end(&self) -> usize {
        self.start + self.count
    }

    /// Whether they have a line in common, or one is where the other has none.
    pub(crate) const fn meets(&self, other: &Self) -> bool {
        if self.count == 0 || other.count == 0 {
            return touch(self.start, self.end(), other.start, other.end());
        }
        self.start < other.end() && other.start < self.end()
    }
}

/// Whose a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// Claude's.
    Claude,
    /// The user's, or of a program of theirs.
    User,
    /// Claude's, and the user has seen and taken it.
    Accepted,
    /// The user took back some of Claude's changes, not needfully these.
    Undo,
    /// The user took back changes of several turns at once, these among them.
    SharedUndo,
}

/// Also where they have no line in common but lie side by side.
const fn touch(first: usize, last: usize, other: usize, other_last: usize) -> bool {
    first <= other_last && other <= last
}

/// Whether there is no line in either, or the same ones.
fn same_lines(one: &[Line], other: &[Line]) -> bool {
    one == other || (readable(one).is_empty() && readable(other).is_empty())
}

/// Lines that are repeated can be said to have come or gone in several places. The place that takes back one of the regions is what
/// the user meant.
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

/// Lines `[first, last)` with something else where the regions are.
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

/// What would stand in lines `[first, last)` without the regions in them.
fn without(lines: &[Line], first: usize, last: usize, regions: &[Region]) -> Vec<Line> {
    with_instead(lines, first, last, regions, |region| &region.before)
}

/// What stood in lines `[first, last)` as Claude left them; none where that is not known any more.
fn as_left(lines: &[Line], first: usize, last: usize, regions: &[Region]) -> Option<Vec<Line>> {
    if regions.iter().any(|region| region.state == State::Conflict && region.left.is_none()) {
        return None;
    }
    Some(with_instead(lines, first, last, regions, |region| match &region.left {
        Some(left) => left,
        None => slice(lines, region.start, region.count),
    }))
}

/// Leaves out what is the same at the ends of a region; nothing where nothing is left of it.
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

    /// Whether what the user changed and what is Claude's are one matter. Lines side by side are two; but where Claude left no line,
    /// the place is known by its neighbours alone.
    const fn same_matter(&self, other: &Self) -> bool {
        if self.is_place() || other.is_place() {
            return self.side_by_side(other);
        }
        self.first < other.last && other.first < self.last
    }

    /// What Claude changed side by side is one.
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

/// Hunks and regions that meet, as one; in the order of the text.
fn clusters(hunks: &[Hunk], regions: &[Region], meets: fn(&Cluster, &Cluster) -> bool) -> Vec<Cluster> {
    let mut found: Vec<Cluster> = Vec::new();
    let mut add = |mut cluster: Cluster| {
        // Regions alone never become one: a hunk is what joins them.
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

/// Takes back some regions of a text; they are sorted.
pub(crate) fn revert(lines: &[Line], regions: &[Region]) -> Vec<Line> {
    without_nothing(without(lines, 0, lines.len(), regions))
}

/// Where lines repeat, a text can be read both ways: with a region still in it, and without. Then it is not Claude's to take back, for
/// it may be gone already. `moved` says which region of `regions` is which of `result`; those that are unchanged are judged.
fn doubt(regions: &[Region], moved: &HashMap<usize, usize>, result: &mut [Region], old: &[Line], new: &[Line]) {
    let plain = revert(old, regions);
    let back = plain == new;
    let hunks = if back { Vec::new() } else { hunks(&plain, new) };
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
            region.state = if back { State::Gone } else { State::Conflict };
        }
    }
}

/// What becomes of regions that a change of the text met. `joined` is all of it, in `new`; nothing where nothing of it is Claude's.
fn judge(cluster: &Cluster, mut joined: Region, old: &[Line], new: &[Line], actor: Actor) -> Option<Region> {
    if actor == Actor::Accepted || (actor != Actor::Claude && cluster.regions.is_empty()) {
        return None;
    }
    let conflict = cluster.regions.iter().any(|region| region.state == State::Conflict);
    if actor == Actor::Claude || (actor == Actor::Undo && !conflict) {
        joined.state = if conflict { State::Conflict } else { State::Claude };
        return trim(new, joined);
    }
    let now = slice(new, joined.start, joined.count);
    if same_lines(now, &joined.before) {
        joined.state = State::Gone;
        return Some(joined);
    }
    joined.left = as_left(old, cluster.first, cluster.last, &cluster.regions);
    if joined.left.as_deref() == Some(now) {
        joined.left = None;
        return trim(new, joined);
    }
    joined.state = State::Conflict;
    // Else what an earlier one of those turns left could come back with it.
    (actor != Actor::SharedUndo).then_some(joined)
}

/// Carries regions of `old`, which are in order, over a change of the text. Those that are gone are among the result only where the user
/// took them back just now.
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
    if actor == Actor::User && !hunks.is_empty() && !moved.is_empty() {
        doubt(regions, &moved, &mut result, old, new);
    }
    result
}

/// Those that are still in the text.
pub(crate) fn drop_gone(mut regions: Vec<Region>) -> Vec<Region> {
    regions.retain(|region| region.state != State::Gone);
    regions
}

#[cfg(test)]
mod tests;
