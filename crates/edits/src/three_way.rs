//! Merges two independent changes of one text.
//!
//! Invariant: where the two do not meet, each is applied whole and in place. Lines inserted beside a change of the
//! other side are kept too.

use crate::diff::{Hunk, hunks};
use crate::lines::{Line, slice, split};

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Where both changed the same lines: theirs.
    pub text: Vec<u8>,
    /// Places where both changed the same lines differently, or inserted lines whose order is unknown.
    pub overlaps: usize,
}

/// Lines `[first, last)` of the base, changed by at least one side.
#[derive(Default)]
struct Cluster {
    first: usize,
    last: usize,
    mine: Vec<Hunk>,
    theirs: Vec<Hunk>,
}

impl Cluster {
    /// Whether a hunk belongs to this cluster. Adjacent lines do not, but an insertion beside a change could go before
    /// or after it.
    const fn meets(&self, hunk: &Hunk) -> bool {
        if hunk.old_count == 0 || self.first == self.last {
            return hunk.old <= self.last;
        }
        hunk.old < self.last
    }

    /// Whether a hunk changes the same line, or one inserts lines into the other's change.
    const fn crosses(&self, hunk: &Hunk) -> bool {
        hunk.old < self.last
    }
}

/// From top to bottom.
fn clusters(mine: &[Hunk], theirs: &[Hunk], belongs: fn(&Cluster, &Hunk) -> bool) -> Vec<Cluster> {
    let mut all: Vec<(Hunk, bool)> = Vec::with_capacity(mine.len() + theirs.len());
    let (mut mine, mut theirs) = (mine.iter().copied().peekable(), theirs.iter().copied().peekable());
    loop {
        let is_mine = match (mine.peek(), theirs.peek()) {
            (None, None) => break,
            (Some(mine), Some(theirs)) => mine.old < theirs.old || (mine.old == theirs.old && mine.old_count == 0),
            (mine, None) => mine.is_some(),
            (None, Some(_)) => false,
        };
        all.extend(if is_mine { mine.next() } else { theirs.next() }.map(|hunk| (hunk, is_mine)));
    }
    let mut found: Vec<Cluster> = Vec::new();
    for (hunk, is_mine) in all {
        let mut top = found.pop_if(|top| belongs(top, &hunk)).unwrap_or_else(|| Cluster {
            first: hunk.old,
            last: hunk.old,
            ..Cluster::default()
        });
        top.last = top.last.max(hunk.old_end());
        if is_mine {
            top.mine.push(hunk)
        } else {
            top.theirs.push(hunk)
        }
        found.push(top);
    }
    found
}

struct Texts {
    base: Vec<Line>,
    mine: Vec<Line>,
    theirs: Vec<Line>,
}

/// The lines of one side of a cluster.
fn lines_of(base: &[Line], side: &[Line], hunks: &[Hunk], cluster: &Cluster) -> Vec<Line> {
    let (mut lines, mut at) = (Vec::new(), cluster.first);
    for hunk in hunks {
        lines.extend_from_slice(slice(base, at, hunk.old.saturating_sub(at)));
        lines.extend_from_slice(slice(side, hunk.new, hunk.new_count));
        at = hunk.old_end();
    }
    lines.extend_from_slice(slice(base, at, cluster.last.saturating_sub(at)));
    lines
}

/// Merges a cluster that both sides changed: lines that one side inserted beside the other's change are kept. Their
/// order is unknown; if both inserted in one place, mine come first.
fn beside_each_other(texts: &Texts, cluster: &Cluster) -> Vec<Line> {
    let parts = clusters(&cluster.mine, &cluster.theirs, Cluster::crosses);
    let theirs_of = |part: &Cluster| lines_of(&texts.base, &texts.theirs, &part.theirs, part);
    let (mut lines, mut at) = (Vec::new(), cluster.first);
    for (index, part) in parts.iter().enumerate() {
        lines.extend_from_slice(slice(&texts.base, at, part.first.saturating_sub(at)));
        at = part.last;
        if !part.theirs.is_empty() {
            lines.extend(theirs_of(part));
            continue;
        }
        let put = lines_of(&texts.base, &texts.mine, &part.mine, part);
        let before = index.checked_sub(1).and_then(|before| parts.get(before));
        let after = parts.get(index + 1).filter(|after| after.first == part.last && !after.theirs.is_empty());
        let is_there = part.first == part.last
            && (after.is_some_and(|after| theirs_of(after).starts_with(&put))
                || (before.is_some_and(|before| before.last == part.first) && lines.ends_with(&put)));
        if !is_there {
            lines.extend(put);
        }
    }
    lines.extend_from_slice(slice(&texts.base, at, cluster.last.saturating_sub(at)));
    lines
}

/// Merges two changes of a text. Each line of all three ends with a line feed.
#[must_use]
pub fn three_way(base: &[u8], mine: &[u8], theirs: &[u8]) -> Merged {
    let lines = |text| split(text).into_iter().map(Line::from).collect();
    let texts = Texts { base: lines(base), mine: lines(mine), theirs: lines(theirs) };
    let (mine, theirs) = (hunks(&texts.base, &texts.mine), hunks(&texts.base, &texts.theirs));
    let (mut merged, mut overlaps, mut at) = (Vec::new(), 0, 0);
    for cluster in clusters(&mine, &theirs, Cluster::meets) {
        merged.extend_from_slice(slice(&texts.base, at, cluster.first.saturating_sub(at)));
        let my_lines = lines_of(&texts.base, &texts.mine, &cluster.mine, &cluster);
        let their_lines = lines_of(&texts.base, &texts.theirs, &cluster.theirs, &cluster);
        if cluster.theirs.is_empty() {
            merged.extend(my_lines);
        } else if cluster.mine.is_empty() || my_lines == their_lines {
            merged.extend(their_lines);
        } else {
            merged.extend(beside_each_other(&texts, &cluster));
            overlaps += 1;
        }
        at = cluster.last;
    }
    merged.extend_from_slice(texts.base.get(at..).unwrap_or_default());
    Merged { text: merged.concat(), overlaps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Chance;

    fn merged(base: &str, mine: &str, theirs: &str) -> (String, usize) {
        let lines = |letters: &str| letters.chars().map(|letter| format!("{letter}\n")).collect::<String>();
        let found = three_way(lines(base).as_bytes(), lines(mine).as_bytes(), lines(theirs).as_bytes());
        (String::from_utf8(found.text).unwrap().replace('\n', ""), found.overlaps)
    }

    #[test]
    fn edits_that_do_not_meet_are_kept_whole() {
        for (mine, theirs, expected, overlaps) in [
            ("abcdefgh", "abXdefgh", "abXdefgh", 0),
            ("abXdefgh", "abcdefgh", "abXdefgh", 0),
            ("Mabcdefgh", "abcdefghT", "MabcdefghT", 0),
            ("aMcdefgh", "abTdefgh", "aMTdefgh", 0), // side by side
            ("abTdefgh", "aMcdefgh", "aMTdefgh", 0),
            ("aMcdefgh", "aTcdefgh", "aTcdefgh", 1),     // theirs
            ("aScdefgh", "aScdefgh", "aScdefgh", 0),     // the same
            ("abMcdefgh", "abTcdefgh", "abMTcdefgh", 1), // two insertions in one place
            ("abMcdefgh", "abTdefgh", "abMTdefgh", 1),   // an insertion beside a change: before or after it?
            ("abcMdefgh", "abTdefgh", "abTMdefgh", 1),
            ("abMdefgh", "abTcdefgh", "abTMdefgh", 1),
            ("abMdefgh", "abcTdefgh", "abMTdefgh", 1),
            ("abMcNdefgh", "abTdefgh", "abMTNdefgh", 1),
            ("abcdefghM", "abcdefghT", "abcdefghMT", 1),
            ("abcdefghM", "abcdefgT", "abcdefgTM", 1),
            ("abMcdefgh", "abMTdefgh", "abMTdefgh", 1), // the same line, and more
            ("abcMdefgh", "abTMdefgh", "abTMdefgh", 1),
            ("abMcdefgh", "abTUfgh", "abMTUfgh", 1),
            ("aMcdNefgh", "aTcdefgh", "aTcdNefgh", 1), // a clash, and something else
            ("adefgh", "abcdTefgh", "adTefgh", 0),
            ("cdefghMN", "abcdXefgh", "cdXefghMN", 0),
        ] {
            assert_eq!(merged("abcdefgh", mine, theirs), (expected.to_owned(), overlaps), "{mine} {theirs}");
        }
        for (mine, theirs) in [("abcMdefgh", "abTUfgh"), ("afgh", "abXdefgh"), ("", "abcdefghT")] {
            assert_eq!(merged("abcdefgh", mine, theirs).1, 1, "{mine} {theirs}");
        }
    }

    #[test]
    fn the_order_of_the_two_does_not_matter_where_nothing_overlaps() {
        let mut checked = 0;
        for seed in 0..2000 {
            let mut chance = Chance::new(seed);
            let base: Vec<char> =
                (0..chance.from(0, 12)).map(|_| chance.pick(&['a', 'b', 'c', 'd', 'e', 'f'])).collect();
            let mut change = || -> String {
                let mut out = String::new();
                for letter in &base {
                    match chance.from(1, 8) {
                        1 => out.push(chance.pick(&['M', 'N', 'O', 'P'])),
                        2 => {}
                        3 => out.extend([*letter, chance.pick(&['X', 'Y', 'Z'])]),
                        _ => out.push(*letter),
                    }
                }
                out
            };
            let (mine, theirs) = (change(), change());
            let base: String = base.into_iter().collect();
            let (one, other) = (merged(&base, &mine, &theirs), merged(&base, &theirs, &mine));
            assert_eq!(one.1, other.1, "{base} {mine} {theirs}");
            assert!(one.1 > 0 || one == other, "{base} {mine} {theirs}");
            assert_eq!(merged(&base, &base, &theirs), (theirs, 0));
            assert_eq!(merged(&base, &mine, &base), (mine, 0));
            checked += usize::from(one.1 == 0);
        }
        assert!(checked > 200);
    }
}
