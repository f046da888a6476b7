//! The locations in files that calls read, changed or found, for an editor that follows them. Repeated calls while a
//! transcript grows read no line twice.
//!
//! Source of the shapes: results of Read, Edit, Write, Grep and Glob by CLI 2.1.329.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Transcript;
use crate::cancel::Cancel;
use crate::error::SessionError;
use crate::lenient::Scalar;
use crate::message::Block;
use crate::time::Millis;
use crate::tool_result::{FileChange, Outcome};

/// Longer messages are cut before their last line is looked for.
const MAX_SAID: usize = 16 * 1024;
/// What a call was made for is one line.
const MAX_LINE: usize = 200;

/// What a call did at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LocationKind {
    /// Read lines.
    Read,
    /// Changed lines.
    Edit,
    /// Created the file.
    Create,
    /// Found the file or a line of it.
    Search,
}

/// A location in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// As the CLI names it: a search may name it relative to the session's folder.
    pub path: String,
    /// What the call did.
    pub kind: LocationKind,
    /// First line, from 1.
    pub first: u32,
    /// Last line; `None`: to the end of the file.
    pub last: Option<u32>,
}

/// The location of a call of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallLocation {
    /// The call.
    pub tool_use_id: String,
    /// Where it was.
    #[serde(flatten)]
    pub location: Location,
    /// When the call ended.
    pub at: Option<Millis>,
    /// What Claude said before the call: its last line.
    pub said: Option<String>,
}

/// Locations in a part of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Locations {
    /// In the order of the results.
    pub locations: Vec<CallLocation>,
    /// Where the next call continues.
    pub offset: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawLocation<'a> {
    #[serde(borrow)]
    file: Option<RawFile<'a>>,
    filenames: Option<Vec<String>>,
    content: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawFile<'a> {
    #[serde(borrow)]
    file_path: Scalar<'a>,
    start_line: Option<u32>,
    num_lines: Option<u32>,
}

fn of_change(change: FileChange) -> Location {
    let Some(hunk) = change.hunks.first().filter(|_| !change.created) else {
        return Location { path: change.path, kind: LocationKind::Create, first: 1, last: None };
    };
    let lines = |kept: &[String]| u32::try_from(kept.iter().filter(|line| !line.starts_with('-')).count()).unwrap_or(0);
    let is_context = |line: &String| line.starts_with(' ');
    let start = hunk.lines.iter().position(|line| !is_context(line)).unwrap_or_default();
    let end = hunk.lines.iter().rposition(|line| !is_context(line)).map_or(hunk.lines.len(), |last| last + 1);
    let first = hunk.new_start.saturating_add(lines(hunk.lines.get(..start).unwrap_or_default())).max(1);
    let changed = lines(hunk.lines.get(start..end).unwrap_or_default());
    let last = Some(first.saturating_add(changed.saturating_sub(1)));
    Location { path: change.path, kind: LocationKind::Edit, first, last }
}

/// The first hit of a search: `path:line:text`, or a path alone.
fn of_hit(line: &str) -> Option<(String, u32)> {
    let (path, rest) = line.split_once(':')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at_checked(digits)?;
    (after.starts_with(':')).then(|| Some((path.to_owned(), number.parse().ok()?)))?
}

fn of_other(raw: &RawValue) -> Option<Location> {
    let location: RawLocation<'_> = serde_json::from_str(raw.get()).ok()?;
    if let Some(file) = location.file {
        let first = file.start_line.unwrap_or(1).max(1);
        let last = file.num_lines.map(|count| first.saturating_add(count.saturating_sub(1)));
        let path = file.file_path.text().to_owned();
        return (!path.is_empty()).then_some(Location { path, kind: LocationKind::Read, first, last });
    }
    let filenames = location.filenames?; // only searches name files
    let hit = location.content.as_deref().and_then(|content| content.lines().find_map(of_hit));
    let (path, line) = hit.or_else(|| Some((filenames.into_iter().next()?, 1)))?;
    Some(Location { path, kind: LocationKind::Search, first: line, last: Some(line) })
}

impl Location {
    /// The location that a call's result tells; the texts in it do not matter, and may be cut.
    #[must_use]
    pub fn of_result(raw: &RawValue) -> Option<Self> {
        match Outcome::parse(raw, 0) {
            Some(Outcome::FileChange(change)) => Some(of_change(change)),
            Some(_) => None,
            None => of_other(raw),
        }
    }
}

impl Transcript {
    /// Locations of calls whose results are at byte `offset` or later, on any branch. Calls that ended before `since` are
    /// skipped without reading the file.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn locations(&mut self, offset: u64, since: Millis, cancel: &Cancel) -> Result<Locations, SessionError> {
        let mut found = Locations { locations: Vec::new(), offset: self.tail.offset() };
        self.each_result(offset, since, cancel, |transcript, result, body, tool_use_id| {
            if let Some(location) = body.outcome().and_then(Location::of_result) {
                let said = transcript.said_before(&tool_use_id)?;
                found.locations.push(CallLocation { tool_use_id, location, at: result.ended, said });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The last line of what Claude said before a call in the same message.
    fn said_before(&mut self, tool_use_id: &str) -> Result<Option<String>, SessionError> {
        let Some(node) = self.message_of_tool(tool_use_id) else { return Ok(None) };
        let blocks = self.message(node, MAX_SAID)?.blocks;
        let before = blocks.iter().take_while(|block| !matches!(block, Block::ToolUse { id, .. } if id == tool_use_id));
        let said = before.filter_map(|block| match block {
            Block::Text(text) => text.text.lines().rfind(|line| !line.trim().is_empty()),
            _ => None,
        });
        Ok(said.last().map(|line| line.trim().chars().take(MAX_LINE).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(json: &str) -> Option<(String, LocationKind, u32, Option<u32>)> {
        let location = Location::of_result(&serde_json::from_str::<Box<RawValue>>(json).unwrap())?;
        Some((location.path, location.kind, location.first, location.last))
    }

    #[test]
    fn lines_that_were_read() {
        let read =
            r#"{"type":"text","file":{"filePath":"/p/a","content":"x","numLines":4,"startLine":10,"totalLines":90}}"#;
        assert_eq!(location(read), Some(("/p/a".into(), LocationKind::Read, 10, Some(13))));
        let image = r#"{"type":"image","file":{"filePath":"/p/a.png","base64":"AA=="}}"#;
        assert_eq!(location(image), Some(("/p/a.png".into(), LocationKind::Read, 1, None)));
        assert_eq!(location(r#"{"type":"image","file":{"base64":"AA=="}}"#), None);
    }

    #[test]
    fn the_changed_lines_of_the_first_hunk_as_they_are_now() {
        let edit = |lines: &str| {
            format!(
                r#"{{"filePath":"/p/a","oldString":"b","newString":"B","originalFile":"","structuredPatch":[
                {{"oldStart":7,"oldLines":3,"newStart":7,"newLines":3,"lines":{lines}}}]}}"#
            )
        };
        let changed = edit(r#"[" a","-b","+B","+C"," d"]"#);
        assert_eq!(location(&changed), Some(("/p/a".into(), LocationKind::Edit, 8, Some(9))));
        let removed = edit(r#"[" a"," b","-c"," d"]"#);
        assert_eq!(location(&removed), Some(("/p/a".into(), LocationKind::Edit, 9, Some(9))), "the line after");
        let at_the_top = edit(r#"["-a"]"#).replace("\"newStart\":7", "\"newStart\":0");
        assert_eq!(location(&at_the_top), Some(("/p/a".into(), LocationKind::Edit, 1, Some(1))));
        let created =
            r#"{"type":"create","filePath":"/p/n","content":"x\ny\n","structuredPatch":[],"originalFile":null}"#;
        assert_eq!(location(created), Some(("/p/n".into(), LocationKind::Create, 1, None)));
    }

    #[test]
    fn the_first_hit_of_a_search() {
        let lines = r#"{"mode":"content","numFiles":0,"filenames":[],"content":"src/a b.rs:12:let x: u8;\nsrc/c.rs:1:y","numLines":2}"#;
        assert_eq!(location(lines), Some(("src/a b.rs".into(), LocationKind::Search, 12, Some(12))));
        let files = r#"{"mode":"files_with_matches","filenames":["/p/b","/p/c"],"numFiles":2}"#;
        assert_eq!(location(files), Some(("/p/b".into(), LocationKind::Search, 1, Some(1))));
        assert_eq!(location(r#"{"mode":"files_with_matches","filenames":[],"numFiles":0}"#), None);
    }

    #[test]
    fn other_results_have_no_place() {
        for other in [r#"{"stdout":"a:1:b","stderr":""}"#, r#""User rejected tool use""#, "[1]", r#"{"file":7}"#] {
            assert_eq!(location(other), None, "{other}");
        }
    }

    #[test]
    fn each_place_is_told_once_with_what_was_said_before_it() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let append = |number: u32| {
            let call = r#"{"type":"assistant","uuid":"a$","timestamp":"2026-01-19T04:45:1$.000Z","message":{"id":"m$","content":[{"type":"text","text":"Well.\nNow $:\n\n"},{"type":"tool_use","id":"t$","name":"Read","input":{}}]}}"#;
            let result = r#"{"type":"user","uuid":"r$","parentUuid":"a$","timestamp":"2026-01-19T04:45:1$.500Z","message":{"content":[{"type":"tool_result","tool_use_id":"t$","content":"ok"}]},"toolUseResult":{"type":"text","file":{"filePath":"/p/$","startLine":2,"numLines":1}}}"#;
            let mut file = std::fs::File::options().append(true).create(true).open(&path).unwrap();
            for line in [call, result] {
                writeln!(file, "{}", line.replace('$', &number.to_string())).unwrap();
            }
        };
        let cancel = Cancel::default();
        (1..4).for_each(append);
        let mut transcript = Transcript::open(&path, &cancel).unwrap();
        let since = Millis::parse("2026-01-19T04:45:12.000Z").unwrap();
        let first = transcript.locations(0, since, &cancel).unwrap();
        let paths =
            |found: &Locations| found.locations.iter().map(|call| call.location.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&first), ["/p/2", "/p/3"]);
        assert_eq!(first.locations.first().and_then(|location| location.said.as_deref()), Some("Now 2:"));
        append(4);
        transcript.refresh(&cancel).unwrap();
        assert_eq!(paths(&transcript.locations(first.offset, since, &cancel).unwrap()), ["/p/4"]);
    }
}
