//! The CLI's own record of a tool call (`toolUseResult`), typed if a file changed or a subagent was started.
//!
//! Source of the shapes: results of Edit, Write and Agent by CLI 2.1.329; `edits` and `originalFileContents` from older
//! MultiEdit.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::tellable;
use crate::line_head::OutcomeHead;
use crate::text::Text;

/// The CLI's record of a tool call.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// A file was changed.
    FileChange(FileChange),
    /// A subagent was started in the background.
    Launch {
        /// Its id.
        agent: String,
    },
    /// A plain message, such as "User rejected tool use".
    Message(Text),
    /// Anything else, raw. Dropped if it is larger than the caller's limit.
    Other {
        /// The record.
        raw: Box<RawValue>,
    },
}

/// A change to a file. [`crate::Transcript::edit_texts`] gives the full texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Absolute path.
    pub path: String,
    /// Whether the file is new.
    pub created: bool,
    /// Whether the user changed what Claude proposed.
    pub user_modified: bool,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    /// The change as a unified diff, up to a limit of lines. Empty for a file newly created by the CLI.
    pub hunks: Vec<Hunk>,
    /// How many lines of the hunks are left out.
    #[serde(skip_serializing_if = "is_none_left")]
    pub left_out: usize,
    /// Other files changed by the same call; some agents do so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<FileChange>,
}

/// Hunks are cut after this many lines, context included.
const MAX_LINES: usize = 1000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none_left(lines: &usize) -> bool {
    *lines == 0
}

impl FileChange {
    /// A change of one file. Long hunks are cut.
    #[must_use]
    pub fn new(path: String, created: bool, user_modified: bool, mut hunks: Vec<Hunk>) -> Self {
        let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
        let count = |sign: char| lines().filter(|line| line.starts_with(sign)).count();
        let (added, removed, all) = (count('+'), count('-'), lines().count());
        let mut room = MAX_LINES;
        hunks.retain_mut(|hunk| {
            let fits = room > 0;
            hunk.lines.truncate(room);
            room = room.saturating_sub(hunk.lines.len());
            fits
        });
        let left_out = all.saturating_sub(MAX_LINES);
        Self { path, created, user_modified, added, removed, hunks, left_out, others: Vec::new() }
    }
}

/// One hunk of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all(deserialize = "camelCase"))]
pub struct Hunk {
    /// First line before, 1-based.
    pub old_start: u32,
    /// Number of lines before.
    pub old_lines: u32,
    /// First line after, 1-based.
    pub new_start: u32,
    /// Number of lines after.
    pub new_lines: u32,
    /// The lines, each beginning with " ", "-" or "+".
    pub lines: Vec<String>,
}

/// A file before and after a change, in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditTexts {
    /// Absolute path.
    pub path: String,
    /// The text before; `None` if the file is new.
    pub before: Option<String>,
    /// The text after.
    pub after: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawChange {
    file_path: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    content: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    edits: Option<Vec<RawEdit>>,
    #[serde(alias = "originalFileContents")]
    original_file: Option<String>,
    structured_patch: Option<Vec<Hunk>>,
    user_modified: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawEdit {
    #[serde(alias = "oldString")]
    old_string: String,
    #[serde(alias = "newString")]
    new_string: String,
    #[serde(alias = "replaceAll")]
    replace_all: bool,
}

impl RawChange {
    fn parse(raw: &RawValue) -> Option<Self> {
        let change: Self = serde_json::from_str(raw.get()).ok()?;
        (change.file_path.is_some() && change.structured_patch.is_some()).then_some(change)
    }
}

impl Outcome {
    pub(crate) fn parse(raw: &RawValue, max_text: usize) -> Option<Self> {
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            return Some(Self::Message(Text::cut(text, max_text)));
        }
        if let Some(change) = RawChange::parse(raw) {
            return Some(Self::FileChange(FileChange::new(
                change.file_path.unwrap_or_default(),
                change.kind.as_deref() == Some("create"),
                change.user_modified.unwrap_or_default(),
                change.structured_patch.unwrap_or_default(),
            )));
        }
        if let Some(head) = agent_head(raw).filter(OutcomeHead::is_launch) {
            return Some(Self::Launch { agent: head.agent.text().to_owned() });
        }
        (raw.get().len() <= max_text).then(|| Self::Other { raw: tellable(raw) })
    }
}

/// The record of a subagent.
fn agent_head(raw: &RawValue) -> Option<OutcomeHead<'_>> {
    // Skips parsing the records of other tools, which may be long.
    let head: OutcomeHead<'_> = raw.get().contains("\"agentId\"").then(|| serde_json::from_str(raw.get()).ok())??;
    (!head.agent.text().is_empty()).then_some(head)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawReport<'a> {
    #[serde(borrow)]
    content: Vec<&'a RawValue>,
    harness_note_count: usize,
    harness_tail_count: usize,
}

/// A subagent's last message without the report's frame for the model; empty while it continues in the background.
/// `None` if the record is no subagent's or of unknown shape.
pub(crate) fn subagents_words(raw: &RawValue) -> Option<Box<RawValue>> {
    agent_head(raw)?;
    let report: RawReport<'_> = serde_json::from_str(raw.get()).ok()?;
    let end = report.content.len().checked_sub(report.harness_tail_count)?;
    serde_json::value::to_raw_value(report.content.get(report.harness_note_count..end)?).ok()
}

impl EditTexts {
    /// Both texts; `None` if the record is of no change or lacks them.
    pub(crate) fn parse(raw: &RawValue) -> Option<Self> {
        let change = RawChange::parse(raw)?;
        let path = change.file_path?;
        let before = change.original_file;
        if let Some(after) = change.content {
            return Some(Self { path, before, after });
        }
        let single = change.old_string.zip(change.new_string).map(|(old_string, new_string)| {
            vec![RawEdit { old_string, new_string, replace_all: change.replace_all.unwrap_or_default() }]
        });
        let mut after = before.clone().unwrap_or_default();
        for edit in single.or(change.edits)? {
            after = replaced(&after, &edit)?;
        }
        Some(Self { path, before, after })
    }
}

fn replaced(text: &str, edit: &RawEdit) -> Option<String> {
    if edit.old_string.is_empty() {
        return text.is_empty().then(|| edit.new_string.clone());
    }
    if !text.contains(&edit.old_string) {
        return None;
    }
    let count = if edit.replace_all { usize::MAX } else { 1 };
    Some(text.replacen(&edit.old_string, &edit.new_string, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        serde_json::from_str(json).unwrap()
    }

    const EDIT: &str = r#"{"filePath":"/p/a.txt","oldString":"two","newString":"TWO","originalFile":"one\ntwo\ntwo\n","userModified":true,
        "structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":3,"lines":[" one","-two","+TWO"]}],"replaceAll":false}"#;

    #[test]
    fn an_edit_has_its_hunks_and_both_texts() {
        let Some(Outcome::FileChange(change)) = Outcome::parse(&raw(EDIT), 1000) else { panic!("a change") };
        assert_eq!((change.path.as_str(), change.created, change.user_modified), ("/p/a.txt", false, true));
        assert_eq!(change.hunks[0].lines, [" one", "-two", "+TWO"]);
        let texts = EditTexts::parse(&raw(EDIT)).unwrap();
        assert_eq!((texts.before.as_deref(), texts.after.as_str()), (Some("one\ntwo\ntwo\n"), "one\nTWO\ntwo\n"));
    }

    #[test]
    fn a_huge_change_keeps_its_beginning_and_its_full_count() {
        let hunk = |first: u32, sign: char| Hunk {
            old_start: first,
            lines: (0..700).map(|n| format!("{sign}{n}")).collect(),
            ..Hunk::default()
        };
        let change = FileChange::new("/p".into(), false, false, vec![hunk(1, '-'), hunk(2, '+'), hunk(3, ' ')]);
        assert_eq!((change.added, change.removed, change.left_out), (700, 700, 1100));
        assert_eq!(change.hunks.iter().map(|hunk| hunk.lines.len()).collect::<Vec<_>>(), [700, 300]);
        let whole = FileChange::new("/p".into(), false, false, vec![hunk(1, '-')]);
        assert_eq!((whole.left_out, whole.hunks.len()), (0, 1));
    }

    #[test]
    fn a_new_file_has_no_text_before() {
        let json = r#"{"type":"create","filePath":"/p/n","content":"hey\n","structuredPatch":[],"originalFile":null}"#;
        let Some(Outcome::FileChange(change)) = Outcome::parse(&raw(json), 1000) else { panic!("a change") };
        assert!(change.created && change.hunks.is_empty());
        assert_eq!(
            EditTexts::parse(&raw(json)),
            Some(EditTexts { path: "/p/n".into(), before: None, after: "hey\n".into() })
        );
    }

    #[test]
    fn a_background_subagent_is_recognized_whatever_the_length_of_its_prompt() {
        let json = r#"{"isAsync":true,"status":"async_launched","agentId":"a1","prompt":"Look around"}"#;
        assert!(matches!(Outcome::parse(&raw(json), 3), Some(Outcome::Launch { agent }) if agent == "a1"));
    }

    #[test]
    fn several_edits_of_one_call_apply_in_order() {
        let json = r#"{"filePath":"/p","originalFileContents":"aXa","structuredPatch":[],
            "edits":[{"old_string":"a","new_string":"b","replace_all":true},{"old_string":"bX","new_string":"c"}]}"#;
        assert_eq!(EditTexts::parse(&raw(json)).unwrap().after, "cb");
    }

    #[test]
    fn other_records_are_messages_or_raw() {
        assert!(
            matches!(Outcome::parse(&raw(r#""User rejected tool use""#), 9), Some(Outcome::Message(text)) if text.bytes == 22)
        );
        assert!(matches!(Outcome::parse(&raw(r#"{"stdout":"hi"}"#), 1000), Some(Outcome::Other { .. })));
        let ended = r#"{"status":"completed","agentId":"a1","content":[]}"#;
        assert!(matches!(Outcome::parse(&raw(ended), 1000), Some(Outcome::Other { .. })));
        assert!(Outcome::parse(&raw(r#"{"stdout":"hi"}"#), 3).is_none(), "too large to hand on");
        assert!(
            EditTexts::parse(&raw(
                r#"{"filePath":"/p","structuredPatch":[],"oldString":"x","newString":"y","originalFile":"z"}"#
            ))
            .is_none()
        );
    }
}
