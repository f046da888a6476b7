//! The text of sessions: columns that fit the window. On the board state and title come first, so that a narrow window
//! keeps them; a line of a list ends with the longest, title and last prompt, so that a narrow picker cuts only those.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

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
/// The same of a list, where the last prompt stands beside the title if it has so many cells.
const MIN_LIST_TITLE: usize = 20;
const MAX_LIST_TITLE: usize = 50;
const MIN_PROMPT: usize = 24;
const MAX_STATE: usize = 19;
const MAX_BRANCH: usize = 20;
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

    /// A session's cells, after so many blanks. Returns the number of those before what comes next.
    fn cells(&mut self, columns: &[(u8, Column)], at: usize, screen: &Screen, mut blanks: usize) -> usize {
        for (_, column) in columns {
            let Some(cell) = column.cells.get(at) else { continue };
            let room = column.width.saturating_sub(cell_width(cell, screen));
            self.blanks(blanks + if column.right { room } else { 0 });
            cell.iter().for_each(|(text, look)| self.push(text, *look));
            blanks = GAP + if column.right { 0 } else { room };
        }
        blanks
    }
}

impl Screen {
    pub(super) fn width_of(&self, text: &str) -> usize {
        if self.ambiguous_is_wide { text.width_cjk() } else { text.width() }
    }

    /// The beginning of a text that fits into `cells` cells.
    fn fit(&self, text: &str, cells: usize) -> String {
        fit_by(text, cells, |text| self.width_of(text))
    }

    /// The end of a path that fits.
    fn fit_end(&self, path: &str, cells: usize) -> String {
        if self.width_of(path) <= cells {
            return path.to_owned();
        }
        let ends = path.char_indices().rev().filter_map(|(at, _)| path.get(at..));
        let end = ends.take_while(|end| self.width_of(end) + self.width_of("…") <= cells).last();
        format!("…{}", end.unwrap_or_default())
    }
}

/// Pieces of one cell.
type Cell = Vec<(String, Look)>;

/// A column before or after the title.
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

fn branch(session: &Session) -> String {
    session.summary.as_ref().and_then(|summary| summary.branch.clone()).unwrap_or_default()
}

fn printable(path: &OsStr) -> String {
    with_unseen_marked(&one_line(&path.to_string_lossy()))
}

/// The branch, and the worktree's folder if it has another name.
fn place(session: &Session, screen: &Screen) -> String {
    let branch = branch(session);
    let folder = session.worktree.clone().or_else(|| session.cwd());
    let folder = folder.as_deref().and_then(Path::file_name).map(printable);
    match folder {
        Some(folder) if (screen.projects || session.linked) && folder != branch => {
            format!("{folder} {branch}").trim_end().to_owned()
        }
        _ => branch,
    }
}

fn cost(session: &Session, known: Option<&Known>) -> String {
    let dollars = known.and_then(|known| known.cost).or(session.tally.cost);
    dollars.map(|dollars| format!("${dollars:.2}")).unwrap_or_default()
}

/// The folder that it was started in, or the name of its linked worktree.
fn folder(session: &Session, known: Option<&Known>, screen: &Screen) -> String {
    if !screen.projects {
        let name = session.worktree.as_deref().and_then(Path::file_name).filter(|_| session.linked);
        return screen.fit(&name.map(printable).unwrap_or_default(), MAX_BRANCH);
    }
    let started_in = || session.summary.as_ref()?.cwd.clone();
    let given = known.and_then(|known| known.cwd.clone());
    let cwd = given.or_else(started_in).or_else(|| session.cwd()).unwrap_or_default();
    screen.fit_end(&from_home(&cwd), MAX_PLACE)
}

/// A path, with `~` for the home.
fn from_home(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let short = match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => PathBuf::from("~"),
        Some(below) => Path::new("~").join(below),
        None => path.to_owned(),
    };
    printable(short.as_os_str())
}

/// The configuration folder, where the sessions are in several.
fn config_dir(session: &Session, screen: &Screen) -> Cell {
    let dir = session.config_dir().filter(|_| screen.config_dirs);
    one(dir.map(|dir| screen.fit_end(&from_home(dir.path()), MAX_BRANCH)).unwrap_or_default(), Look::Place)
}

/// What it does, in a list.
fn state(session: &Session, known: Option<&Known>) -> String {
    let activity = session.activity(known);
    let name = match (state_name(activity, session.waiting_for()), activity) {
        ("asks", _) => "waiting",
        (reason, Activity::Waiting) => return format!("waiting: {reason}"),
        (_, Activity::Gone) if known.is_some_and(|known| known.remembered) => "ended with Neovim",
        (_, Activity::Gone) => "",
        (name, _) => name,
    };
    name.to_owned()
}

fn review(known: Option<&Known>) -> Cell {
    let files = known.map_or(0, |known| known.review);
    one(if files > 0 { format!("{files} to review") } else { String::new() }, Look::Review)
}

fn context(session: &Session, known: Option<&Known>) -> Cell {
    let told = known.and_then(|known| known.context);
    let percent = told.or_else(|| session.summary.as_ref().and_then(|summary| summary.context_percent));
    one(percent.map(|percent| format!("{percent}%")).unwrap_or_default(), Look::Fact)
}

fn is_away(session: &Session) -> bool {
    session.live.as_ref().is_some_and(|live| live.job.is_some())
}

/// A column's facts of a session.
type Facts = fn(&Session, Option<&Known>, &Screen, Millis) -> Cell;

/// In the order of the line; the number is the rank: columns of a low rank are dropped first.
const COLUMNS: [(u8, bool, Facts); 8] = [
    (4, false, |_, known, _, _| review(known)),
    (5, false, |session, _, _, _| changes(session)),
    (3, false, |session, _, screen, _| one(screen.fit(&place(session, screen), MAX_PLACE), Look::Place)),
    (7, false, |session, _, screen, _| config_dir(session, screen)),
    (2, true, |session, known, _, _| context(session, known)),
    (0, true, |session, _, _, _| {
        let count = session.tally.tokens();
        one(if count > 0 { tokens(count) } else { String::new() }, Look::Fact)
    }),
    (1, true, |session, known, _, _| one(cost(session, known), Look::Fact)),
    (6, true, |session, _, _, now| one(age(now.0.saturating_sub(session.since().0)), Look::Fact)),
];

/// The same of a list. What only a terminal's user wants to know is left out for other sessions.
const LIST: [(u8, bool, Facts); 9] = [
    (9, true, |session, _, _, now| {
        let updated = session.summary.as_ref().map_or(now, |summary| summary.updated);
        one(age(now.0.saturating_sub(updated.0)), Look::Plain)
    }),
    (6, false, |session, known, screen, _| one(screen.fit(&state(session, known), MAX_STATE), Look::Plain)),
    (8, false, |session, _, screen, _| {
        one(session.note.as_deref().map(|note| screen.fit(&one_line(note), MAX_STATE)).unwrap_or_default(), Look::Plain)
    }),
    (5, false, |session, known, _, _| {
        let shown = if known.is_some_and(|known| known.shown) { "on the screen" } else { "" };
        one(if is_away(session) { "background" } else { shown }.to_owned(), Look::Plain)
    }),
    (4, true, |session, known, _, _| known.map(|_| context(session, known)).unwrap_or_default()),
    (3, false, |_, known, _, _| review(known)),
    (7, false, |session, _, screen, _| config_dir(session, screen)),
    (2, false, |session, known, screen, _| one(folder(session, known, screen), Look::Plain)),
    (1, false, |session, _, screen, _| one(screen.fit(&one_line(&branch(session)), MAX_BRANCH), Look::Plain)),
];

/// A session and what the client knows of it.
type Pair<'a> = (&'a Session, Option<&'a Known>);

fn columns(table: &[(u8, bool, Facts)], step: usize, pairs: &[Pair<'_>], screen: &Screen) -> Vec<(u8, Column)> {
    let now = if screen.now.0 == 0 { Millis::now() } else { screen.now };
    let mut dirs = pairs.iter().filter_map(|(session, _)| session.config_dir());
    let config_dirs = dirs.next().is_some_and(|first| dirs.any(|other| other != first));
    let screen = &Screen { config_dirs, ..screen.clone() };
    let column = |(rank, right, facts): (u8, bool, Facts)| {
        let cells: Vec<Cell> = pairs.iter().map(|(session, known)| facts(session, *known, screen, now)).collect();
        let widest = cells.iter().map(|cell| cell_width(cell, screen)).max().unwrap_or_default();
        let width = widest.div_ceil(step) * step;
        (rank, Column { cells, width, right })
    };
    table.iter().copied().map(column).filter(|(_, column)| column.width > 0).collect()
}

fn cell_width(cell: &Cell, screen: &Screen) -> usize {
    cell.iter().map(|(text, _)| screen.width_of(text)).sum()
}

/// Drops columns of a low rank until they fit into so many cells, or only `least` are left. Returns the cells they take.
fn drop_columns(columns: &mut Vec<(u8, Column)>, least: usize, cells: usize) -> usize {
    loop {
        let taken = columns.iter().map(|(_, column)| column.width + GAP).sum();
        let lowest = columns.iter().enumerate().min_by_key(|(_, (rank, _))| *rank).map(|(at, _)| at);
        match lowest {
            Some(at) if taken > cells && columns.len() > least => columns.remove(at),
            _ => return taken,
        };
    }
}

/// A line of a list to choose from.
#[derive(Debug, PartialEq, Serialize)]
pub struct Listed {
    /// The session's title.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// A line of a list for each session.
pub(super) fn list(pairs: &[Pair<'_>], screen: &Screen) -> Vec<Listed> {
    let mut columns = columns(&LIST, 1, pairs, screen);
    let taken = drop_columns(&mut columns, 1, screen.width.saturating_sub(MIN_LIST_TITLE));
    let space = screen.width.saturating_sub(taken).max(1);
    let ending = |(session, known): &Pair<'_>| {
        let prompt = session.summary.as_ref().and_then(|summary| summary.last_prompt.as_deref()).unwrap_or_default();
        let prompt = one_line(prompt);
        // The title may say the same.
        let is_said = prompt.starts_with(&session.name(*known));
        (session.title(*known), if is_said { String::new() } else { prompt })
    };
    let endings: Vec<(String, String)> = pairs.iter().map(ending).collect();
    let widest = endings.iter().map(|(title, _)| screen.width_of(title)).max().unwrap_or_default();
    let wanted = widest.min(MAX_LIST_TITLE) + GAP;
    let room = space.saturating_sub(wanted);
    let line = |(at, (title, prompt)): (usize, (String, String))| {
        let mut line = Line::default();
        let blanks = line.cells(&columns, at, screen, 0);
        line.blanks(blanks);
        // A title without a prompt gets the whole space.
        if prompt.is_empty() || room < MIN_PROMPT {
            line.push(&screen.fit(&title, space), Look::Plain);
        } else {
            let shown = screen.fit(&title, MAX_LIST_TITLE);
            line.push(&shown, Look::Plain);
            line.blanks(wanted.saturating_sub(screen.width_of(&shown)));
            line.push(&screen.fit(&prompt, room), Look::Plain);
        }
        Listed { title, text: line.text }
    };
    endings.into_iter().enumerate().map(line).collect()
}

/// The lines of each session on the board.
pub(super) fn lines(sessions: &[Session], options: &Options) -> Vec<Vec<Line>> {
    let screen = &options.screen;
    let pairs: Vec<Pair<'_>> = sessions.iter().map(|session| (session, options.known(session))).collect();
    let mut columns = columns(&COLUMNS, STEP, &pairs, screen);
    let mark = screen.width_of("●") + 1;
    let mut state = STATE + GAP;
    let titles: Vec<String> = pairs.iter().map(|(session, known)| session.title(*known)).collect();
    let widest = titles.iter().map(|title| screen.width_of(title)).max().unwrap_or_default();
    let wanted = widest.clamp(MIN_TITLE, MAX_TITLE);
    // Facts go before a title is cut to less than a half of what it needs.
    let least = MIN_TITLE.max(wanted / 2);
    let taken = drop_columns(&mut columns, 0, screen.width.saturating_sub(mark + state + least));
    if columns.is_empty() && mark + state + MIN_TITLE > screen.width {
        state = 0; // the mark and its colour tell the state, too
    }
    let title = screen.width.saturating_sub(mark + state + taken).max(1).min(wanted);
    let line = |(at, ((session, known), name)): (usize, (Pair<'_>, String))| {
        let activity = session.activity(known);
        let (sign, look) = state_look(activity);
        let mut line = Line::default();
        line.push(sign, look);
        line.blanks(1);
        if state > 0 {
            let does = state_name(activity, session.waiting_for());
            line.push(does, look);
            line.blanks(state.saturating_sub(does.len()));
        }
        let shown = screen.fit(&name, title);
        let missing = title.saturating_sub(screen.width_of(&shown));
        line.push(&shown, if activity == Activity::Gone { Look::Ended } else { Look::Plain });
        line.cells(&columns, at, screen, missing + GAP);
        line.text.truncate(line.text.trim_end().len());
        let mut lines = vec![line];
        lines.extend((activity != Activity::Gone).then(|| second(session, known, activity, screen)));
        lines
    };
    pairs.into_iter().zip(titles).enumerate().map(line).collect()
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
    if is_away(session) {
        parts.push(("background".to_owned(), Look::Fact));
    }
    if let Some(known) = known {
        let counted = |count, word| format!("{count} {}{word}", if count == 1 { "comment " } else { "comments " });
        for (count, said) in [
            (known.queued, format!("{} queued", known.queued)),
            (known.to_send, counted(known.to_send, "to send")),
            (known.answered, counted(known.answered, "answered")),
        ] {
            parts.extend((count > 0).then_some((said, Look::Review)));
        }
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
