//! The tools of companions: `openDiff`, which is answered at once and decided by a notification, and `closeDiff`.

use claude_ide_protocol::mcp::CallToolResult;

use super::{Field, Hints, Kind, Takes, Tool, Work, verbatim};

const FILE: Field = Field::new("filePath", Kind::Path).required().described("Absolute path of the file");
const CONTENT: Field =
    Field::new("newContent", Kind::String).required().described("The whole proposed contents of the file");

pub(crate) const TOOLS: [&Tool; 2] = [
    &Tool {
        name: "openDiff",
        description: "Show a proposed change of a file as a diff in the user's editor. The user may edit the proposal. The \
                      decision comes as the notification ide/diffAccepted, with the accepted contents (nothing is written \
                      to disk), or ide/diffRejected.",
        hints: Hints::NONE,
        work: Work::Ask(
            "show_diff",
            Takes::Fields(&[FILE, CONTENT], |_| Ok(CallToolResult { content: Vec::new(), is_error: false })),
        ),
    },
    &Tool {
        name: "closeDiff",
        description: "Close the diff of a file. Answers JSON {content}: the proposal with the user's changes, or null if \
                      there is no such diff.",
        hints: Hints::NONE,
        work: Work::Ask("withdraw_diff", Takes::Fields(&[FILE], verbatim)),
    },
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{answer, ask, has_twin, shaped};

    #[test]
    fn a_diff_is_acknowledged_without_content() {
        let args = json!({ "filePath": "/a.txt", "newContent": "new\n" });
        assert_eq!(serde_json::Value::from(ask(TOOLS[0], &args).unwrap().args), args);
        let shown = shaped(TOOLS[0], &args, &json!({})).unwrap();
        assert_eq!(serde_json::to_value(shown).unwrap(), json!({ "content": [] }));
    }

    #[test]
    fn a_closed_diff_answers_with_json() {
        let args = json!({ "filePath": "/a.txt" });
        assert_eq!(serde_json::Value::from(ask(TOOLS[1], &args).unwrap().args), args);
        assert_eq!(answer(TOOLS[1], &args, &json!({ "content": "x" })), [r#"{"content":"x"}"#]);
    }

    #[test]
    fn the_editor_has_them() {
        assert!(["show_diff", "withdraw_diff"].into_iter().all(has_twin));
    }
}
