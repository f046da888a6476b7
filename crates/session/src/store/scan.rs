//! Reads a summary from a transcript's beginning and end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use claude_ide_system::file::open_regular;
use serde::Deserialize;

use super::Summary;
use super::cache::Stamp;
use super::prompt::{MAX_PROMPT, command, is_prompt, prompt};
use super::tally::MessageCount;
use crate::id::SessionId;
use crate::json::{mend, without_debris};
use crate::lenient::{Object, Scalar, Tokens};
use crate::line_buffer::{MAX_LINE, read_piece, to_u64, whole_lines};
use crate::line_head::{Head, LineKind, is_api_request};
use crate::model::Usage;
use crate::render::{one_line, with_unseen_marked};
use crate::text::Text;
use crate::time::Millis;
use crate::title;
use crate::user_words;

/// Bytes read of each end: at first, and at most. The CLI's own list reads 64 KiB of each.
const FIRST_READ: u64 = 64 * 1024;
const MAX_READ: u64 = 1024 * 1024;

/// Fields of a line that only a summary needs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Extra<'a> {
    #[serde(borrow)]
    cwd: Scalar<'a>,
    #[serde(borrow, rename = "gitBranch")]
    branch: Scalar<'a>,
    #[serde(borrow, rename = "sessionId")]
    session: Scalar<'a>,
    /// In a fork's copied lines: the session that they come from (measured).
    #[serde(borrow)]
    session_id: Scalar<'a>,
    #[serde(borrow, rename = "customTitle")]
    custom_title: Scalar<'a>,
    #[serde(borrow, rename = "aiTitle")]
    ai_title: Scalar<'a>,
    /// The CLI's own record of the last prompt.
    #[serde(borrow, rename = "lastPrompt")]
    last_prompt: Scalar<'a>,
    /// The folder that `/cd` moved the session to, with its file (2.1.329).
    #[serde(borrow, rename = "relocatedCwd")]
    moved_to: Scalar<'a>,
    /// Titles of older CLIs.
    #[serde(borrow)]
    summary: Scalar<'a>,
    #[serde(rename = "turnPosition")]
    turn: Object<Turn>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Turn {
    #[serde(rename = "turnIndex")]
    index: Tokens,
}

/// The last reply.
struct Reply {
    model: String,
    usage: Option<Usage>,
}

#[derive(Default)]
struct Found {
    cwd: Option<PathBuf>,
    moved_to: Option<PathBuf>,
    started: Option<Millis>,
    first_prompt: Option<String>,
    last_prompt: Option<String>,
    /// A slash command, used if there is no prompt.
    command: Option<String>,
    branch: Option<String>,
    reply: Option<Reply>,
    custom_title: Option<String>,
    made_up_title: Option<String>,
    turns: Option<u32>,
    forked_from: Option<SessionId>,
    messages: MessageCount,
}

pub(super) fn scan(file: &Path, stamp: Stamp) -> io::Result<Summary> {
    let mut reader = open_regular(file)?;
    let mut found = Found::default();
    let head_bytes = scan_beginning(&mut reader, stamp.bytes, &mut found)?;
    let is_whole = head_bytes >= stamp.bytes;
    if !is_whole {
        scan_end(&mut reader, head_bytes, stamp.bytes, &mut found)?;
    }
    let custom = title::beside_of(file).or(found.custom_title);
    let modified = i64::try_from(stamp.modified_ns / 1_000_000).unwrap_or(i64::MAX);
    Ok(Summary {
        id: SessionId::new(&file.file_stem().unwrap_or_default().to_string_lossy()),
        file: file.to_owned(),
        cwd: found.moved_to.or(found.cwd),
        named: custom.is_some(),
        title: custom
            .or(found.made_up_title)
            .and_then(|title| user_words::of_title(&title))
            .or_else(|| found.first_prompt.as_deref().or(found.command.as_deref()).map(first_line)),
        last_prompt: found.last_prompt.or_else(|| found.first_prompt.clone()),
        first_prompt: found.first_prompt,
        branch: found.branch.map(|branch| with_unseen_marked(&one_line(&branch))),
        context_percent: found.reply.as_ref().and_then(|reply| reply.usage?.context_percent(&reply.model)),
        model: found.reply.map(|reply| reply.model),
        started: found.started,
        updated: Millis(modified),
        bytes: stamp.bytes,
        messages: is_whole.then_some(found.messages.messages),
        turns: found.turns,
        forked_from: found.forked_from,
        kept: None,
    })
}

/// Reads forward to the first prompt or the limit; returns the end of what was read.
fn scan_beginning(reader: &mut File, size: u64, found: &mut Found) -> io::Result<u64> {
    let mut want = FIRST_READ;
    loop {
        let piece = read_piece(reader, 0, want.min(size))?;
        *found = Found::default();
        for line in whole_lines(&piece, true) {
            // In a longer file, everything but the name and the folder is read again at the end.
            if size <= want || !found.has_begun() || found.reply.is_none() || is_title(line) || is_move(line) {
                found.take_forward(line);
            }
        }
        let read = to_u64(piece.len());
        if read >= size || found.has_begun() {
            return Ok(read);
        }
        if want >= MAX_READ {
            return scan_long_line(reader, &piece, size, found);
        }
        want *= 4;
    }
}

/// Reads to the end of the line that `piece` ends in: a prompt with images can be far longer than the limit.
fn scan_long_line(reader: &mut File, piece: &[u8], size: u64, found: &mut Found) -> io::Result<u64> {
    let start = memchr::memrchr(b'\n', piece).map_or(0, |newline| newline + 1);
    reader.seek(SeekFrom::Start(to_u64(start)))?;
    let mut line = Vec::new();
    BufReader::new(reader).take(to_u64(MAX_LINE)).read_until(b'\n', &mut line)?;
    let end = to_u64(start + line.len());
    if line.ends_with(b"\n") {
        mend(&mut line);
        found.take_forward(&line);
    }
    // The scan from the end starts after a newline: this one, if more lines follow.
    Ok(if end < size { end.saturating_sub(1) } else { end })
}

/// Reads backward to the last reply or the limit, but not into what was read from the beginning.
fn scan_end(reader: &mut File, from: u64, size: u64, found: &mut Found) -> io::Result<()> {
    let mut want = FIRST_READ;
    loop {
        let start = size.saturating_sub(want).max(from);
        let piece = read_piece(reader, start, size - start)?;
        let mut end = Found::default();
        for line in whole_lines(&piece, false).rev() {
            // Once everything else is known, only a name and a folder matter: they are written again now and then.
            let known = end.reply.is_some() && end.branch.is_some() && end.last_prompt.is_some();
            let is_news = (end.custom_title.is_none() && is_title(line)) || (end.moved_to.is_none() && is_move(line));
            if !known || is_news {
                end.take_backward(line);
            }
        }
        let enough = end.reply.is_some() && end.branch.is_some();
        if enough || start <= from || want >= MAX_READ {
            found.reply = end.reply.or(found.reply.take());
            found.branch = end.branch.or(found.branch.take());
            found.last_prompt = end.last_prompt;
            found.custom_title = end.custom_title.or(found.custom_title.take());
            found.made_up_title = end.made_up_title.or(found.made_up_title.take());
            found.turns = end.turns.or(found.turns);
            found.moved_to = end.moved_to.or(found.moved_to.take());
            return Ok(());
        }
        want *= 4;
    }
}

impl Found {
    /// Whether everything that only the beginning can provide is known.
    fn has_begun(&self) -> bool {
        self.first_prompt.is_some() && self.cwd.is_some() && self.started.is_some()
    }

    /// Takes a line in file order: first facts stay, last facts are overwritten.
    fn take_forward(&mut self, line: &[u8]) {
        let Some((head, extra)) = parse(line) else { return };
        self.messages.add(&head);
        self.started = self.started.or(head.time());
        self.cwd = self.cwd.take().or_else(|| text(&extra.cwd).map(PathBuf::from));
        self.moved_to = text(&extra.moved_to).map(PathBuf::from).or(self.moved_to.take());
        let (session, written_in) = (extra.session.text(), extra.session_id.text());
        if self.forked_from.is_none() && !written_in.is_empty() && !session.is_empty() && session != written_in {
            self.forked_from = Some(SessionId::new(written_in));
        }
        self.branch = text(&extra.branch).or(self.branch.take());
        self.reply = reply(&head).or(self.reply.take());
        self.custom_title = text(&extra.custom_title).or(self.custom_title.take());
        self.made_up_title =
            text(&extra.ai_title).or_else(|| summary_title(&head, &extra)).or(self.made_up_title.take());
        self.turns = turns(&extra).or(self.turns);
        if let Some(noted) = noted_prompt(&head, &extra) {
            self.last_prompt = Some(noted);
        } else if is_prompt(&head) && !head.sidechain.is_true() {
            let prompt = prompt(line);
            self.first_prompt = self.first_prompt.take().or_else(|| prompt.clone());
            self.last_prompt = prompt.or(self.last_prompt.take());
        } else if self.command.is_none() && head.line_kind() == LineKind::User && !head.meta.is_true() {
            self.command = command(line);
        }
    }

    /// Takes a line in reverse order: what was found first stays.
    fn take_backward(&mut self, line: &[u8]) {
        let Some((head, extra)) = parse(line) else { return };
        self.branch = self.branch.take().or_else(|| text(&extra.branch));
        self.reply = self.reply.take().or_else(|| reply(&head));
        self.custom_title = self.custom_title.take().or_else(|| text(&extra.custom_title));
        self.made_up_title =
            self.made_up_title.take().or_else(|| text(&extra.ai_title)).or_else(|| summary_title(&head, &extra));
        self.turns = self.turns.or_else(|| turns(&extra));
        self.moved_to = self.moved_to.take().or_else(|| text(&extra.moved_to).map(PathBuf::from));
        if self.last_prompt.is_none() {
            self.last_prompt = noted_prompt(&head, &extra);
        }
        if self.last_prompt.is_none() && is_prompt(&head) && !head.sidechain.is_true() {
            self.last_prompt = prompt(line);
        }
    }
}

/// Parses a relevant line; `None` for requests to the model, most attachments, and broken lines.
fn parse(line: &[u8]) -> Option<(Head<'_>, Extra<'_>)> {
    if is_api_request(line) || is_dull_attachment(line) {
        return None;
    }
    Some((Head::parse(line)?, serde_json::from_slice(without_debris(line)).ok()?))
}

/// Whether this is an attachment without a queued prompt. Attachments are large and many, so only the first bytes are
/// checked, in the CLI's spelling; any other spelling only costs time.
fn is_dull_attachment(line: &[u8]) -> bool {
    let beginning = line.get(..200).unwrap_or(line);
    memchr::memmem::find(beginning, br#""attachment":{"type":""#).is_some()
        && memchr::memmem::find(beginning, br#""queued_command""#).is_none()
}

fn is_title(line: &[u8]) -> bool {
    line.starts_with(br#"{"type":"custom-title""#) || line.starts_with(br#"{"type":"ai-title""#)
}

fn is_move(line: &[u8]) -> bool {
    line.starts_with(br#"{"type":"relocated""#)
}

fn reply(head: &Head<'_>) -> Option<Reply> {
    let message = head.message.0.as_ref()?;
    let model = message.model.text();
    // "<synthetic>" marks a reply without a model.
    let answers = head.line_kind() == LineKind::Assistant && !head.sidechain.is_true() && !head.inner.is_true();
    let is_one = answers && !model.is_empty() && !model.starts_with('<');
    is_one.then(|| Reply { model: model.to_owned(), usage: message.usage.0.map(Usage::from) })
}

fn text(scalar: &Scalar<'_>) -> Option<String> {
    let text = scalar.text();
    (!text.is_empty()).then(|| text.to_owned())
}

fn summary_title(head: &Head<'_>, extra: &Extra<'_>) -> Option<String> {
    (head.kind.text() == "summary").then(|| text(&extra.summary)).flatten()
}

fn turns(extra: &Extra<'_>) -> Option<u32> {
    extra.turn.0.and_then(|turn| u32::try_from(turn.index.0).ok()).filter(|turns| *turns > 0)
}

fn noted_prompt(head: &Head<'_>, extra: &Extra<'_>) -> Option<String> {
    let noted = (head.kind.text() == "last-prompt").then(|| text(&extra.last_prompt)).flatten()?;
    user_words::of_prompt(&Text::cut(noted, MAX_PROMPT).text)
}

fn first_line(prompt: &str) -> String {
    prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(lines: &[String]) -> Summary {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        let bytes = file.metadata().unwrap().len();
        scan(&file, Stamp { modified_ns: 0, bytes }).unwrap()
    }

    fn said(content: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"u","cwd":"/p","timestamp":"2026-01-19T04:45:15.012Z","message":{{"content":{content}}}}}"#
        )
    }

    fn replied(more: &str) -> String {
        format!(
            r#"{{"type":"assistant","gitBranch":"main","message":{{"model":"claude-x","content":[{{"type":"text","text":"ok"}}]}}{more}}}"#
        )
    }

    fn filler(kilobytes: usize) -> Vec<String> {
        (0..kilobytes).map(|_| format!(r#"{{"type":"progress","data":"{}"}}"#, "x".repeat(990))).collect()
    }

    #[test]
    fn a_name_is_found_as_far_from_the_ends_as_the_cli_looks() {
        let title = r#"{"type":"custom-title","customTitle":"The parser"}"#.to_owned();
        let (begin, end) = ([said(r#""hello""#), replied("")], [said(r#""bye""#), replied("")]);
        let near_end = [&begin, filler(300).as_slice(), std::slice::from_ref(&title), &filler(50), &end].concat();
        assert_eq!(scanned(&near_end).title.as_deref(), Some("The parser"));
        let near_start = [&begin, filler(50).as_slice(), &[title], &filler(300), &end].concat();
        assert_eq!(scanned(&near_start).title.as_deref(), Some("The parser"));
    }

    #[test]
    fn a_session_that_was_moved_belongs_to_its_last_folder() {
        let moved = |folder: &str| format!(r#"{{"type":"relocated","sessionId":"s","relocatedCwd":"{folder}"}}"#);
        let (begin, end) = ([said(r#""hello""#), replied("")], [said(r#""bye""#), replied("")]);
        let short = [&begin, [moved("/q"), moved("/r")].as_slice(), &end].concat();
        let near_end = [&begin, filler(300).as_slice(), &[moved("/q"), moved("/r")], &filler(20), &end].concat();
        let near_start = [&begin, [moved("/q"), moved("/r")].as_slice(), &filler(300), &end].concat();
        for lines in [short, near_end, near_start] {
            assert_eq!(scanned(&lines).cwd.as_deref(), Some(Path::new("/r")));
        }
    }

    #[test]
    fn a_branch_shows_what_would_change_the_direction_of_a_line() {
        let reply = replied("").replace("\"main\"", "\"a\u{202e}\\u001b[31mb\"");
        assert_eq!(scanned(&[said(r#""hello""#), reply]).branch.as_deref(), Some("a<202e>b"));
    }

    #[test]
    fn a_first_prompt_with_a_huge_picture_is_found() {
        let picture = "A".repeat(20_000_000);
        let content = format!(
            r#"[{{"type":"image","source":{{"media_type":"image/png","data":"{picture}"}}}},{{"type":"text","text":"what is this"}}]"#
        );
        let found = scanned(&[&[said(&content), replied("")], filler(100).as_slice()].concat());
        assert_eq!(found.title.as_deref(), Some("what is this"));
        assert_eq!((found.model.as_deref(), found.branch.as_deref()), (Some("claude-x"), Some("main")));
        let torn = scanned(&[said(&content).replace("}]}}", "")]);
        assert_eq!((torn.title, torn.messages), (None, Some(0)));
    }

    #[test]
    fn the_context_is_that_of_the_last_reply() {
        let full = |tokens: u32| {
            replied("").replace("claude-x\"", &format!("claude-opus-5\",\"usage\":{{\"input_tokens\":{tokens}}}"))
        };
        let small = scanned(&[said(r#""hello""#), full(300_000), full(120_000)]);
        assert_eq!(small.context_percent, Some(12));
        let large = [said(r#""hello""#), full(300_000)];
        assert_eq!(scanned(&[&large, filler(200).as_slice(), &[full(70_000)]].concat()).context_percent, Some(7));
    }

    #[test]
    fn a_session_in_which_only_a_subagent_spoke_is_empty() {
        let lines =
            [said(r#""look""#).replace(r#""type""#, r#""isSidechain":true,"type""#), replied(r#","isSidechain":true"#)];
        let found = scanned(&lines);
        assert!(found.is_empty(), "{found:?}");
        assert!(!scanned(&[said(r#""hello""#)]).is_empty());
    }
}
