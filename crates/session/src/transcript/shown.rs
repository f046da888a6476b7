//! What a CLI shows of a message while the model still says it: the last row, until the message is recorded.
//!
//! Source: CLI 2.1.329. A batch has whole lines of a message; the record has the message under other ids, once it is
//! complete. So a shown message ends when its text is recorded, or when the turn has gone on without it.

use super::Transcript;
use super::unrecorded::Shown;
use crate::id::NodeId;
use crate::index::{Delta, Row};
use crate::message::Block;
use crate::model::RowKind;
use crate::time::Millis;

/// Whole lines of a message.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Names the message.
    pub message: &'a str,
    /// Which batch of it, from 0.
    pub index: u64,
    /// It is the last one.
    pub is_final: bool,
    /// The lines.
    pub delta: &'a str,
}

/// Messages that are complete, but not recorded yet, and the one that is being said.
const MAX_SHOWN: usize = 4;
/// Bytes of one message; the rest is shown once it is recorded.
const MAX_BYTES: usize = 1024 * 1024;
/// Recorded rows among which the text of a message is sought.
const MAX_ROWS: usize = 8;
/// How late the batches of a recorded message may arrive.
const LATE_MS: i64 = 2000;

impl Transcript {
    /// The row of what is shown, after the recorded ones. Another branch than the newest has none.
    pub(super) fn shown_row(&self) -> Option<Row> {
        self.through.is_none().then(|| self.shown.row()).flatten()
    }

    /// Takes what the CLI shows.
    pub fn show(&mut self, batch: &Batch<'_>) -> Delta {
        let is_taken = self.take_batch(batch);
        let from = if is_taken && self.through.is_none() { self.path.len() } else { self.len() };
        Delta { reset: false, from, len: self.len(), changed: Vec::new() }
    }

    fn take_batch(&mut self, batch: &Batch<'_>) -> bool {
        if let Some(shown) = self.shown.0.iter_mut().find(|shown| *shown.message == *batch.message) {
            let is_next = shown.next == batch.index && shown.text.len() < MAX_BYTES;
            if is_next {
                shown.text.push_str(batch.delta);
                shown.next += 1;
            }
            return is_next;
        }
        if batch.index != 0 || batch.delta.trim().is_empty() || self.was_just_recorded(batch.delta) {
            return false;
        }
        if self.shown.0.len() >= MAX_SHOWN {
            self.shown.0.remove(0);
        }
        let (message, text) = (batch.message.into(), batch.delta.to_owned());
        self.shown.0.push(Shown { message, text, next: 1, since: Millis::now() });
        true
    }

    fn was_just_recorded(&mut self, text: &str) -> bool {
        let Some(last) = self.path.last().copied() else { return false };
        let ended = self.index.node(last).and_then(|node| node.end).unwrap_or_default();
        ended.0 + LATE_MS > Millis::now().0 && self.texts_of(last).iter().any(|said| said.starts_with(text.trim_end()))
    }

    fn texts_of(&mut self, id: NodeId) -> Vec<String> {
        let blocks = self.message(id, MAX_BYTES).map(|message| message.blocks).unwrap_or_default();
        let texts = blocks.into_iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text),
            _ => None,
        });
        texts.collect()
    }

    /// Drops what is recorded now, or never will be. Returns whether that changed what is shown.
    pub(super) fn look_at_records(&mut self, delta: &Delta) -> bool {
        if self.shown.0.is_empty() {
            return false;
        }
        let rows = delta.changed.iter().copied().chain(delta.from..self.path.len());
        let ids: Vec<_> = rows.filter_map(|row| self.path.get(row).copied()).collect();
        let mut is_changed = false;
        for id in ids.into_iter().rev().take(MAX_ROWS).rev() {
            let Some((kind, start)) = self.index.node(id).map(|node| (node.kind, node.start)) else { continue };
            if kind == RowKind::Reply {
                for text in self.texts_of(id) {
                    is_changed |= self.shown.recorded(&text);
                }
            } else if matches!(kind, RowKind::Prompt | RowKind::Interrupted) {
                let before = self.shown.0.len();
                self.shown.0.retain(|shown| start.is_none_or(|start| shown.since > start));
                is_changed |= self.shown.0.len() != before;
            }
        }
        is_changed
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;
    use crate::cancel::Cancel;

    struct Lab {
        _dir: tempfile::TempDir,
        file: PathBuf,
        transcript: Transcript,
    }

    fn prompt(text: &str, time: &str) -> String {
        format!(r#"{{"type":"user","uuid":"{text}","timestamp":"{time}","message":{{"content":"{text}"}}}}"#)
    }

    fn reply(id: &str, text: &str) -> String {
        format!(
            r#"{{"type":"assistant","uuid":"u{id}","timestamp":"2026-01-01T00:00:09.000Z","message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    }

    const EARLY: &str = "2026-01-01T00:00:00.000Z";
    const LATE: &str = "2999-01-01T00:00:00.000Z";

    fn lab() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        fs::write(&file, prompt("first", EARLY) + "\n").unwrap();
        let transcript = Transcript::open(&file, &Cancel::new()).unwrap();
        Lab { _dir: dir, file, transcript }
    }

    impl Lab {
        fn show(&mut self, message: &str, index: u64, delta: &str) -> (usize, usize) {
            let delta = self.transcript.show(&Batch { message, index, is_final: false, delta });
            (delta.from, delta.len)
        }

        fn record(&mut self, line: &str) -> (usize, usize) {
            let mut file = fs::File::options().append(true).open(&self.file).unwrap();
            writeln!(file, "{line}").unwrap();
            let delta = self.transcript.refresh(&Cancel::new()).unwrap();
            (delta.from, delta.len)
        }

        /// The texts of the rows from the second on.
        fn texts(&mut self) -> Vec<String> {
            let rows = self.transcript.rows(1, 9);
            assert_eq!(rows.len() + 1, self.transcript.len());
            rows.iter().map(|row| self.transcript.texts_of(row.id).join("|")).collect()
        }
    }

    #[test]
    fn what_is_shown_is_the_last_row_until_it_is_recorded() {
        let mut lab = lab();
        assert_eq!(lab.show("m", 0, "one\n"), (1, 2));
        assert_eq!(lab.show("m", 1, "two\n"), (1, 2));
        assert_eq!(lab.texts(), ["one\ntwo\n"]);
        assert_eq!(lab.record(&reply("a", "one\\ntwo\\nthree")), (1, 2), "the last lines were not shown yet");
        assert_eq!(lab.texts(), ["one\ntwo\nthree"]);
        assert_eq!(lab.show("m", 2, "three"), (2, 2), "too late");
        assert_eq!(lab.texts(), ["one\ntwo\nthree"]);
    }

    #[test]
    fn the_prompt_may_be_recorded_later_than_the_beginning_of_its_answer() {
        let mut lab = lab();
        lab.show("m", 0, "one\n");
        assert_eq!(lab.record(&prompt("second", EARLY)), (1, 3));
        assert_eq!(lab.texts(), ["second", "one\n"]);
        lab.record(&prompt("third", LATE));
        assert_eq!(lab.texts(), ["second", "third"], "it was interrupted and is not recorded");
    }

    #[test]
    fn the_next_message_may_begin_before_one_is_recorded() {
        let mut lab = lab();
        lab.show("m", 0, "one\n");
        lab.show("n", 0, "two\n");
        assert_eq!(lab.texts(), ["one\n|two\n"]);
        assert_eq!(lab.record(&reply("a", "one")), (1, 3));
        assert_eq!(lab.texts(), ["one", "two\n"]);
        lab.show("o", 0, "two\n");
        lab.show("o", 1, "three\n");
        lab.record(&reply("b", "two\\nthree"));
        assert_eq!(lab.texts(), ["one", "two\nthree"], "the stream was cut, and the model asked again");
    }

    #[test]
    fn several_texts_of_a_reply_are_recorded_one_by_one() {
        let mut lab = lab();
        lab.show("m", 0, "one\n");
        lab.show("m", 1, "two\n");
        lab.record(&reply("a", "one"));
        assert_eq!(lab.texts(), ["one", "two\n"]);
        lab.show("m", 2, "three\n");
        assert_eq!(lab.texts(), ["one", "two\nthree\n"]);
    }

    #[test]
    fn a_lost_batch_or_a_late_one_shows_nothing_twice() {
        let mut lab = lab();
        lab.show("m", 0, "one\n");
        assert_eq!(lab.show("m", 2, "three\n"), (2, 2));
        assert_eq!(lab.show("n", 1, "two\n"), (2, 2));
        let now = r#"{"type":"assistant","uuid":"u","timestamp":"2998-01-01T00:00:00.000Z","message":{"id":"a","content":[{"type":"text","text":"one\ntwo"}]}}"#;
        lab.record(now);
        assert_eq!(lab.texts(), ["one\ntwo"]);
        assert_eq!(lab.show("m", 0, "one\n"), (2, 2));
    }

    #[test]
    fn another_branch_shows_nothing_of_it() {
        let mut lab = lab();
        lab.show("m", 0, "one\n");
        let first = lab.transcript.rows(0, 1)[0].id;
        assert_eq!(lab.transcript.show_branch(Some(first)).unwrap().len, 1);
        assert_eq!(lab.show("m", 1, "two\n"), (1, 1));
        assert_eq!(lab.transcript.show_branch(None).unwrap().len, 2);
        assert_eq!(lab.texts(), ["one\ntwo\n"]);
    }
}
