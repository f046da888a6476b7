//! `openDiff`: shows a proposed change and waits until the user accepts or rejects it.
//!
//! Measured with Claude Code 2.1.329: after `FILE_SAVED` the CLI writes the second text to disk itself; after
//! `TAB_CLOSED` it applies the edit as proposed. So a diff closed without a decision is `DIFF_REJECTED`.

use serde::{Deserialize, de::Error as _};
use serde_json::value::RawValue;

use claude_ide_protocol::{content::Content, mcp::CallToolResult};

use super::{Field, Hints, Kind, Takes, Tool, UnexpectedReply, Work, parse_reply};

pub(crate) const TOOL: Tool = Tool {
    name: "openDiff",
    description: "Show a proposed change of a file as a diff in the user's editor and wait until the user decides. The \
                  user may edit the proposal. Answers FILE_SAVED and, as a second text, the accepted contents (nothing \
                  is written to disk: that is the caller's part), or DIFF_REJECTED.",
    hints: Hints::NONE,
    work: Work::AskUser("open_diff", Takes::Fields(FIELDS, decided)),
};

/// The paths are the same, and the name is the path, unless told otherwise.
const FIELDS: &[Field] = &[
    Field::new("old_file_path", Kind::Path).required().described("Path of the file as it is; it need not exist yet"),
    Field::new("new_file_path", Kind::Path).described("Path of the file after the change; by default the same"),
    Field::new("new_file_contents", Kind::String).required().described("The whole proposed contents of the file"),
    Field::new("tab_name", Kind::String).described("Name of the diff, for close_tab"),
];

#[derive(Deserialize)]
struct Reply<'a> {
    outcome: Outcome,
    /// Not decoded: it is sent verbatim, however large it is.
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Saved,
    Rejected,
}

fn decided(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    let Reply { outcome, contents } = parse_reply(&reply)?;
    Ok(match outcome {
        Outcome::Rejected => CallToolResult::text("DIFF_REJECTED"),
        Outcome::Saved => {
            // The CLI crashes if the second text is no string.
            let contents = contents.filter(|contents| contents.get().starts_with('"'));
            let contents = contents.ok_or_else(|| serde_json::Error::custom("saved, without the contents"))?;
            let content = vec![Content::text("FILE_SAVED"), Content::literal(contents.to_owned())];
            CallToolResult { content, is_error: false }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{answer, shaped};

    fn args() -> Value {
        json!({ "old_file_path": "/a.txt", "new_file_contents": "new\n" })
    }

    #[test]
    fn accepted_contents_come_back_byte_for_byte() {
        let contents = "ünï\r\n\t\"quoted\" \\ \u{1F600} \u{0000}no newline at the end";
        let saved = json!({ "outcome": "saved", "contents": contents });
        assert_eq!(answer(&TOOL, &args(), &saved), ["FILE_SAVED", contents]);
    }

    #[test]
    fn empty_contents_are_accepted_contents_too() {
        let saved = json!({ "outcome": "saved", "contents": "" });
        assert_eq!(answer(&TOOL, &args(), &saved), ["FILE_SAVED", ""]);
    }

    #[test]
    fn a_rejection_is_one_text() {
        assert_eq!(answer(&TOOL, &args(), &json!({ "outcome": "rejected" })), ["DIFF_REJECTED"]);
    }

    #[test]
    fn never_says_saved_without_contents() {
        for reply in [
            json!({ "outcome": "saved" }),
            json!({ "outcome": "saved", "contents": null }),
            json!({ "outcome": "saved", "contents": 5 }),
            json!({ "outcome": "closed" }),
        ] {
            assert!(shaped(&TOOL, &args(), &reply).is_err(), "{reply}");
        }
    }
}
