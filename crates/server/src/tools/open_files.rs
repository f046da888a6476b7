//! `open_files`: opens several files at once (seed 001).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Field, Hints, Kind, LenientList, Takes, Tool, Work, parse_reply};

const PATHS: Field = Field::new("file_paths", Kind::Paths)
    .required()
    .described("Paths of the files, absolute or relative to the workspace");

pub(crate) const TOOL: Tool = Tool {
    name: "open_files",
    description: "Open several files in the user's editor, without moving the focus. Use it to lay out the files of a \
                  task for the user. Answers JSON {opened_files} with the paths that could be opened.",
    hints: Hints::NONE,
    work: Work::Ask(
        "open_files",
        Takes::Fields(&[PATHS], |reply| {
            Ok(CallToolResult::text(serde_json::to_string(&parse_reply::<Opened<'_>>(&reply)?)?))
        }),
    ),
};

#[derive(Serialize, Deserialize)]
struct Opened<'a> {
    #[serde(borrow)]
    opened_files: LenientList<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{answer, ask};

    #[test]
    fn paths_are_made_absolute_in_their_order() {
        let question = ask(&TOOL, &json!({ "file_paths": ["b", "/a"] })).unwrap();
        assert_eq!(question.args["file_paths"], json!(["/project/b", "/a"]));
    }

    #[test]
    fn tells_which_files_were_opened() {
        let args = json!({ "file_paths": ["/a"] });
        assert_eq!(answer(&TOOL, &args, &json!({ "opened_files": ["/a"] })), [r#"{"opened_files":["/a"]}"#]);
        assert_eq!(answer(&TOOL, &args, &json!({ "opened_files": {} })), [r#"{"opened_files":[]}"#]);
    }

    #[test]
    fn names_the_bad_element() {
        let error = ask(&TOOL, &json!({ "file_paths": ["/a", 5] })).err().unwrap();
        assert!(error.contains(r#""file_paths[1]""#), "{error}");
    }
}
