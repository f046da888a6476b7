//! The locations in files that calls read, changed or found, for an editor that follows them.
//!
//! Source of the shapes: results of Read, Edit, Write, Grep and Glob by CLI 2.1.329.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::lenient::Scalar;
use crate::tool_result::{FileChange, Outcome};

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
    /// What Claude said before the call: its last line.
    pub said: Option<String>,
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

/// A path, what was done there, and the lines.
type Found = (String, LocationKind, u32, Option<u32>);

fn of_change(change: FileChange) -> Found {
    let Some(hunk) = change.hunks.first().filter(|_| !change.created) else {
        return (change.path, LocationKind::Create, 1, None);
    };
    let lines = |kept: &[String]| u32::try_from(kept.iter().filter(|line| !line.starts_with('-')).count()).unwrap_or(0);
    let is_context = |line: &String| line.starts_with(' ');
    let start = hunk.lines.iter().position(|line| !is_context(line)).unwrap_or_default();
    let end = hunk.lines.iter().rposition(|line| !is_context(line)).map_or(hunk.lines.len(), |last| last + 1);
    let first = hunk.new_start.saturating_add(lines(hunk.lines.get(..start).unwrap_or_default())).max(1);
    let changed = lines(hunk.lines.get(start..end).unwrap_or_default());
    (change.path, LocationKind::Edit, first, Some(first.saturating_add(changed.saturating_sub(1))))
}

/// The first hit of a search: `path:line:text`, or a path alone.
fn of_hit(line: &str) -> Option<(String, u32)> {
    let (path, rest) = line.split_once(':')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at_checked(digits)?;
    (after.starts_with(':')).then(|| Some((path.to_owned(), number.parse().ok()?)))?
}

fn of_other(raw: &RawValue) -> Option<Found> {
    let location: RawLocation<'_> = serde_json::from_str(raw.get()).ok()?;
    if let Some(file) = location.file {
        let first = file.start_line.unwrap_or(1).max(1);
        let last = file.num_lines.map(|count| first.saturating_add(count.saturating_sub(1)));
        let path = file.file_path.text().to_owned();
        return (!path.is_empty()).then_some((path, LocationKind::Read, first, last));
    }
    let filenames = location.filenames?; // only searches name files
    let hit = location.content.as_deref().and_then(|content| content.lines().find_map(of_hit));
    let (path, line) = hit.or_else(|| Some((filenames.into_iter().next()?, 1)))?;
    Some((path, LocationKind::Search, line, Some(line)))
}

/// Where the call was whose record this is, which says the same as `outcome` if that is known.
pub(super) fn of_result(raw: &RawValue, outcome: Option<Outcome>) -> Option<Location> {
    let (path, kind, first, last) = match outcome {
        Some(Outcome::FileChange(change)) => of_change(change),
        Some(_) => return None,
        None => of_other(raw)?,
    };
    Some(Location { path, kind, first, last, said: None })
}

impl Location {
    /// The location that a result tells; the texts in it do not matter, and may be cut.
    #[must_use]
    pub fn of_result(raw: &RawValue) -> Option<Self> {
        of_result(raw, Outcome::parse(raw, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(json: &str) -> Option<Found> {
        let raw = serde_json::from_str::<Box<RawValue>>(json).unwrap();
        let location = Location::of_result(&raw)?;
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
}
