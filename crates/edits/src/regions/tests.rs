//! Random texts and edits by both, checked with a model that tracks every line.

use super::*;
use crate::lines::{decode, encode};
use crate::testing::Chance;

/// Runs the steps; returns the text without Claude's own regions, and all regions.
fn fold(steps: &[(Actor, String)]) -> (String, Vec<Region>) {
    let (mut lines, mut regions) = (decode(steps.first().map(|step| step.1.as_bytes())), Vec::new());
    for (actor, text) in steps.iter().skip(1) {
        let new = decode(Some(text.as_bytes()));
        regions = advance(&drop_gone(regions), &lines, &new, *actor);
        lines = new;
    }
    let claudes: Vec<Region> = regions.iter().filter(|region| region.state == State::Claude).cloned().collect();
    (String::from_utf8(encode(&revert(&lines, &claudes))).unwrap(), regions)
}

fn states(regions: &[Region]) -> Vec<&'static str> {
    regions.iter().map(|region| region.state.name()).collect()
}

fn steps(steps: &[(Actor, &str)]) -> Vec<(Actor, String)> {
    steps.iter().map(|(actor, text)| (*actor, (*text).to_owned())).collect()
}

/// Blocks of lines between constant ones. Each block knows its authors.
struct Story {
    chance: Chance,
    lines: usize,
    end: &'static str,
    has_final_end: bool,
    bom: &'static str,
    blocks: Vec<Vec<String>>,
    /// The former content of blocks that Claude changed.
    claims: Vec<Option<Vec<String>>>,
    mixed: Vec<bool>,
    steps: Vec<(Actor, String)>,
}

impl Story {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut story = Self {
            lines: 0,
            end: chance.pick(&["\n", "\n", "\r\n"]),
            has_final_end: chance.pick(&[true, true, false]),
            bom: chance.pick(&["", "", "\u{feff}"]),
            blocks: Vec::new(),
            claims: Vec::new(),
            mixed: Vec::new(),
            steps: Vec::new(),
            chance,
        };
        for _ in 0..story.chance.from(1, 8) {
            let block = story.some_lines(0);
            story.blocks.push(block);
            story.claims.push(None);
            story.mixed.push(false);
        }
        let text = story.text(&story.blocks);
        story.steps.push((Actor::User, text));
        story
    }

    fn some_lines(&mut self, least: usize) -> Vec<String> {
        let count = self.chance.from(least, 4);
        (0..count)
            .map(|_| {
                self.lines += 1;
                let tail = self.chance.pick(&["", "ü", "xxxxxxxxxxxxxxxx", "\t", "a b"]);
                format!("{} {tail}", self.lines)
            })
            .collect()
    }

    fn text(&self, blocks: &[Vec<String>]) -> String {
        let mut lines = vec!["first".to_owned()];
        for (index, block) in blocks.iter().enumerate() {
            lines.extend_from_slice(block);
            lines.push(format!("separator {index}"));
        }
        format!("{}{}{}", self.bom, lines.join(self.end), if self.has_final_end { self.end } else { "" })
    }

    /// Changed lines: some kept, some dropped, some new, and certainly different.
    fn edit(&mut self, block: &[String]) -> Vec<String> {
        let mut kept: Vec<String> = block.iter().filter(|_| self.chance.is(40)).cloned().collect();
        for new in self.some_lines(1) {
            kept.insert(self.chance.from(0, kept.len()), new);
        }
        if self.chance.is(80) || block.is_empty() { kept } else { Vec::new() }
    }

    fn step(&mut self) {
        let actor = self.chance.pick(&[Actor::Claude, Actor::User]);
        for index in 0..self.blocks.len() {
            if !self.chance.is(40) {
                continue;
            }
            let block = self.blocks[index].clone();
            if actor == Actor::Claude {
                self.claims[index].get_or_insert_with(|| block.clone());
            } else if self.claims[index].is_some() || self.mixed[index] {
                // The user changes every line of Claude's block: a clear conflict.
                if !block.is_empty() {
                    self.blocks[index] = self.some_lines(1);
                    self.mixed[index] = true;
                }
                continue;
            }
            self.blocks[index] = self.edit(&block);
        }
        let text = self.text(&self.blocks);
        self.steps.push((actor, text));
    }

    /// Claude's blocks as they were before, the others as they are.
    fn expected(&self) -> String {
        let blocks = self.blocks.iter().zip(&self.claims).zip(&self.mixed);
        let expected: Vec<Vec<String>> =
            blocks.map(|((block, claim), mixed)| claim.as_ref().filter(|_| !mixed).unwrap_or(block).clone()).collect();
        self.text(&expected)
    }
}

#[test]
fn undoing_claudes_regions_leaves_exactly_the_users() {
    for seed in 0..2000 {
        let mut story = Story::new(seed);
        for _ in 0..story.chance.from(1, 6) {
            story.step();
        }
        assert_eq!(fold(&story.steps).0, story.expected(), "{seed} {:#?}", story.steps);
    }
}

/// Few different lines, repeated, so that the place of a change is often ambiguous.
fn few_lines(chance: &mut Chance, least: usize, most: usize, of: &[&str]) -> String {
    (0..chance.from(least, most)).map(|_| chance.pick(of)).collect()
}

#[test]
fn without_edits_of_the_user_undoing_gives_the_first_text() {
    for seed in 0..2000 {
        let mut chance = Chance::new(seed);
        let texts: Vec<(Actor, String)> = (0..chance.from(2, 5))
            .map(|step| {
                let text = few_lines(&mut chance, 0, 12, &["a\n", "b\n", "\n", "}\n"]) + chance.pick(&["", "", "end"]);
                (if step == 0 { Actor::User } else { Actor::Claude }, text)
            })
            .collect();
        let (text, regions) = fold(&texts);
        assert_eq!(text, texts[0].1, "{seed} {texts:?}");
        assert!(regions.iter().all(|region| region.state == State::Claude));
    }
}

#[test]
fn a_users_undo_of_everything_is_seen_as_such() {
    for seed in 0..2000 {
        let mut chance = Chance::new(seed);
        let mut text = || few_lines(&mut chance, 0, 10, &["a\n", "b\n", "\n"]);
        let (old, new) = (text(), text());
        let history = [(Actor::User, old.clone()), (Actor::Claude, new), (Actor::User, old.clone())];
        assert_eq!(fold(&history).0, old, "{seed} {history:?}");
    }
}

#[test]
fn a_users_own_undo_is_no_conflict() {
    for seed in 0..2000 {
        let mut chance = Chance::new(seed);
        let mut text = || few_lines(&mut chance, 0, 10, &["a\n", "b\n", "c\n", "\n"]);
        let (old, claude, user) = (text(), text(), text());
        let history = [
            (Actor::User, old.clone()),
            (Actor::Claude, claude.clone()),
            (Actor::User, user),
            (Actor::User, claude.clone()),
        ];
        // Ambiguous changes may remain as a conflict; nothing else is ever undone.
        let text = fold(&history).0;
        assert_eq!(fold(&history[..2]).0, old);
        assert!(
            text.lines().all(|line| old.lines().chain(claude.lines()).any(|known| known == line)),
            "{seed} {text:?} {history:?}"
        );
    }
}

#[test]
fn a_region_is_a_conflict_once_the_user_changed_it_and_gone_once_they_took_it_back() {
    for (claude, user, expected) in [
        ("a\nB\nc\n", "a\nB\nc\n", "claude"),
        ("a\nB\nc\n", "a\nB!\nc\n", "conflict"),
        ("a\nB\nc\n", "a\nb\nc\n", "gone"),
        ("a\nB\nc\n", "A\nB\nC\n", "claude"),
        ("a\nc\n", "a\nx\nc\n", "conflict"),
        ("a\nb\nc\nc\n", "a\nb\nc\n", "gone"),
        ("a\nb\nc", "a\nb\nc", "claude"),
        ("a\r\nb\r\nc\r\n", "a\r\nb\r\nc\r\n", "claude"),
        ("", "", "claude"),
        ("", "new\n", "conflict"),
    ] {
        let history = steps(&[(Actor::User, "a\nb\nc\n"), (Actor::Claude, claude), (Actor::User, user)]);
        assert_eq!(states(&fold(&history).1), [expected], "{claude:?} {user:?}");
    }
}

/// The text without Claude's regions after the user has changed what Claude left, and the states of all regions. A letter
/// is a line.
fn after_user(before: &str, claude: &str, user: &str) -> (String, Vec<&'static str>) {
    let lines = |letters: &str| letters.chars().map(|letter| format!("{letter}\n")).collect::<String>();
    let story = [(Actor::User, lines(before)), (Actor::Claude, lines(claude)), (Actor::User, lines(user))];
    let (text, regions) = fold(&story);
    (text.replace('\n', ""), states(&regions))
}

#[test]
fn a_line_that_the_user_touched_keeps_only_itself_from_an_undo() {
    for (before, claude, user, undone, states) in [
        ("-abc-", "-XYZ-", "-XmZ-", "-amc-", vec!["claude", "conflict", "claude"]),
        ("-abc-", "-XYZ-", "-mYZ-", "-mbc-", vec!["conflict", "claude"]),
        ("-abc-", "-XYZ-", "-XYm-", "-abm-", vec!["claude", "conflict"]),
        ("--", "-XYZ-", "-XmZ-", "-m-", vec!["claude", "conflict", "claude"]), // made by Claude
        ("-abc-", "-XYZ-", "-XZ-", "-ac-", vec!["claude", "conflict", "claude"]), // removed by the user
        ("-abc-", "-XYZ-", "-XYmZ-", "-abmc-", vec!["claude", "claude"]),      // the user's own line
        ("--", "-XYZ-", "-XZ-", "--", vec!["claude"]),
        ("-abcde-", "-XY-", "-Xm-", "-am-", vec!["claude", "conflict"]),
        ("-a-", "-XYZ-", "-XmZ-", "-am-", vec!["claude", "conflict", "claude"]),
        ("-a-b-", "-X-Y-", "-m-Y-", "-m-b-", vec!["conflict", "claude"]),
        ("-a-b-", "-X-Y-", "-XmY-", "-amb-", vec!["claude", "claude"]), // a line between two changes of Claude's
    ] {
        assert_eq!(after_user(before, claude, user), (undone.to_owned(), states), "{before} {claude} {user}");
    }
}

#[test]
fn a_line_that_the_user_put_back_is_no_conflict() {
    for (before, claude, user, states) in [
        ("-abc-", "-XYZ-", "-XbZ-", vec!["claude", "claude"]),
        ("-abc-", "-XYZ-", "-aYZ-", vec!["claude"]),
        ("-abc-", "-XYZW-", "-XbZW-", vec!["claude", "claude"]),
        ("-abc-", "--", "-b-", vec!["claude", "claude"]),
        ("-abc-", "-X-", "-abc-", vec!["gone"]),
    ] {
        assert_eq!(after_user(before, claude, user), (before.to_owned(), states), "{before} {claude} {user}");
    }
}

#[test]
fn a_users_change_is_kept_when_claude_writes_over_a_part_of_it() {
    let history = steps(&[
        (Actor::User, "a\nb\nc\nd\n"),
        (Actor::Claude, "a\nB\nc\nd\n"),
        (Actor::User, "a\nB\nc\nD\n"),
        (Actor::Claude, "a\nB\nC\nD\n"),
    ]);
    let (text, regions) = fold(&history);
    assert_eq!((text.as_str(), states(&regions)), ("a\nb\nc\nD\n", vec!["claude"]));
}

#[test]
fn an_edit_accepted_in_a_diff_is_no_longer_claudes() {
    let history = steps(&[(Actor::User, "a\nb\nc\n"), (Actor::Claude, "A\nb\nc\n"), (Actor::Accepted, "AA\nb\nC\n")]);
    assert_eq!(fold(&history), ("AA\nb\nC\n".to_owned(), Vec::new()));
}

#[test]
fn fifty_thousand_lines_are_fast() {
    let text = |change: &dyn Fn(usize) -> Option<String>| {
        let lines: String = (1..=50_000).map(|line| change(line).unwrap_or_else(|| format!("line {line}\n"))).collect();
        decode(Some(lines.as_bytes()))
    };
    let claude = |line: usize| (line % 100 == 50).then(|| format!("claude {line}\n"));
    let old = text(&|_| None);
    let new = text(&claude);
    let user = text(&|line| claude(line).or_else(|| (line % 100 == 25).then(|| format!("user {line}\n"))));
    let regions = advance(&advance(&[], &old, &new, Actor::Claude), &new, &user, Actor::User);
    assert_eq!(regions.len(), 500);
    assert!(regions.iter().all(|region| region.state == State::Claude));
}
