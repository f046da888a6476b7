//! The title, argument and status of a tool call: the one table for transcript and export. The page has the
//! same in `web/calls.js`; `titles.json` tests both.

use serde_json::Value as Json;

use super::item::Look;
use super::question;
use super::text::{fit, size, summary};
use super::tool_use::Call;
use crate::model::ToolStatus;
use crate::time::Millis;
use crate::tool_result::FileChange;

/// Width limit of an argument, in cells.
pub(super) const MOST_CELLS: usize = 160;
/// Shorter waits are not shown.
const LEAST_WAIT_MS: i64 = 100;
/// Bytes of a new file in which lines are counted.
const MOST_COUNTED: usize = 512 * 1024;

/// Arguments that show what a call is about, most telling first. For tools without an entry in [`argument_of`].
const TELLING: [&str; 11] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "description",
    "skill",
    "name",
    "prompt",
];

/// The status of a call, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) words: &'static str,
    pub(super) look: Look,
}

fn standing(status: ToolStatus, is_ended: bool) -> Standing {
    let (words, look) = match status {
        ToolStatus::Running if is_ended => ("no result", Look::Dim),
        ToolStatus::Running => ("running", Look::Running),
        ToolStatus::Done => ("ok", Look::Ok),
        ToolStatus::Failed => ("failed", Look::Failed),
        ToolStatus::Rejected => ("rejected", Look::Rejected),
        ToolStatus::Changed => ("changed by you", Look::Ok),
        ToolStatus::Void => ("no result", Look::Dim),
    };
    Standing { words, look }
}

/// A call in one line.
#[derive(Debug)]
pub(super) struct ToolLine {
    pub(super) name: String,
    /// Whether a script made it, below whose call it stands.
    pub(super) inner: bool,
    pub(super) argument: String,
    /// "+3 −1", "lines 10-40"; may be empty.
    pub(super) detail: String,
    pub(super) standing: Standing,
    /// May be empty.
    pub(super) duration: String,
    /// How long it also waited for the user, "+14 s asked"; may be empty.
    pub(super) asked: String,
    /// The file that it concerns.
    pub(super) path: Option<String>,
    pub(super) lnum: Option<u64>,
}

/// The state that a call's line depends on.
#[derive(Clone, Copy, Default)]
pub(super) struct Around<'a> {
    /// The session's folder; paths below it are shown relative.
    pub(super) cwd: Option<&'a str>,
    pub(super) home: Option<&'a str>,
    /// The session runs no more.
    pub(super) is_ended: bool,
    /// When the session waited for the user: start and end of each wait.
    pub(super) waits: &'a [(i64, i64)],
}

impl ToolLine {
    pub(super) fn of(call: &Call<'_>, around: &Around<'_>) -> Self {
        let path = call
            .change()
            .map(|change| change.path.clone())
            .or_else(|| text_of(call.input, "file_path"))
            .or_else(|| text_of(call.input, "notebook_path"));
        let (mut detail, mut lnum) = change_detail(call);
        if detail.is_empty() && path.is_some() {
            (detail, lnum) = read_detail(call.input);
        }
        let argument = match &path {
            Some(path) => shown_path(path, around),
            None => {
                let argument = argument_of(call).unwrap_or_else(|| any_argument(call));
                without_name(argument, call)
            }
        };
        let (duration, asked) = times(call, around);
        Self {
            name: shown_name(call.name),
            inner: call.inner,
            argument,
            detail,
            standing: standing(call.status, around.is_ended),
            duration,
            asked,
            path,
            lnum,
        }
    }

    /// The argument, cut to the width limit.
    pub(super) fn fitted(&self) -> String {
        fit(&self.argument, MOST_CELLS)
    }
}

/// A non-empty text argument, on one line.
fn text_of(input: &Json, name: &str) -> Option<String> {
    summed_up(input.get(name))
}

fn summed_up(value: Option<&Json>) -> Option<String> {
    Some(summary(value?.as_str()?)).filter(|text| !text.is_empty())
}

/// Which argument of which tool shows what a call is about.
fn argument_of(call: &Call<'_>) -> Option<String> {
    let input = call.input;
    match call.name {
        "Agent" | "Task" => text_of(input, "description").or_else(|| text_of(input, "prompt")),
        "AskUserQuestion" => Some(summary(&question::line_of(call)?)).filter(|text| !text.is_empty()),
        "ExitPlanMode" => Some("the plan".to_owned()),
        "Grep" => {
            let pattern = text_of(input, "pattern")?;
            let place = summed_up(input.get("path").filter(|path| !path.is_null()).or_else(|| input.get("glob")));
            Some(place.map_or_else(|| pattern.clone(), |place| format!("{pattern} in {place}")))
        }
        "Skill" => text_of(input, "skill").or_else(|| text_of(input, "command")),
        // Other agents call theirs "Plan".
        "TodoWrite" | "Plan" => todo_summary(input.get("todos")?),
        _ => None,
    }
}

fn any_argument(call: &Call<'_>) -> String {
    let telling = TELLING.iter().find_map(|name| text_of(call.input, name));
    let any = || call.arguments().into_iter().find_map(|(_, value)| summed_up(Some(value)));
    telling.or_else(any).unwrap_or_default()
}

fn todo_summary(todos: &Json) -> Option<String> {
    if !todos.is_array() && !todos.is_object() {
        return None;
    }
    let todos = todos.as_array().map_or(&[][..], Vec::as_slice);
    let status = |todo: &Json| todo.get("status").and_then(Json::as_str).map(str::to_owned);
    let done = todos.iter().filter(|todo| status(todo).as_deref() == Some("completed")).count();
    let now = todos.iter().filter(|todo| status(todo).as_deref() == Some("in_progress")).find_map(|todo| {
        summed_up(todo.get("activeForm").filter(|form| !form.is_null()).or_else(|| todo.get("content")))
    });
    let counted = format!("{done} of {} done", todos.len());
    Some(now.map_or_else(|| counted.clone(), |now| format!("{counted}, now: {now}")))
}

/// Drops the tool's name from the start of an agent's description: "Search for callers".
fn without_name(argument: String, call: &Call<'_>) -> String {
    let rest = argument.split_once(' ').filter(|(first, rest)| {
        !rest.is_empty()
            && first.bytes().all(|byte| byte.is_ascii_alphabetic())
            && first.eq_ignore_ascii_case(call.name)
    });
    match rest {
        Some((_, rest)) if text_of(call.input, "description").as_deref() == Some(&argument) => rest.to_owned(),
        _ => argument,
    }
}

/// The displayed name: "mcp__ide__getDiagnostics" is "ide: getDiagnostics".
fn shown_name(name: &str) -> String {
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).filter(|(_, tool)| !tool.is_empty());
    let shown = parts.map_or_else(|| summary(name), |(server, tool)| summary(&format!("{server}: {tool}")));
    if shown.is_empty() { "?".to_owned() } else { shown }
}

/// A path relative to the session's folder or the home folder.
pub(super) fn shown_path(path: &str, around: &Around<'_>) -> String {
    let below = |folder: &str| path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned);
    let cwd = around.cwd.map(|cwd| cwd.strip_suffix('/').unwrap_or(cwd));
    let home = around.home.filter(|home| !home.is_empty());
    cwd.and_then(below)
        .or_else(|| home.and_then(below).map(|rest| format!("~/{rest}")))
        .unwrap_or_else(|| path.to_owned())
}

fn new_detail(content: Option<&str>) -> String {
    match content {
        None => "new".to_owned(),
        Some(content) if content.len() > MOST_COUNTED => format!("new, {}", size(content.len())),
        Some(content) => {
            let breaks = memchr::memchr_iter(b'\n', content.as_bytes()).count();
            format!("new, +{}", breaks + usize::from(!content.ends_with('\n')))
        }
    }
}

/// A summary of a file change, and its first line.
fn change_detail(call: &Call<'_>) -> (String, Option<u64>) {
    let Some(change) = call.change() else { return (String::new(), None) };
    if change.created && change.others.is_empty() {
        return (new_detail(call.text("content")), None);
    }
    let mut detail = format!("+{} −{}", change.added, change.removed);
    match change.others.len() {
        0 => {}
        1 => detail.push_str(", and 1 more file"),
        others => detail.push_str(&format!(", and {others} more files")),
    }
    if change.user_modified {
        detail.push_str(", changed by you");
    }
    (detail, first_line(change))
}

pub(super) fn first_line(change: &FileChange) -> Option<u64> {
    change.hunks.first().map(|hunk| u64::from(hunk.new_start))
}

/// The lines of a file that a call reads, and the first of them.
fn read_detail(input: &Json) -> (String, Option<u64>) {
    let number = |name: &str| {
        let value = input.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
    };
    match (number("offset"), number("limit")) {
        (Some(first), Some(count)) => {
            (format!("lines {first}-{}", first.saturating_add(count).saturating_sub(1)), Some(first))
        }
        (Some(first), None) => (format!("from line {first}"), Some(first)),
        (None, Some(count)) => (format!("{count} lines"), None),
        (None, None) => (String::new(), None),
    }
}

/// Formats a duration, more coarsely the longer it is.
fn duration(milliseconds: i64) -> String {
    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a number of three digits is shown")]
    let seconds = milliseconds as f64 / 1000.0;
    match milliseconds {
        ..0 => String::new(),
        0..9950 => format!("{seconds:.1} s"),
        9950..119_500 => format!("{seconds:.0} s"),
        _ => {
            let minutes = (milliseconds + 30_000) / 60_000;
            if minutes < 120 { format!("{minutes} min") } else { format!("{} h {} min", minutes / 60, minutes % 60) }
        }
    }
}

/// How long a call took without the wait for the user, and that wait.
fn times(call: &Call<'_>, around: &Around<'_>) -> (String, String) {
    let (Some(Millis(start)), Some(Millis(end))) = (call.start, call.end) else { return Default::default() };
    if call.status == ToolStatus::Running {
        return Default::default();
    }
    // A background call continues while the user is asked.
    let wait = if call.background { 0 } else { waited(around.waits, start, end) };
    if wait < LEAST_WAIT_MS {
        return (duration(end - start), String::new());
    }
    (duration(end - start - wait), format!("+{} asked", duration(wait)))
}

/// A call and the end of its wait are recorded in either order, at most this far apart.
const LAG_MS: i64 = 1000;

/// How long the session waited during a call. A wait that outlasts the call by more than [`LAG_MS`] was for another.
fn waited(waits: &[(i64, i64)], start: i64, end: i64) -> i64 {
    let its = waits.iter().filter(|(_, to)| to - end <= LAG_MS);
    its.map(|(from, to)| (*to.min(&end) - *from.max(&start)).max(0)).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(name: &str, input: Json, status: ToolStatus, took: Option<i64>) -> ToolLine {
        let call = Call {
            id: "t",
            name,
            input: &input,
            status,
            start: took.map(|_| Millis(0)),
            end: took.map(Millis),
            background: false,
            inner: false,
            result: None,
        };
        ToolLine::of(&call, &Around { cwd: Some("/p"), home: Some("/home/me"), ..Around::default() })
    }

    #[test]
    fn a_call_of_any_tool_has_a_line() {
        use ToolStatus::{Done, Failed, Running};
        let todos = json!({"todos": [{"status": "completed", "content": "a"}, {"status": "in_progress", "activeForm": "Doing b"}]});
        for (name, input, status, took, expected) in [
            ("Bash", json!({"command": "make  it\nnow"}), Running, None, "Bash|make it now|running|"),
            ("TodoWrite", todos, Done, None, "TodoWrite|1 of 2 done, now: Doing b|ok|"),
            ("mcp__db__query", json!({"sql": "select 1"}), Failed, Some(61_000), "db: query|select 1|failed|61 s"),
            ("Odd", json!([1, 2]), Done, Some(7_300_000), "Odd||ok|2 h 2 min"),
            ("Odder", Json::Null, Done, None, "Odder||ok|"),
            ("Of two\nlines\u{1b}[1m", Json::Null, Done, None, "Of two lines||ok|"),
            ("\n", Json::Null, Done, None, "?||ok|"),
            ("New", json!(["odd"]), Done, None, "New|odd|ok|"),
            ("Read", json!({"file_path": "/p/a/b.lua", "offset": 3}), Done, None, "Read|a/b.lua|ok|"),
            ("Read", json!({"file_path": "/home/me/b.lua"}), Done, None, "Read|~/b.lua|ok|"),
            ("Grep", json!({"pattern": "x+", "glob": "*.rs"}), Done, None, "Grep|x+ in *.rs|ok|"),
            ("search", json!({"description": "Search for callers"}), Done, None, "search|for callers|ok|"),
            ("ExitPlanMode", json!({"plan": "# It"}), Done, None, "ExitPlanMode|the plan|ok|"),
        ] {
            let line = line(name, input, status, took);
            assert_eq!([&line.name, &line.argument, line.standing.words, &line.duration].join("|"), expected);
        }
    }

    /// The page draws streamed lines from a table of its own; a test of the page reads the same cases.
    #[test]
    fn a_call_has_the_same_title_here_and_on_the_page() {
        let cases: Vec<Json> = serde_json::from_str(include_str!("titles.json")).unwrap();
        for case in cases {
            let line =
                line(case["tool"]["name"].as_str().unwrap(), case["tool"]["input"].clone(), ToolStatus::Done, None);
            assert_eq!(json!([line.name, line.argument]), json!([case["name"], case["about"]]), "{case}");
        }
    }

    #[test]
    fn a_call_does_not_take_as_long_as_the_user_was_asked() {
        let waits = [(1_000, 10_000), (50_000, 60_000)];
        assert_eq!(waited(&waits, 0, 10_500), 9_000);
        assert_eq!(waited(&waits, 0, 55_000), 9_000, "it went on after the call ended");
    }

    #[test]
    fn a_read_is_named_by_its_lines() {
        assert_eq!(read_detail(&json!({"offset": 10, "limit": "5"})), ("lines 10-14".to_owned(), Some(10)));
        assert_eq!(read_detail(&json!({"limit": 5})), ("5 lines".to_owned(), None));
    }

    #[test]
    fn a_duration_is_as_precise_as_it_matters() {
        assert_eq!(
            [-1, 40, 9_949, 9_950, 119_499, 119_500, 7_200_000].map(duration),
            ["", "0.0 s", "9.9 s", "10 s", "119 s", "2 min", "2 h 0 min"]
        );
    }
}
