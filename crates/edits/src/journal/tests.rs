use std::sync::Arc;

use super::*;
use crate::testing::Chance;
use crate::turns::Prompt;
use crate::view::Kind;

const FILE: &[u8] = b"/project/file.txt";

fn opened() -> Opened {
    Opened { path: FILE.into(), real: FILE.into(), source: Source::Announced, secret: false }
}

/// A journal of one file, its content on disk, and a clock.
struct Desk {
    journal: Journal,
    id: FileId,
    disk: Option<String>,
    clock: u64,
}

impl Desk {
    fn new(text: &str) -> Self {
        let mut journal = Journal::default();
        let (id, _) = journal.open(opened(), Some(text.as_bytes()), Moment { nanos: 1, millis: 1 });
        Self { journal, id, disk: Some(text.to_owned()), clock: 1 }
    }

    fn now(&mut self) -> Moment {
        self.clock += 1;
        Moment { nanos: self.clock, millis: self.clock }
    }

    fn prompt(&mut self) -> TurnId {
        let now = self.now().millis;
        self.journal.turns().start(1, Prompt { at: now, ..Prompt::default() }, now).id
    }

    fn write(&mut self, text: Option<&str>, actor: Option<Actor>, turn: Option<TurnId>) {
        self.disk = text.map(str::to_owned);
        let now = self.now();
        self.journal.note(self.id, text.map(str::as_bytes), actor, turn, now);
    }

    fn claude(&mut self, turn: TurnId, text: &str) {
        self.write(Some(text), Some(Actor::Claude), Some(turn));
    }

    fn user(&mut self, text: &str) {
        self.write(Some(text), Some(Actor::User), None);
    }

    fn change(&mut self, scope: Scope) -> Option<Change> {
        self.journal.change(self.id, scope, Now::Disk(self.disk.as_deref().map(str::as_bytes)))
    }

    /// The current text without Claude's hunks.
    fn without(&mut self, scope: Scope) -> String {
        let without = self.change(scope).map(|change| String::from_utf8(change.without).unwrap());
        without.unwrap_or_else(|| self.disk.clone().unwrap_or_default())
    }

    fn undo(&mut self, scope: Scope, which: Undone) -> Undo {
        let disk = self.disk.clone();
        let text = Now::Disk(disk.as_deref().map(str::as_bytes));
        let undo = self.journal.undo(self.id, scope, text, which).unwrap();
        if undo.hunks > 0 {
            let bytes = undo.bytes.clone().map(|bytes| String::from_utf8(bytes).unwrap());
            self.journal.set_undoing(self.id, true);
            self.write(bytes.as_deref(), None, None);
            self.journal.set_undoing(self.id, false);
        }
        undo
    }

    fn steps(&self) -> usize {
        self.journal.files[&self.id].steps.len()
    }

    fn keep(&mut self, hunk: Option<usize>) -> Option<bool> {
        let (disk, now) = (self.disk.clone(), self.now());
        self.journal.keep(self.id, Scope::Unreviewed, Now::Disk(disk.as_deref().map(str::as_bytes)), hunk, now)
    }

    /// Announces an edit by the client.
    fn announce(&mut self) {
        let (disk, now) = (self.disk.clone(), self.now());
        self.journal.before_edit(1, opened(), disk.as_deref().map(str::as_bytes), now);
    }

    fn reported(&mut self, turn: TurnId, before: &str, after: &str) -> bool {
        self.reported_by(turn, before, after, false)
    }

    fn reported_by(&mut self, turn: TurnId, before: &str, after: &str, by_user: bool) -> bool {
        let (disk, now) = (self.disk.clone(), self.now());
        let reported = Reported {
            before: Some(before.as_bytes()),
            after: after.as_bytes(),
            current: disk.as_deref().map(str::as_bytes),
            turn,
            by_user,
            caller: &Caller { call: now.millis.to_string().into(), ended: now.millis },
        };
        self.journal.reported(opened(), reported, now)
    }
}

#[test]
fn a_renamed_file_keeps_its_history_and_takes_no_other_files_name() {
    let mut desk = Desk::new("one\ntwo\n");
    let turn = desk.prompt();
    desk.claude(turn, "ONE\ntwo\n");
    let other = Opened { path: b"/other".as_slice().into(), real: b"/other".as_slice().into(), ..opened() };
    desk.journal.open(other, None, Moment::default());
    assert!(!desk.journal.rename(desk.id, b"/other".as_slice().into(), b"/other".as_slice().into()));
    assert!(desk.journal.rename(desk.id, b"/new".as_slice().into(), b"/new".as_slice().into()));
    assert_eq!((desk.journal.find(FILE), desk.journal.find(b"/new")), (None, Some(desk.id)));
    assert_eq!(desk.change(Scope::Unreviewed).unwrap().path.as_ref(), b"/new");
    assert_eq!(desk.without(Scope::Turn(turn)), "one\ntwo\n");
}

#[test]
fn undoing_turn_after_turn_gives_each_text_before() {
    for seed in 0..1500 {
        let mut chance = Chance::new(seed);
        let mut text = || -> String {
            (0..chance.from(1, 10)).map(|_| chance.pick(&["a\n", "b\n", "c\n", "\n", "}\n"])).collect()
        };
        let texts: Vec<String> = (0..4).map(|_| text()).collect();
        let mut desk = Desk::new(&texts[0]);
        let turns: Vec<TurnId> = texts[1..]
            .iter()
            .map(|text| {
                let turn = desk.prompt();
                desk.claude(turn, text);
                turn
            })
            .collect();
        for (index, turn) in turns.iter().enumerate().rev().filter(|(index, _)| texts[*index] != texts[index + 1]) {
            assert!(desk.undo(Scope::Turn(*turn), Undone::All).hunks > 0);
            assert_eq!(desk.disk.as_ref(), Some(&texts[index]), "{seed} {texts:?}");
            assert_eq!(desk.without(Scope::Unreviewed), texts[0], "{seed} {texts:?}");
        }
    }
}

/// Claude changes lines of the first half, the user those of the second, and some changes are reviewed.
#[test]
fn undoing_everything_restores_the_text_except_for_the_users_edits() {
    for seed in 0..1500 {
        let mut chance = Chance::new(seed);
        let first: Vec<String> = (0..20).map(|line| format!("line {line}\n")).collect();
        let mut users = first[10..].to_vec();
        let mut desk = Desk::new(&first.concat());
        for step in 0..chance.from(3, 10) {
            let disk = desk.disk.clone().unwrap();
            let all: Vec<String> = disk.split_inclusive('\n').map(str::to_owned).collect();
            let middle = all.len() - users.len();
            match chance.from(0, 3) {
                0 | 1 => {
                    let mut claudes = all[..middle].to_vec();
                    let at = chance.from(0, 5.min(claudes.len()));
                    let end = (at + chance.from(0, 3)).min(claudes.len().saturating_sub(1)).max(at);
                    let lines = (0..chance.from(0, 3)).map(|line| format!("claude {step} {line}\n"));
                    claudes.splice(at..end, lines);
                    let turn = desk.prompt();
                    desk.claude(turn, &[claudes.concat(), users.concat()].concat());
                }
                2 => {
                    let at = chance.from(2, 9);
                    users[at] = format!("user {step}\n");
                    desk.user(&[all[..middle].concat(), users.concat()].concat());
                }
                _ => {
                    desk.keep(None);
                }
            }
        }
        if desk.change(Scope::All).is_some() {
            desk.undo(Scope::All, Undone::All);
        }
        assert_eq!(desk.disk, Some([first[..10].concat(), users.concat()].concat()), "{seed}");
    }
}

#[test]
fn a_hunk_of_two_turns_that_was_undone_is_not_undone_again_by_either() {
    let mut desk = Desk::new("a\n-\nb\n");
    let (first, second) = (desk.prompt(), desk.prompt());
    desk.claude(first, "first\n-\nb\n");
    desk.claude(second, "second\n-\nB\n");
    desk.undo(Scope::Unreviewed, Undone::Hunk(0));
    assert_eq!(desk.disk.as_deref(), Some("a\n-\nB\n"));
    assert_eq!(desk.without(Scope::Turn(second)), "a\n-\nb\n");
    assert_eq!(desk.change(Scope::Turn(first)), None);
}

/// Blocks of lines, each changed by one turn after another. A hunk of several turns is a block.
#[test]
fn undoing_turns_after_some_hunks_gives_each_block_before() {
    let mut doubtful = 0;
    for seed in 0..1500 {
        let mut chance = Chance::new(seed);
        let text = |blocks: &[Vec<String>]| -> String {
            let lines = blocks.iter().enumerate();
            lines.map(|(index, block)| format!("{}separator {index}\n", block.concat())).collect()
        };
        let mut count = 0;
        let mut lines = |chance: &mut Chance, least| -> Vec<String> {
            (0..chance.from(least, 3))
                .map(|_| {
                    count += 1;
                    format!("line {count}\n")
                })
                .collect()
        };
        let first: Vec<Vec<String>> = (0..chance.from(2, 5)).map(|_| lines(&mut chance, 0)).collect();
        let mut desk = Desk::new(&text(&first));
        let (mut blocks, mut before) = (first.clone(), Vec::new());
        for _ in 0..chance.from(2, 4) {
            let turn = desk.prompt();
            before.push((turn, blocks.clone()));
            for block in &mut blocks {
                if chance.is(60) {
                    let keeps = chance.from(0, block.len());
                    block.truncate(keeps);
                    block.extend(lines(&mut chance, 1));
                }
            }
            desk.claude(turn, &text(&blocks));
            if chance.is(50) {
                let changed: Vec<usize> = (0..blocks.len()).filter(|at| blocks[*at] != first[*at]).collect();
                if changed.is_empty() {
                    continue;
                }
                let hunk = chance.from(0, changed.len() - 1);
                desk.undo(Scope::Unreviewed, Undone::Hunk(hunk));
                let at = changed[hunk];
                for blocks in before.iter_mut().map(|(_, blocks)| blocks).chain([&mut blocks]) {
                    blocks[at].clone_from(&first[at]);
                }
                assert_eq!(desk.disk, Some(text(&blocks)), "{seed}");
            }
        }
        for (turn, blocks) in before.iter().rev() {
            if desk.change(Scope::Turn(*turn)).is_some_and(|change| change.conflicts > 0) {
                doubtful += 1;
                break;
            } else if desk.change(Scope::Turn(*turn)).is_some() {
                desk.undo(Scope::Turn(*turn), Undone::All);
            }
            assert_eq!(desk.disk, Some(text(blocks)), "{seed}");
        }
    }
    // Changes overwritten by later turns and partly undone may remain as a conflict, which is not undone.
    assert!(doubtful <= 1, "{doubtful}");
}

#[test]
fn a_file_that_was_made_goes_and_one_that_was_removed_comes_back() {
    let mut desk = Desk::new("text\n");
    let turn = desk.prompt();
    desk.write(None, Some(Actor::Claude), Some(turn));
    assert_eq!(desk.change(Scope::Unreviewed).unwrap().kind, Kind::Deleted);
    assert_eq!(desk.undo(Scope::Unreviewed, Undone::All).bytes.unwrap(), b"text\n");

    let mut made = Journal::default();
    let (id, _) = made.open(opened(), None, Moment::default());
    let turn = made.turns().start(1, Prompt { at: 1000, ..Prompt::default() }, 1000).id;
    made.note(id, Some(b"new\n"), Some(Actor::Claude), Some(turn), Moment::default());
    let undo = made.undo(id, Scope::Turn(turn), Now::Disk(Some(b"new\n")), Undone::All).unwrap();
    assert_eq!((undo.bytes, undo.hunks, undo.since), (None, 1, Some(1)));
    assert_eq!(made.change(id, Scope::All, Now::Disk(Some(b"new\n"))).unwrap().kind, Kind::Created);
}

/// The last turn with changes that can be undone, as `:Claude undo` picks it.
fn undo_last(desk: &mut Desk, turns: &[TurnId]) -> bool {
    turns.iter().rev().any(|turn| {
        let disk = desk.disk.clone();
        let text = Now::Disk(disk.as_deref().map(str::as_bytes));
        let undo = desk.journal.undo(desk.id, Scope::Turn(*turn), text, Undone::All);
        undo.is_some_and(|undo| undo.hunks > 0) && desk.undo(Scope::Turn(*turn), Undone::All).hunks > 0
    })
}

/// Turns that make, change and remove a file, often to a text that it had before.
#[test]
fn undoing_the_last_turn_again_and_again_ends_with_the_first_text() {
    for seed in 0..800 {
        let mut chance = Chance::new(seed);
        let texts: Vec<Option<&str>> = (0..chance.from(2, 6))
            .map(|_| chance.pick(&[None, None, Some(""), Some("a\n"), Some("b\n"), Some("a\nb\n"), Some("a\nb\nc\n")]))
            .collect();
        let mut desk = Desk::new("");
        desk.write(texts[0], Some(Actor::User), None);
        let mut turns = Vec::new();
        for text in &texts[1..] {
            let turn = desk.prompt();
            turns.push(turn);
            desk.write(*text, Some(Actor::Claude), Some(turn));
        }
        let mut undos = 0;
        while undos <= turns.len() && undo_last(&mut desk, &turns) {
            undos += 1;
        }
        assert!(undos <= turns.len(), "{seed} {texts:?}");
        assert_eq!(desk.disk.as_deref(), texts[0], "{seed} {texts:?}");
        assert_eq!(desk.change(Scope::Unreviewed), None, "{seed} {texts:?}");
    }
}

#[test]
fn a_file_that_was_made_can_go_after_its_accepted_removal_was_undone() {
    let mut desk = Desk::new("");
    desk.write(None, Some(Actor::User), None);
    let (first, second) = (desk.prompt(), desk.prompt());
    desk.claude(first, "made\n");
    desk.write(None, Some(Actor::Accepted), Some(second));
    desk.undo(Scope::Turn(second), Undone::All);
    assert_eq!(desk.disk.as_deref(), Some("made\n"));
    desk.undo(Scope::Turn(first), Undone::All);
    assert_eq!(desk.disk, None);
}

#[test]
fn undoing_the_last_turn_ends_whatever_the_user_does_in_between() {
    for seed in 0..800 {
        let mut chance = Chance::new(seed);
        let (mut desk, mut turns) = (Desk::new("a\nb\nc\n"), Vec::new());
        for _ in 0..chance.from(2, 8) {
            let text: String =
                (0..chance.from(0, 4)).map(|_| chance.pick(&["a\n", "b\n", "c\n", "A\n", "B\n"])).collect();
            let text = Some(text.as_str()).filter(|text| !text.is_empty());
            match chance.from(0, 5) {
                0 => desk.write(text, Some(Actor::User), None),
                1 if desk.change(Scope::Unreviewed).is_some() => {
                    desk.undo(Scope::Unreviewed, Undone::Hunk(0));
                }
                2 => _ = desk.keep(Some(0)),
                _ => {
                    turns.push(desk.prompt());
                    desk.write(text, Some(Actor::Claude), turns.last().copied());
                }
            }
        }
        let mut undos = 0;
        while undos <= 2 * turns.len() && undo_last(&mut desk, &turns) {
            undos += 1;
        }
        assert!(undos <= turns.len(), "{seed}");
    }
}

#[test]
fn a_kept_change_is_reviewed_and_can_be_undone_by_its_turn() {
    let mut desk = Desk::new("a\nb\nc\n");
    let turn = desk.prompt();
    desk.claude(turn, "A\nb\nC\n");
    assert_eq!(desk.keep(Some(0)), Some(true));
    let left = desk.change(Scope::Unreviewed).unwrap();
    assert_eq!(left.hunks.iter().map(|hunk| hunk.start).collect::<Vec<_>>(), [2]);
    let all = desk.change(Scope::Turn(turn)).unwrap();
    assert_eq!(all.hunks.iter().map(|hunk| hunk.reviewed).collect::<Vec<_>>(), [true, false]);
    assert_eq!(desk.keep(None), Some(true));
    assert_eq!((desk.keep(None), desk.change(Scope::Unreviewed)), (None, None));
    assert_eq!(desk.undo(Scope::Turn(turn), Undone::All).hunks, 2);
    assert_eq!(desk.disk.as_deref(), Some("a\nb\nc\n"));
}

#[test]
fn a_hunk_that_the_user_changed_stays() {
    let mut desk = Desk::new("a\nb\nc\n");
    let turn = desk.prompt();
    desk.claude(turn, "A\nb\nC\n");
    desk.user("A mine\nb\nC\n");
    let undo = desk.undo(Scope::Unreviewed, Undone::All);
    assert_eq!((undo.hunks, undo.left, undo.places), (1, 1, 2));
    assert_eq!(desk.disk.as_deref(), Some("A mine\nb\nc\n"));
}

#[test]
fn redo_after_undo_leaves_no_trace() {
    let mut desk = Desk::new("a\nb\nc\n");
    let turn = desk.prompt();
    desk.claude(turn, "A\nb\nC\n");
    desk.undo(Scope::Unreviewed, Undone::Hunk(0));
    desk.undo(Scope::Unreviewed, Undone::Hunk(0));
    assert_eq!(desk.change(Scope::Unreviewed), None);
    let back = desk.journal.change(desk.id, Scope::Unreviewed, Now::Unsaved(b"A\nb\nC\n"));
    assert_eq!(back.unwrap().hunks.len(), 2, "before it is saved");
    desk.user("A\nb\nC\n");
    assert_eq!(desk.steps(), 2);
    assert_eq!(desk.change(Scope::Unreviewed).unwrap().hunks.len(), 2);
}

/// What a user's undo tree does to a file after undos: it goes from text to text and back, also several at a time.
#[test]
fn undos_that_are_taken_back_and_done_again_stay_undos() {
    let texts = [Some("A\nb\nC\n"), Some("a\nb\nC\n"), Some("a\nb\nc\n")];
    for made in [false, true] {
        let mut desk = Desk::new("a\nb\nc\n");
        if made {
            desk.write(None, None, None);
        }
        let turn = desk.prompt();
        desk.claude(turn, "A\nb\nC\n");
        let mut texts = texts.to_vec();
        if made {
            desk.undo(Scope::Unreviewed, Undone::All);
            texts = vec![texts[0], None];
        } else {
            desk.undo(Scope::Unreviewed, Undone::Hunk(0));
            desk.undo(Scope::Unreviewed, Undone::Hunk(0));
        }
        let left = |desk: &mut Desk| desk.change(Scope::Unreviewed).map_or(0, |change| change.hunks.len());
        let mut chance = Chance::new(7);
        for _ in 0..40 {
            let at = chance.from(0, texts.len() - 1);
            desk.write(texts[at], Some(Actor::User), None);
            assert_eq!(left(&mut desk), texts.len() - 1 - at, "{at}");
            assert_eq!(desk.journal.is_undone(desk.id), at > 0);
        }
        desk.write(texts[0], Some(Actor::User), None);
        assert_eq!(desk.steps(), 2 + usize::from(made));
        desk.user("A\nb\nC\nmine\n");
        desk.write(texts[1], Some(Actor::User), None);
        assert!(!desk.journal.is_undone(desk.id), "another text came in between");
        assert_eq!(desk.journal.stored().count, desk.journal.texts(desk.id).iter().flatten().count());
    }
}

#[test]
fn an_undo_done_again_after_a_decision_can_be_taken_back_to_it() {
    let mut desk = Desk::new("a\nb\nc\n");
    let turn = desk.prompt();
    desk.claude(turn, "A\nb\nC\n");
    desk.undo(Scope::Unreviewed, Undone::Hunk(0));
    desk.user("A\nb\nC\n");
    desk.keep(Some(0));
    for _ in 0..2 {
        desk.user("a\nb\nC\n");
        assert_eq!(desk.change(Scope::Unreviewed).unwrap().hunks.len(), 1);
        desk.user("A\nb\nC\n");
        assert_eq!(desk.change(Scope::Unreviewed).unwrap().hunks.len(), 1);
        assert_eq!(desk.change(Scope::All).unwrap().hunks.len(), 2);
    }
}

#[test]
fn neither_text_is_undone_while_the_buffer_is_behind() {
    let mut desk = Desk::new("a\n");
    let turn = desk.prompt();
    desk.claude(turn, "b\n");
    let undo = desk.journal.undo(desk.id, Scope::Turn(turn), Now::Behind(Some(b"b\n")), Undone::All).unwrap();
    assert_eq!((undo.hunks, undo.places), (0, 1));
}

#[test]
fn writes_of_an_announced_edit_are_claudes_until_the_turn_ends() {
    let mut desk = Desk::new("a\n");
    let (turn, now) = (desk.prompt(), desk.now());
    let id = desk.journal.before_edit(1, opened(), Some(b"a\n"), now);
    desk.write(Some("b\n"), None, None);
    assert_eq!(desk.change(Scope::Turn(turn)).unwrap().added, 1);
    desk.journal.release(id, turn);
    desk.write(Some("b\nmine\n"), None, None);
    assert_eq!(desk.change(Scope::All).unwrap().added, 1);
    let reported = desk.journal.take_events();
    let changed = |event: &&Event| matches!(event, Event::FileChanged { accepted: false, client: Some(1), .. });
    assert_eq!(reported.iter().filter(changed).count(), 1);
}

#[test]
fn an_accepted_edit_is_reviewed() {
    let mut desk = Desk::new("a\n");
    let (turn, now) = (desk.prompt(), desk.now());
    desk.journal.before_edit(1, opened(), Some(b"a\n"), now);
    desk.journal.accepted(FILE.into(), b"b\n".as_slice().into());
    desk.write(Some("b\n"), None, None);
    assert_eq!(desk.change(Scope::Unreviewed), None);
    assert_eq!(desk.undo(Scope::Turn(turn), Undone::All).hunks, 1);
}

/// As when a CLI that was started with a prompt proposed it before it was connected, so that nothing announced it.
#[test]
fn an_accepted_edit_that_a_checkpoint_finds_is_reviewed() {
    let mut desk = Desk::new("a\n");
    let turn = desk.prompt();
    desk.journal.accepted(FILE.into(), b"b\n".as_slice().into());
    desk.write(Some("b\n"), Some(Actor::Claude), Some(turn));
    assert_eq!(desk.change(Scope::Unreviewed), None);
    assert_eq!(desk.undo(Scope::Turn(turn), Undone::All).hunks, 1);
}

#[test]
fn a_transcript_reclaims_edits_taken_for_the_users() {
    let mut desk = Desk::new("one\ntwo\n");
    let turn = desk.prompt();
    desk.write(Some("one\nTWO\n"), None, None);
    assert_eq!(desk.change(Scope::Unreviewed), None);
    assert!(desk.reported(turn, "one\ntwo\n", "one\nTWO\n"));
    assert_eq!(desk.without(Scope::Unreviewed), "one\ntwo\n");
    assert!(!desk.reported(turn, "one\ntwo\n", "one\nTWO\n"), "it is known by now");
}

#[test]
fn a_transcript_speaks_of_line_feeds_alone() {
    let mut desk = Desk::new("\u{feff}one\r\ntwo\r\n");
    let turn = desk.prompt();
    desk.write(Some("\u{feff}one\r\nTWO\r\n"), None, None);
    assert!(desk.reported(turn, "one\ntwo\n", "one\nTWO\n"));
    assert_eq!(desk.without(Scope::Unreviewed), "\u{feff}one\r\ntwo\r\n");
}

/// Measured with CLI 2.1.329: it keeps the mark of UTF-16 in what it reports.
#[test]
fn a_transcript_speaks_of_utf_16_as_text() {
    for (feed, mark) in [("\n", "\u{feff}"), ("\r\n", "\u{feff}"), ("\r\n", "")] {
        let bytes = |text: &str| encoding::in_utf16le(&text.replace('\n', feed));
        let (before, after) = ("one\n\u{4e0a}\n", "ONE\n\u{4e0a}\n");
        let mut desk = Desk::new("");
        let (turn, now) = (desk.prompt(), desk.now());
        let caller = Caller { call: "call".into(), ended: now.millis };
        let said = [format!("{mark}{before}"), format!("{mark}{after}")];
        let current = bytes(after);
        let reported = Reported {
            before: Some(said[0].as_bytes()),
            after: said[1].as_bytes(),
            current: Some(&current),
            turn,
            by_user: false,
            caller: &caller,
        };
        let file = Opened { real: b"/project/other".as_slice().into(), ..opened() };
        assert!(desk.journal.reported(file, reported, now));
        let id = desk.journal.find(b"/project/other").unwrap();
        let change = desk.journal.change(id, Scope::Unreviewed, Now::Disk(Some(&current))).unwrap();
        assert_eq!((change.without, change.binary), (bytes(before), false));
        let [hunk] = change.hunks.as_slice() else { panic!("{:?}", change.hunks) };
        assert_eq!(hunk.calls, [Arc::from("call")]);
        assert_eq!(hunk.before, [Box::from("\u{feff}one".as_bytes())]);
    }
}

#[test]
fn utf_16_is_reviewed_like_the_same_text_in_utf_8() {
    let in_16 = |text: &[u8]| encoding::in_utf16le(str::from_utf8(text).unwrap());
    let mut checked = 0;
    for seed in 0..400 {
        let mut chance = Chance::new(seed);
        let (mut one, mut other) = (Journal::default(), Journal::default());
        let mut lines: Vec<&str> = vec!["a\n", "\u{4e0a}\n", "c\r\n", "\u{10a}\n", "e\n", "\u{1f600}\n"];
        let mut text = String::new();
        for step in 0..chance.from(2, 6) {
            let at = chance.from(0, lines.len());
            lines.splice(
                at..(at + chance.from(0, 2)).min(lines.len()),
                chance.is(70).then_some(["X\n", "\u{a0a}\n"][step % 2]),
            );
            text = format!("\u{feff}{}", lines.concat());
            if chance.is(30) {
                text = text.trim_end_matches('\n').to_owned();
            }
            let now = Moment { nanos: u64::try_from(step).unwrap() + 1, millis: 1 };
            for (journal, bytes) in [(&mut one, text.clone().into_bytes()), (&mut other, in_16(text.as_bytes()))] {
                let (id, _) = journal.open(opened(), Some(&bytes), now);
                let turn = journal.turns().current(1, 1).id;
                let actor = if step % 3 == 2 { Actor::User } else { Actor::Claude };
                journal.note(id, Some(&bytes), Some(actor), Some(turn), now);
            }
        }
        let id = FileId(1);
        let wide = in_16(text.as_bytes());
        let (now, now_16) = (Now::Disk(Some(text.as_bytes())), Now::Disk(Some(&wide)));
        let (change, change_16) = (one.change(id, Scope::All, now), other.change(id, Scope::All, now_16));
        let (Some(change), Some(change_16)) = (&change, &change_16) else {
            assert_eq!(change.is_none(), change_16.is_none(), "{seed}");
            continue;
        };
        assert_eq!(change.hunks, change_16.hunks, "{seed}");
        assert_eq!(in_16(&change.without), change_16.without, "{seed}");
        assert!(!change_16.binary);
        for which in (0..change.hunks.len()).map(Undone::Hunk).chain([Undone::All]) {
            let undone = |journal: &mut Journal, now| journal.undo(id, Scope::All, now, which).unwrap().bytes.unwrap();
            assert_eq!(in_16(&undone(&mut one, now)), undone(&mut other, now_16), "{seed} {which:?}");
            checked += 1;
        }
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn an_edit_accepted_as_text_is_reviewed_in_any_form_that_is_written() {
    for (before, after) in [("a\r\n", "b\r\n"), ("\u{feff}a\n", "\u{feff}b\n")] {
        let mut desk = Desk::new(before);
        let (_, now) = (desk.prompt(), desk.now());
        desk.journal.before_edit(1, opened(), Some(before.as_bytes()), now);
        desk.journal.accepted(FILE.into(), b"b\n".as_slice().into());
        desk.write(Some(after), None, None);
        assert_eq!(desk.change(Scope::Unreviewed), None, "{after:?}");
    }
    let mut desk = Desk::new("");
    let (_, now) = (desk.prompt(), desk.now());
    let (before, after) = (encoding::in_utf16le("a\n"), encoding::in_utf16le("b\n"));
    desk.journal.before_edit(1, opened(), Some(&before), now);
    desk.journal.accepted(FILE.into(), "\u{feff}b\n".as_bytes().into());
    desk.journal.note(desk.id, Some(&after), None, None, now);
    assert_eq!(desk.journal.change(desk.id, Scope::Unreviewed, Now::Disk(Some(&after))), None);
}

#[test]
fn many_edits_of_one_turn_are_one_step() {
    let mut desk = Desk::new("0\n");
    let turn = desk.prompt();
    for edit in 1..50 {
        desk.claude(turn, &format!("{edit}\n"));
    }
    assert_eq!(desk.steps(), 2);
}

#[test]
fn a_long_history_forgets_its_oldest_steps_and_nothing_that_waits() {
    let mut desk = Desk::new("a\nb\n");
    let turn = desk.prompt();
    desk.claude(turn, "A\nb\n");
    for edit in 0..150 {
        desk.user(&format!("A\nb {edit}\n"));
    }
    assert_eq!(desk.steps(), 100);
    assert_eq!(desk.without(Scope::Unreviewed), "a\nb 149\n");
}

#[test]
fn a_checkpoint_finds_the_changes_of_a_command() {
    let mut desk = Desk::new("a\n");
    let turn = desk.prompt();
    let began = desk.now().nanos;
    desk.journal.copied_for(turn, began);
    let found = Found { turn, before: Some(b"a\n"), since: began, taken: began, is_start: true };
    let now = desk.now();
    desk.journal.found(opened(), Some(0o644), &found, now);
    desk.claude(turn, "b\n");
    assert_eq!((desk.without(Scope::Turn(turn)).as_str(), desk.journal.mode(desk.id)), ("a\n", Some(0o644)));
}

#[test]
fn text_found_by_an_announced_edit_is_a_commands_of_the_turn() {
    let mut desk = Desk::new("a\nb\n");
    let turn = desk.prompt();
    let began = desk.now().nanos;
    desk.journal.copied_for(turn, began);
    let now = desk.now();
    desk.journal.before_edit(1, opened(), Some(b"command\nb\n"), now);
    desk.write(Some("command\nedit\n"), None, None);
    assert_eq!(desk.journal.met_in(turn, began), [Bytes::from(FILE)]);
    let found = Found { turn, before: Some(b"a\nb\n"), since: began, taken: began, is_start: true };
    let now = desk.now();
    desk.journal.found(opened(), None, &found, now);
    assert_eq!(desk.without(Scope::Turn(turn)), "a\nb\n");
}

#[test]
fn a_checkpoint_between_two_edits_of_a_turn_has_the_first_one_however_late_that_is_seen() {
    let mut desk = Desk::new("a\n");
    let turn = desk.prompt();
    desk.announce();
    let taken = desk.now().nanos;
    desk.write(Some("a one\n"), None, None);
    desk.journal.release(desk.id, turn);
    desk.announce();
    desk.write(Some("a one two\n"), None, None);
    let found = Found { turn, before: Some(b"a one\n"), since: taken, taken, is_start: false };
    let now = desk.now();
    desk.journal.found(opened(), None, &found, now);
    assert_eq!(desk.without(Scope::Turn(turn)), "a\n");
}

#[test]
fn a_kept_change_is_not_undone_with_later_ones() {
    let mut desk = Desk::new("a\nb\n");
    let turn = desk.prompt();
    desk.claude(turn, "A\nb\n");
    desk.keep(None);
    let turn = desk.prompt();
    desk.claude(turn, "A\nB\n");
    desk.undo(Scope::Unreviewed, Undone::All);
    assert_eq!(desk.disk.as_deref(), Some("A\nb\n"));
}

#[test]
fn a_file_that_was_seen_half_written_is_no_other_change() {
    let mut desk = Desk::new("a\nb\nc\n");
    desk.prompt();
    desk.announce();
    desk.write(Some(""), None, None);
    assert_eq!(desk.change(Scope::Unreviewed).unwrap().removed, 3);
    desk.write(Some("A\nb\nC\n"), None, None);
    assert_eq!(desk.change(Scope::Unreviewed).unwrap().hunks.len(), 2);
}

#[test]
fn a_foreign_write_between_turns_is_not_claudes() {
    let mut desk = Desk::new("b\n");
    let turn = desk.prompt();
    desk.announce();
    desk.write(Some("c\n"), None, None);
    desk.journal.release(desk.id, turn);
    desk.disk = Some("c\nsomebody else\n".to_owned());
    desk.prompt();
    desk.announce();
    desk.write(Some("d\nsomebody else\n"), None, None);
    assert_eq!(desk.without(Scope::Unreviewed), "b\nsomebody else\n");
}

#[test]
fn an_announced_edit_is_not_counted_twice() {
    let mut desk = Desk::new("one\ntwo\n");
    let turn = desk.prompt();
    desk.announce();
    desk.write(Some("one\nTWO\n"), None, None);
    assert!(!desk.reported(turn, "one\ntwo\n", "one\nTWO\n"));
    assert_eq!((desk.steps(), desk.change(Scope::All).unwrap().added), (2, 1));
}

#[test]
fn an_announcement_after_the_edit_does_no_harm() {
    let mut desk = Desk::new("one\ntwo\nthree\n");
    let turn = desk.prompt();
    desk.write(Some("one\nTWO\nthree\n"), Some(Actor::Claude), Some(turn));
    desk.disk = Some("one\nTWO\nTHREE\n".to_owned());
    desk.announce(); // too late: it is written already
    desk.reported(turn, "one\nTWO\nthree\n", "one\nTWO\nTHREE\n");
    assert_eq!(desk.without(Scope::Turn(turn)), "one\ntwo\nthree\n");
}

#[test]
fn a_change_undone_and_redone_belongs_to_the_later_turn() {
    let mut desk = Desk::new("one\ntwo\n");
    for _ in 0..2 {
        let turn = desk.prompt();
        desk.write(Some("one\nTWO\n"), None, None);
        assert!(desk.reported(turn, "one\ntwo\n", "one\nTWO\n"));
        assert_eq!(desk.change(Scope::Turn(turn)).unwrap().added, 1);
        desk.undo(Scope::Turn(turn), Undone::All);
        assert_eq!(desk.disk.as_deref(), Some("one\ntwo\n"));
    }
}

#[test]
fn a_users_change_between_two_reported_edits_stays() {
    let mut desk = Desk::new("one\ntwo\nthree\n");
    let turn = desk.prompt();
    desk.write(Some("ONE\ntwo\nthree\n"), None, None);
    desk.reported(turn, "one\ntwo\nthree\n", "ONE\ntwo\nthree\n");
    desk.user("ONE\ntwo\nthree\nmine\n");
    desk.disk = Some("ONE\nTWO\nthree\nmine\n".to_owned());
    desk.reported(turn, "ONE\ntwo\nthree\nmine\n", "ONE\nTWO\nthree\nmine\n");
    desk.undo(Scope::Turn(turn), Undone::All);
    assert_eq!(desk.disk.as_deref(), Some("one\ntwo\nthree\nmine\n"));
}

#[test]
fn a_proposal_that_the_user_changed_needs_no_review() {
    let mut desk = Desk::new("one\ntwo\n");
    let turn = desk.prompt();
    desk.disk = Some("one\nTWO, said I\n".to_owned());
    assert!(desk.reported_by(turn, "one\ntwo\n", "one\nTWO, said I\n", true));
    assert_eq!(desk.change(Scope::Unreviewed), None);
    assert_eq!(desk.change(Scope::All).unwrap().hunks.len(), 1);
}

#[test]
fn hunks_name_the_calls_that_made_them() {
    let mut desk = Desk::new("a\nb\nc\nd\ne\nf\n");
    let turn = desk.prompt();
    desk.claude(turn, "a\nB\nc\nd\nE\nf\n");
    let calls = |desk: &mut Desk| -> Vec<usize> {
        desk.change(Scope::Unreviewed).unwrap().hunks.iter().map(|hunk| hunk.calls.len()).collect()
    };
    assert_eq!(calls(&mut desk), [0, 0], "no transcript has told");
    let before = desk.journal.revision(desk.id);
    assert!(!desk.reported(turn, "a\nb\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nf\n"), "it is known");
    assert_ne!(desk.journal.revision(desk.id), before);
    assert_eq!(calls(&mut desk), [1, 0]);
    desk.reported(turn, "a\nB\nc\nd\ne\nf\n", "a\nB\nc\nd\nE\nf\n");
    assert_eq!(calls(&mut desk), [1, 1]);
    desk.undo(Scope::Unreviewed, Undone::Hunk(0));
    assert_eq!(calls(&mut desk), [1]);
    desk.user("0\na\nb\nc\nd\nE\nf\n");
    assert_eq!(calls(&mut desk), [1]);
}
