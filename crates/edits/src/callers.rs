//! Whose call changed which lines of a file, as far as transcripts tell: each call's change is carried to later texts.
//!
//! Invariant: a line that something else has changed since, a command or the user, belongs to no call.

use std::ops::Range;
use std::sync::Arc;

use crate::blobs::{BlobId, Blobs};
use crate::diff::{Hunk, left_of, line_hunks};
use crate::regions::Region;
use crate::turns::Millis;

/// Of more parts of a file, the oldest are forgotten.
const MAX_PARTS: usize = 500;

/// The id of a tool call.
pub type CallId = Arc<str>;

/// Lines `[first, last)` that a call left; none where it only removed some.
#[derive(Debug, Clone)]
struct Part {
    first: usize,
    last: usize,
    call: CallId,
    ended: Millis,
}

impl Part {
    const fn is_place(&self) -> bool {
        self.first == self.last
    }

    const fn meets(&self, region: &Region) -> bool {
        if self.is_place() || region.count == 0 {
            return self.first <= region.end() && region.start <= self.last;
        }
        self.first < region.end() && region.start < self.last
    }
}

/// The calls of one file.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    /// The text that the last call left.
    text: Option<BlobId>,
    ended: Millis,
    /// In that text; a later call's come later.
    parts: Vec<Part>,
}

/// A call that has changed a file.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its id.
    pub call: CallId,
    /// When it ended.
    pub ended: Millis,
}

impl Callers {
    /// Adds a call's change. Calls of several agents may be told out of order.
    pub(crate) fn add(&mut self, blobs: &mut Blobs, secret: bool, caller: &Caller, before: &[u8], after: &[u8]) {
        let part = |hunk: &Hunk| Part {
            first: hunk.new,
            last: hunk.new_end(),
            call: Arc::clone(&caller.call),
            ended: caller.ended,
        };
        let parts: Vec<Part> = line_hunks(before, after).iter().map(part).collect();
        let known = self.text.and_then(|text| blobs.get(text));
        match known {
            Some(last) if caller.ended < self.ended => self.parts.extend(carried(&parts, after, &last)),
            known => {
                let carried_on = known.map(|last| carried(&carried(&self.parts, &last, before), before, after));
                self.parts = carried_on.unwrap_or_default();
                self.parts.extend(parts);
                self.forget_text(blobs);
                self.text = Some(blobs.put(after.into(), secret));
                self.ended = caller.ended;
            }
        }
        self.parts.drain(..self.parts.len().saturating_sub(MAX_PARTS));
    }

    fn forget_text(&mut self, blobs: &mut Blobs) {
        self.text.take().into_iter().for_each(|text| blobs.drop(text));
    }

    /// For space.
    pub(crate) fn forget(&mut self, blobs: &mut Blobs) {
        self.forget_text(blobs);
        self.parts.clear();
    }

    /// The calls that made each region of a text, the latest first.
    pub(crate) fn of(&self, blobs: &Blobs, text: &[u8], regions: &[Region]) -> Vec<Vec<CallId>> {
        let known = self.text.and_then(|text| blobs.get(text));
        let mut parts = known.map(|last| carried(&self.parts, &last, text)).unwrap_or_default();
        parts.sort_by_key(|part| part.ended);
        let calls = |region: &Region| {
            let mut calls: Vec<CallId> = Vec::new();
            for part in parts.iter().rev().filter(|part| part.meets(region)) {
                if !calls.contains(&part.call) {
                    calls.push(Arc::clone(&part.call));
                }
            }
            calls
        };
        regions.iter().map(calls).collect()
    }
}

/// The lines of the parts that are still in a later text. A place from which lines were removed stays beside what is left.
fn carried(parts: &[Part], old: &[u8], new: &[u8]) -> Vec<Part> {
    let hunks = if parts.is_empty() || old == new { Vec::new() } else { line_hunks(old, new) };
    let pieces = |part: &Part| left_of(&(part.first..part.last), &hunks);
    let piece = |part: &Part, lines: Range<usize>| Part { first: lines.start, last: lines.end, ..part.clone() };
    parts.iter().flat_map(|part| pieces(part).into_iter().map(move |lines| piece(part, lines))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regions::State;
    use crate::testing::Chance;

    #[derive(Default)]
    struct Desk {
        blobs: Blobs,
        callers: Callers,
    }

    impl Desk {
        fn call(&mut self, id: &str, ended: Millis, before: &str, after: &str) {
            let caller = Caller { call: id.into(), ended };
            self.callers.add(&mut self.blobs, false, &caller, before.as_bytes(), after.as_bytes());
        }

        fn of(&self, text: &str, start: usize, count: usize) -> Vec<String> {
            let region = Region::new(start, count, Vec::new(), State::Claude);
            let calls = self.callers.of(&self.blobs, text.as_bytes(), &[region]);
            calls.into_iter().flatten().map(|call| call.to_string()).collect()
        }
    }

    const TEXT: &str = "a\nb\nc\nd\ne\n";

    #[test]
    fn each_region_has_its_call() {
        let mut desk = Desk::default();
        desk.call("1", 1, TEXT, "a\nB\nc\nd\ne\n");
        desk.call("2", 2, "a\nB\nc\nd\ne\n", "0\na\nB\nc\nd\n");
        let now = "0\na\nB\nc\nd\n";
        assert_eq!(desk.of(now, 2, 1), ["1"]);
        assert_eq!(desk.of(now, 0, 1), ["2"]);
        assert_eq!(desk.of(now, 5, 0), ["2"], "it removed a line");
        assert_eq!(desk.of(now, 3, 1), [""; 0]);
    }

    #[test]
    fn a_region_of_several_calls_names_the_latest_first() {
        let mut desk = Desk::default();
        desk.call("1", 1, TEXT, "a\nB\nC\nD\ne\n");
        desk.call("2", 2, "a\nB\nC\nD\ne\n", "a\nB\nCC\nD\ne\n");
        desk.call("3", 3, "a\nB\nCC\nD\ne\n", "a\nB\nCC\nD\nE\n");
        assert_eq!(desk.of("a\nB\nCC\nD\nE\n", 1, 4), ["3", "2", "1"]);
        assert_eq!(desk.of("a\nB\nCC\nD\nE\n", 2, 1), ["2"]);
    }

    #[test]
    fn lines_that_something_else_changed_are_of_no_call() {
        let mut desk = Desk::default();
        desk.call("1", 1, TEXT, "a\nB\nC\nD\ne\n");
        assert_eq!(desk.of("a\nB\nuser\nD\ne\n", 2, 1), [""; 0]);
        assert_eq!(desk.of("a\nB\nuser\nD\ne\n", 1, 3), ["1"]);
        desk.call("2", 2, "a\nB\nuser\nD\ne\n", "a\nB\nuser\nD\ne\nf\n");
        assert_eq!(desk.of("a\nB\nuser\nD\ne\nf\n", 2, 1), [""; 0]);
        assert_eq!(desk.of("a\nB\nuser\nD\ne\nf\n", 3, 1), ["1"]);
    }

    #[test]
    fn a_call_that_is_told_late_takes_no_line_of_a_later_one() {
        let mut desk = Desk::default();
        desk.call("2", 2, "a\nB\nc\nd\ne\n", "a\nBB\nc\nd\nE\n");
        desk.call("1", 1, TEXT, "a\nB\nC\nd\ne\n".replace('C', "c").as_str());
        desk.call("0", 0, "a\nb\nc\n", "0\na\nb\nc\n");
        assert_eq!(desk.of("a\nBB\nc\nd\nE\n", 1, 1), ["2"]);
        assert_eq!(desk.of("a\nBB\nc\nd\nE\n", 0, 1), [""; 0]);
    }

    #[test]
    fn a_line_is_of_the_call_that_wrote_it() {
        for seed in 0..300 {
            let (mut chance, mut desk) = (Chance::new(seed), Desk::default());
            let mut lines: Vec<String> = (0..12).map(|number| format!("line {number}")).collect();
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let mut fresh = 0;
            for call in 1..=12_u64 {
                let before = text(&lines);
                let is_users = chance.is(25);
                for _ in 0..chance.from(1, 3) {
                    fresh += 1;
                    let who = if is_users { "user".to_owned() } else { call.to_string() };
                    let at = chance.from(0, lines.len() - 1);
                    match chance.from(0, 2) {
                        0 => lines[at] = format!("{fresh} by {who}"),
                        1 => lines.insert(at, format!("{fresh} by {who}")),
                        _ if lines.len() > 2 => drop(lines.remove(at)),
                        _ => {}
                    }
                }
                if !is_users {
                    desk.call(&call.to_string(), call, &before, &text(&lines));
                }
            }
            let now = text(&lines);
            for (at, line) in lines.iter().enumerate() {
                let writer = line.split(" by ").nth(1).filter(|writer| *writer != "user");
                let calls = desk.of(&now, at, 1);
                // Calls that only removed lines meet their neighbours, too.
                assert!(
                    writer.is_none_or(|writer| calls.iter().any(|call| call == writer)),
                    "{seed} {at}\n{now}{calls:?}"
                );
            }
        }
    }
}
