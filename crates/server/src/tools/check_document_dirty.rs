//! `checkDocumentDirty`: does a file have unsaved changes?

use super::{Field, Hints, Kind, Takes, Tool, Work, verbatim};

const FILE: Field =
    Field::new("filePath", Kind::Path).required().described("Path of the file, absolute or relative to the workspace");

pub(crate) const TOOL: Tool = Tool {
    name: "checkDocumentDirty",
    description: "Check whether a file has unsaved changes in the user's editor. Use it before changing a file on disk. \
                  Answers JSON {success, filePath, isDirty, isUntitled}, or {success: false, message} if it is not open.",
    hints: Hints::NONE,
    work: Work::Ask("check_document_dirty", Takes::Fields(&[FILE], verbatim)),
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{answer, ask};

    #[test]
    fn the_editors_word_is_passed_on() {
        let reply = json!({ "success": true, "filePath": "/a", "isDirty": true, "isUntitled": false });
        assert_eq!(answer(&TOOL, &json!({ "filePath": "/a" }), &reply), [reply.to_string()]);
    }

    #[test]
    fn wants_a_path() {
        assert_eq!(
            ask(&TOOL, &json!({ "filePath": "" })).err().unwrap(),
            r#"invalid argument "filePath": must not be empty"#
        );
    }
}
