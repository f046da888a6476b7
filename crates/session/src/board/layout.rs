//! The text of a board: columns that fit the window. State and title come first, so that a narrow window keeps them.

use serde::{Serialize, Serializer};
use unicode_width::UnicodeWidthStr as _;

use super::options::{Known, Options, Screen};
use super::session::Session;
use crate::render::{fit_by, one_line, with_unseen_marked};
use crate::state::{Activity, WaitingFor};
use crate::time::{Millis, age};

/// Width of a state's name.
const STATE: usize = 10;
/// Titles get at least and at most so many cells.
const MIN_TITLE: usize = 12;
const MAX_TITLE: usize = 60;
const MAX_PLACE: usize = 28;
const GAP: usize = 2;
/// Widths of columns are rounded up to a multiple of this, so that one more digit moves nothing.
const STEP: usize = 4;
/// Indent of a session's second line.
const INDENT: &str = "  ";

/// What a piece of text is, which decides its highlight group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they say what they are")]
pub enum Look {
    Plain,
    Waiting,
    Working,
    Idle,
    Ended,
    Place,
    Added,
    Removed,
    Review,
    Fact,
    Ask,
    Task,
    Words,
    You,
}

impl Serialize for Look {
    /// The name of its highlight group.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("ClaudeBoard{self:?}"))
    }
}

/// A line of a row.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// Its text.
    pub text: String,
    /// Highlighted bytes: first, end, what it is.
    pub marks: Vec<(usize, usize, Look)>,
}

impl Line {
    fn push(&mut self, text: &str, look: Look) {
        let from = self.text.len();
        self.text.push_str(text);
        if look != Look::Plain && !text.is_empty() {
            self.marks.push((from, self.text.len(), look));
        }
    }

    fn blanks(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n(' ', count));
    }
}

impl Screen {
    fn width_of(&self, text: &str) -> usize {
        if self.ambiguous_is_wide { text.width_cjk() } else { text.width() }
    }

    /// The beginning of a text that fits into `cells` cells.
    fn fit(&self, text: &str, cells: usize) -> String {
        fit_by(text, cells, |text| self.width_of(text))
    }
}

/// Pieces of one cell.
type Cell = Vec<(String, Look)>;

/// A column after the title. The first of these are dropped last.
struct Column {
    cells: Vec<Cell>,
    width: usize,
    right: bool,
}

const fn state_look(activity: Activity) -> (&'static str, Look) {
    match activity {
        Activity::Waiting => ("●", Look::Waiting),
        Activity::Working => ("◐", Look::Working),
        Activity::Idle => ("○", Look::Idle),
        Activity::Gone => ("·", Look::Ended),
    }
}

fn state_name(activity: Activity, waiting_for: Option<WaitingFor>) -> &'static str {
    match (activity, waiting_for) {
        (Activity::Waiting, Some(WaitingFor::Permission)) => "permission",
        (Activity::Waiting, Some(WaitingFor::Input)) => "answer",
        (Activity::Waiting, Some(WaitingFor::Dialog)) => "dialog",
        (Activity::Waiting, _) => "asks",
        (Activity::Working, _) => "working",
        (Activity::Idle, _) => "idle",
        (Activity::Gone, _) => "ended",
    }
}

/// "950", "12k", "1.2M".
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => format!("{}k", (count + 500) / 1_000),
        _ => format!("{}.{}M", (count + 50_000) / 1_000_000, (count + 50_000) % 1_000_000 / 100_000),
    }
}

fn one(text: String, look: Look) -> Cell {
    if text.is_empty() { Vec::new() } else { vec![(text, look)] }
}

fn changes(session: &Session) -> Cell {
    let tally = &session.tally;
    let files = tally.files();
    if files == 0 {
        return Vec::new();
    }
    vec![
        (format!("+{}", tally.added), Look::Added),
        (format!(" −{}", tally.removed), Look::Removed),
        (if files == 1 { ", 1 file".to_owned() } else { format!(", {files} files") }, Look::Fact),
    ]
}

/// The branch, and the worktree's folder if it has another name.
fn place(session: &Session, screen: &Screen) -> String {
    let branch = session.summary.as_ref().and_then(|summary| summary.branch.clone()).unwrap_or_default();
    let folder = session.worktree.clone().or_else(|| session.cwd());
    let folder = folder
        .as_deref()
        .and_then(std::path::Path::file_name)
        .map(|name| with_unseen_marked(&one_line(&name.to_string_lossy())));
    let is_linked = session.worktree.as_ref().is_some_and(|top| top.join(".git").is_file());
    match folder {
        Some(folder) if (screen.projects || is_linked) && folder != branch => {
            format!("{folder} {branch}").trim_end().to_owned()
        }
        _ => branch,
    }
}

fn cost(session: &Session, known: Option<&Known>) -> String {
    let dollars = known.and_then(|known| known.cost).or(session.tally.cost);
    dollars.map(|dollars| format!("${dollars:.2}")).unwrap_or_default()
}

/// A column's facts of a session.
type Facts = fn(&Session, Option<&Known>, &Screen, Millis) -> Cell;

/// In the order of the line; the number is the rank: columns of a low rank are dropped first.
const COLUMNS: [(u8, bool, Facts); 7] = [
    (4, false, |_, known, _, _| {
        let files = known.map_or(0, |known| known.review);
        one(if files > 0 { format!("{files} to review") } else { String::new() }, Look::Review)
    }),
    (5, false, |session, _, _, _| changes(session)),
    (3, false, |session, _, screen, _| one(screen.fit(&place(session, screen), MAX_PLACE), Look::Place)),
    (2, true, |session, _, _, _| {
        let percent = session.summary.as_ref().and_then(|summary| summary.context_percent);
        one(percent.map(|percent| format!("{percent}%")).unwrap_or_default(), Look::Fact)
    }),
    (0, true, |session, _, _, _| {
        let count = session.tally.tokens();
        one(if count > 0 { tokens(count) } else { String::new() }, Look::Fact)
    }),
    (1, true, |session, known, _, _| one(cost(session, known), Look::Fact)),
    (6, true, |session, _, _, now| one(age(now.0.saturating_sub(session.since().0)), Look::Fact)),
];

fn columns(sessions: &[Session], options: &Options, now: Millis) -> Vec<(u8, Column)> {
    let screen = &options.screen;
    let column = |(rank, right, facts): (u8, bool, Facts)| {
        let cells: Vec<Cell> = sessions
            .iter()
            .map(|session| facts(session, options.known.get(session.id().as_str()), screen, now))
            .collect();
        let widest = cells.iter().map(|cell| cell_width(cell, screen)).max().unwrap_or_default();
        let width = widest.div_ceil(STEP) * STEP;
        (rank, Column { cells, width, right })
    };
    COLUMNS.into_iter().map(column).filter(|(_, column)| column.width > 0).collect()
}

fn cell_width(cell: &Cell, screen: &Screen) -> usize {
    cell.iter().map(|(text, _)| screen.width_of(text)).sum()
}

/// The lines of each session.
pub(super) fn lines(sessions: &[Session], options: &Options) -> Vec<Vec<Line>> {
    let screen = &options.screen;
    let now = if screen.now.0 == 0 { Millis::now() } else { screen.now };
    let mut columns = columns(sessions, options, now);
    let mark = screen.width_of("●") + 1;
    let mut state = STATE + GAP;
    let widest = sessions.iter().map(|session| screen.width_of(&session.title())).max().unwrap_or_default();
    let wanted = widest.clamp(MIN_TITLE, MAX_TITLE);
    // Facts go before a title is cut to less than a half of what it needs.
    let least = MIN_TITLE.max(wanted / 2);
    loop {
        let taken: usize = columns.iter().map(|(_, column)| column.width + GAP).sum();
        if mark + state + least + taken <= screen.width {
            break;
        }
        if let Some(at) = columns.iter().enumerate().min_by_key(|(_, (rank, _))| *rank).map(|(at, _)| at) {
            columns.remove(at);
        } else {
            // The mark and its colour tell the state, too.
            state = if mark + state + MIN_TITLE > screen.width { 0 } else { state };
            break;
        }
    }
    let taken: usize = columns.iter().map(|(_, column)| column.width + GAP).sum();
    let title = screen.width.saturating_sub(mark + state + taken).max(1).min(wanted);
    let line = |(at, session): (usize, &Session)| {
        let known = options.known.get(session.id().as_str());
        let activity = session.activity(known);
        let (sign, look) = state_look(activity);
        let mut line = Line::default();
        line.push(sign, look);
        line.blanks(1);
        if state > 0 {
            let name = state_name(activity, session.waiting_for());
            line.push(name, look);
            line.blanks(state.saturating_sub(name.len()));
        }
        let shown = screen.fit(&session.title(), title);
        let mut missing = title.saturating_sub(screen.width_of(&shown));
        line.push(&shown, if activity == Activity::Gone { Look::Ended } else { Look::Plain });
        for (_, column) in &columns {
            let Some(cell) = column.cells.get(at) else { continue };
            let room = column.width.saturating_sub(cell_width(cell, screen));
            line.blanks(missing + GAP + if column.right { room } else { 0 });
            cell.iter().for_each(|(text, look)| line.push(text, *look));
            missing = if column.right { 0 } else { room };
        }
        line.text.truncate(line.text.trim_end().len());
        let mut lines = vec![line];
        lines.extend((activity != Activity::Gone).then(|| second(session, known, activity, screen)));
        lines
    };
    sessions.iter().enumerate().map(line).collect()
}

/// What it asks, its tasks or plan, and the last words.
fn second(session: &Session, known: Option<&Known>, activity: Activity, screen: &Screen) -> Line {
    let tally = &session.tally;
    let mut parts: Vec<(String, Look)> = Vec::new();
    if let Some(asks) = known.and_then(|known| known.asks.as_deref()) {
        parts.push((one_line(asks), Look::Ask));
    } else if activity == Activity::Waiting {
        let name = match session.waiting_for() {
            Some(WaitingFor::Permission) => "waits for your permission",
            Some(WaitingFor::Input) => "waits for your answer",
            Some(WaitingFor::Dialog) => "waits for your choice in a dialog",
            _ => "waits for you",
        };
        let call = tally.call().map(|call| format!(": {call}")).unwrap_or_default();
        parts.push((format!("{name}{call}"), Look::Ask));
    }
    if session.live.as_ref().is_some_and(|live| live.job.is_some()) {
        parts.push(("background".to_owned(), Look::Fact));
    }
    if let Some(known) = known.filter(|known| known.queued > 0) {
        parts.push((format!("{} queued", known.queued), Look::Review));
    }
    let done = tally.tasks.iter().filter(|task| task.status == "completed").count();
    if done < tally.tasks.len() {
        let now = tally.tasks.iter().find(|task| task.status == "in_progress");
        let now = now.map(|task| format!(": {}", task.subject)).unwrap_or_default();
        parts.push((format!("{done}/{}{now}", tally.tasks.len()), Look::Task));
    } else if let Some(plan) = tally.plan.as_deref().filter(|_| tally.tasks.is_empty()) {
        parts.push((format!("plan: {plan}"), Look::Task));
    }
    if let Some(call) = tally.call().filter(|_| activity == Activity::Working) {
        parts.push((call.to_owned(), Look::Plain));
    }
    if !tally.words.is_empty() {
        let words = if tally.by_user { format!("❯ {}", tally.words) } else { tally.words.clone() };
        parts.push((words, if tally.by_user { Look::You } else { Look::Words }));
    }
    let mut line = Line::default();
    line.push(INDENT, Look::Plain);
    let mut left = screen.width.saturating_sub(screen.width_of(INDENT));
    for (at, (text, look)) in parts.iter().enumerate() {
        let between = if at > 0 { " · " } else { "" };
        let room = left.saturating_sub(screen.width_of(between));
        // A few cells tell nothing.
        if at > 0 && room < MIN_TITLE {
            break;
        }
        let shown = screen.fit(text, room);
        line.push(between, Look::Fact);
        line.push(&shown, *look);
        left = room.saturating_sub(screen.width_of(&shown));
    }
    line.text.truncate(line.text.trim_end().len());
    line
}
