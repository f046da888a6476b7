//! `saveDocument`: writes the unsaved changes of exactly the file that is named.

use super::{Field, Hints, Kind, Takes, Tool, Work, verbatim};

const FILE: Field =
    Field::new("filePath", Kind::Path).required().described("Path of the file, absolute or relative to the workspace");

pub(crate) const TOOL: Tool = Tool {
    name: "saveDocument",
    description: "Save the unsaved changes of a file that is open in the user's editor. Answers JSON {success, filePath, \
                  saved, message}; success is false if the file is not open or could not be written.",
    hints: Hints::NONE,
    work: Work::Ask("save_document", Takes::Fields(&[FILE], verbatim)),
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{answer, ask};

    #[test]
    fn the_editors_word_is_passed_on() {
        let reply = json!({ "success": true, "filePath": "/a", "saved": true, "message": "Document saved" });
        assert_eq!(answer(&TOOL, &json!({ "filePath": "/a" }), &reply), [reply.to_string()]);
    }

    #[test]
    fn a_relative_path_lies_in_the_workspace() {
        assert_eq!(ask(&TOOL, &json!({ "filePath": "a" })).unwrap().args["filePath"], "/project/a");
    }
}
