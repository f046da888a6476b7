//! What Claude reads: the message of a round, and the list of threads.

use std::fmt::Write as _;

use crate::thread::{Author, Now, Side, State, Thread};

/// Quoted of a comment, so that forty fit into one message.
const MOST_LINES: usize = 12;
const MOST_LINE: usize = 160;

/// The threads' places and words, each under the number by which Claude answers.
pub(crate) fn message(threads: &[&Thread], withheld: &[String]) -> String {
    let count = if threads.len() == 1 { "A comment".to_owned() } else { format!("{} comments", threads.len()) };
    let of_plans = threads.iter().filter(|thread| thread.plan.is_some()).count();
    let what = match of_plans {
        0 => "the code",
        _ if of_plans == threads.len() => "the plan",
        _ => "the code and the plan",
    };
    let mut text = format!(
        "{count} on {what}. Answer each with the tool comment_reply and its number, and say there whether it is done."
    );
    if threads.iter().any(|thread| is_question(thread)) {
        text.push_str(" Answer a question; do not edit because of it.");
    }
    for thread in threads {
        let words = without_numbers(thread.draft().map_or("", |entry| entry.words.trim()));
        let mark = if is_question(thread) { " (question)" } else { "" };
        let _ = write!(text, "\n\n[{}]{mark} {}", thread.id, place(thread));
        text.push_str(&quote(thread, withheld));
        let _ = write!(text, "\n{words}");
    }
    text
}

/// Words of the user in which no line looks like the first line of a comment: such a line gets a blank before it.
fn without_numbers(words: &str) -> String {
    let is_number = |line: &str| {
        let number = line.strip_prefix('[').and_then(|line| line.split_once(']')).map(|(number, _)| number);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let line = |line: &str| if is_number(line) { format!(" {line}") } else { line.to_owned() };
    words.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The threads for a model that asks for them.
pub(crate) fn list(threads: &[&Thread], withheld: &[String]) -> String {
    if threads.is_empty() {
        return "There are no comments.".to_owned();
    }
    let mut text = String::new();
    for thread in threads {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let _ = write!(text, "[{}] {} · {}", thread.id, name(thread.state()), place(thread));
        text.push_str(&quote(thread, withheld));
        for entry in thread.entries.iter().filter(|entry| entry.by == Author::Claude || entry.sent) {
            let who = if entry.by == Author::User { "user" } else { "you" };
            let _ = write!(text, "\n{who}: {}", entry.words.trim());
        }
    }
    text
}

const fn name(state: State) -> &'static str {
    match state {
        State::Draft | State::Sent => "open",
        State::Answered => "answered",
        State::Done => "done",
        State::Resolved => "resolved",
    }
}

fn is_question(thread: &Thread) -> bool {
    thread.draft().is_some_and(|entry| entry.words.trim_end().ends_with('?'))
}

/// `src/a.rs:3-5`, and what is special about it.
pub(crate) fn place(thread: &Thread) -> String {
    let path = match (&thread.path, &thread.plan) {
        (Some(path), _) => path,
        (None, Some(_)) => "the plan",
        (None, None) => "everything",
    };
    let Some(anchor) = &thread.anchor else { return path.to_owned() };
    let lines = match (anchor.now, thread.side) {
        (Now::Same | Now::Changed { .. }, Side::New) if !thread.proposed => anchor.shown(),
        _ => anchor.lines(),
    };
    let (first, last) = (lines.first + 1, lines.first + lines.count.max(1));
    let numbers = if first == last { first.to_string() } else { format!("{first}-{last}") };
    let about = match (anchor.now, thread.side) {
        _ if thread.proposed => " (in the proposal)",
        (_, Side::Old) => " (the text before the change)",
        (Now::Changed { .. }, Side::New) => " (changed since)",
        (Now::Outdated { .. }, Side::New) => " (no longer there)",
        (Now::Same, Side::New) => "",
    };
    format!("{path}:{numbers}{about}")
}

fn quote(thread: &Thread, withheld: &[String]) -> String {
    lines(thread, withheld).iter().map(|line| format!("\n> {line}")).collect()
}

/// The lines commented on: the first ones.
pub(crate) fn lines(thread: &Thread, withheld: &[String]) -> Vec<String> {
    let is_withheld = thread.path.as_ref().is_some_and(|path| withheld.contains(path));
    let Some(anchor) = thread.anchor.as_ref().filter(|_| !is_withheld) else { return Vec::new() };
    let mut lines: Vec<_> = anchor.lines.iter().take(MOST_LINES).map(|line| cut(line, MOST_LINE)).collect();
    if anchor.lines.len() > MOST_LINES {
        lines.push(format!("… {} more lines", anchor.lines.len() - MOST_LINES));
    }
    lines
}

/// The beginning of a text, with a sign that there is more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most).map(|(end, _)| end);
    end.map_or_else(|| text.to_owned(), |end| format!("{} …", text.split_at(end).0))
}
