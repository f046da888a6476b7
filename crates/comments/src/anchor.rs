//! Where the lines of a comment are in another text. A line of which more than white space was changed is never taken for the one commented
//! on.

use claude_ide_edits::{LineHunk, left_of};

/// Lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    /// From 0.
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl Lines {
    const fn end(self) -> usize {
        self.first + self.count
    }

    pub(crate) const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.end() <= self.end()
    }
}

/// Where lines have gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// All of them, unchanged.
    Same(Lines),
    /// Some of them: the lines from the first to the last that is left, and what stands between.
    Changed(Lines),
    /// None. The line that stands there now.
    Gone(usize),
}

/// Finds lines of a text in another one, of which the differences are known.
pub(crate) fn find(lines: Lines, hunks: &[LineHunk]) -> Found {
    let Lines { first, count } = lines;
    match left_of(&(first..lines.end()), hunks).as_slice() {
        [] => Found::Gone(hunks.iter().find(|hunk| hunk.old + hunk.old_count > first).map_or(first, |hunk| hunk.new)),
        [all] if all.len() == count => Found::Same(Lines { first: all.start, count }),
        [all] => Found::Changed(Lines { first: all.start, count: all.len() }),
        [top, .., bottom] => Found::Changed(Lines { first: top.start, count: bottom.end.saturating_sub(top.start) }),
    }
}

/// Finds lines of which white space alone was changed, where they cannot be others: nothing else was, or they are there once.
pub(crate) fn find_spaced(wanted: Lines, before: &[&[u8]], now: &[&[u8]]) -> Option<Lines> {
    let [before, now] = [before, now].map(|lines| {
        let dense = |line: &&[u8]| line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        lines.iter().map(dense).collect::<Vec<Vec<u8>>>()
    });
    let lines = before.get(wanted.first..wanted.end())?;
    if lines.iter().all(Vec::is_empty) {
        return None;
    } else if before == now {
        return Some(wanted);
    }
    let once = |all: &[Vec<u8>]| {
        let mut places = all.windows(wanted.count).enumerate().filter(|(_, found)| *found == lines);
        places.next().filter(|_| places.next().is_none()).map(|(first, _)| first)
    };
    once(&before)?;
    Some(Lines { first: once(&now)?, count: wanted.count })
}

#[cfg(test)]
mod tests {
    use claude_ide_edits::line_hunks;

    use super::*;

    fn of(before: &str, first: usize, count: usize, now: &str) -> Found {
        let lined = |text: &str| text.chars().map(|line| format!("{line}\n")).collect::<String>();
        find(Lines { first, count }, &line_hunks(lined(before).as_bytes(), lined(now).as_bytes()))
    }

    const fn same(first: usize, count: usize) -> Found {
        Found::Same(Lines { first, count })
    }

    const fn changed(first: usize, count: usize) -> Found {
        Found::Changed(Lines { first, count })
    }

    #[test]
    fn lines_that_are_there_are_found_unchanged() {
        assert_eq!(of("abcdef", 2, 2, "abcdef"), same(2, 2));
        assert_eq!(of("abcdef", 2, 2, "xyabcdef"), same(4, 2));
        assert_eq!(of("abcdef", 2, 2, "cdef"), same(0, 2));
        assert_eq!(of("abcdef", 2, 2, "abxcdyef"), same(3, 2));
        assert_eq!(of("abcdef", 2, 2, "Bcdxyz"), same(1, 2));
        assert_eq!(of("abcdef", 0, 1, "abc"), same(0, 1));
        assert_eq!(of("abcdef", 5, 1, "f"), same(0, 1));
    }

    #[test]
    fn lines_of_which_some_are_left_are_changed() {
        assert_eq!(of("abcdef", 1, 3, "abXdef"), changed(1, 3));
        assert_eq!(of("abcdef", 1, 3, "abcXdef"), changed(1, 4));
        assert_eq!(of("abcdef", 1, 3, "acdef"), changed(1, 2));
        assert_eq!(of("abcdef", 1, 3, "aXcdef"), changed(2, 2));
        assert_eq!(of("abcdef", 1, 3, "abcXYZ"), changed(1, 2));
        assert_eq!(of("abcdef", 1, 3, "zzacdXf"), changed(3, 2));
    }

    #[test]
    fn lines_of_which_none_is_left_are_gone() {
        assert_eq!(of("abcdef", 2, 2, "abef"), Found::Gone(2));
        assert_eq!(of("abcdef", 2, 2, "abXYef"), Found::Gone(2));
        assert_eq!(of("abcdef", 2, 2, "XaYf"), Found::Gone(2));
        assert_eq!(of("abcdef", 2, 2, ""), Found::Gone(0));
        assert_eq!(of("abcdef", 5, 1, "abcde"), Found::Gone(5));
    }

    #[test]
    fn lines_are_found_if_white_space_alone_was_changed_and_they_cannot_be_others() {
        fn of(before: &str, first: usize, count: usize, now: &str) -> Option<(usize, usize)> {
            let [before, now] = [before, now].map(|text| text.split('|').map(str::as_bytes).collect::<Vec<_>>());
            find_spaced(Lines { first, count }, &before, &now).map(|lines| (lines.first, lines.count))
        }
        assert_eq!(of("  a=1|  b", 0, 1, "\ta = 1 |\tb"), Some((0, 1)));
        assert_eq!(of("  }|  }", 1, 1, "    }|    }"), Some((1, 1)), "nothing else was changed");
        assert_eq!(of("a|  b|  c|d", 1, 2, "x|y|b|c|d"), Some((2, 2)));
        assert_eq!(of("a|  }|b|  }", 1, 1, "}|x"), None, "which one is it?");
        assert_eq!(of("a|  }", 1, 1, "}|x|}"), None);
        assert_eq!(of("a|  b", 1, 1, "a|b2"), None);
        assert_eq!(of("a|  b|  c", 1, 2, "a|b"), None);
        assert_eq!(of("a|  |b", 1, 1, "a||b"), None, "there is nothing on it");
        assert_eq!(of("a", 0, 0, "b"), None);
        assert_eq!(of("a", 0, 2, "a"), None);
    }

    /// Every line has a number of its own, so that a model can say what must be found.
    #[test]
    fn whatever_is_done_to_a_text_no_other_line_is_found() {
        let mut seed: u64 = 0x9e37_79b9;
        let mut chance = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for _ in 0..5_000 {
            let size = 1 + chance(12);
            let before: Vec<usize> = (0..size).collect();
            let (mut now, mut fresh) = (before.clone(), 100);
            for _ in 0..chance(5) {
                let at = chance(now.len() + 1);
                match chance(3) {
                    0 => now.insert(at, fresh),
                    1 if at < now.len() => drop(now.remove(at)),
                    _ if at < now.len() => now[at] = fresh,
                    _ => {}
                }
                fresh += 1;
            }
            let first = chance(size);
            let count = 1 + chance(size - first);
            let text = |lines: &[usize]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let wanted = &before[first..first + count];
            let hunks = line_hunks(text(&before).as_bytes(), text(&now).as_bytes());
            let found = find(Lines { first, count }, &hunks);
            let left: Vec<usize> = now.iter().copied().filter(|line| wanted.contains(line)).collect();
            match found {
                Found::Same(at) => assert_eq!(&now[at.first..at.end()], wanted, "{before:?} {now:?}"),
                Found::Changed(at) => {
                    let shown = &now[at.first..at.end()];
                    assert_ne!(shown, wanted);
                    assert_eq!((shown.first(), shown.last()), (left.first(), left.last()), "{before:?} {now:?} {at:?}");
                }
                Found::Gone(at) => {
                    assert!(left.is_empty(), "{before:?} {now:?}");
                    let above = now.iter().filter(|line| **line < first).count();
                    assert!(at >= above && at <= now.len(), "{before:?} {now:?} {at}");
                }
            }
        }
    }
}
