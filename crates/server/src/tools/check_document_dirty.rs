//! `checkDocumentDirty`: does a file have unsaved changes?

use serde_json::{Value, json};

use super::{Arguments, Context, Hints, InvalidArgument, Question, Tool, Work, schema, verbatim};

pub(crate) const TOOL: Tool = Tool {
    name: "checkDocumentDirty",
    description: "Check whether a file has unsaved changes in the user's editor. Use it before changing a file on disk. \
                  Answers JSON {success, filePath, isDirty, isUntitled}, or {success: false, message} if it is not open.",
    schema: || {
        let path =
            json!({ "type": "string", "description": "Path of the file, absolute or relative to the workspace" });
        schema(json!({ "filePath": path }), &["filePath"])
    },
    hints: Hints::NONE,
    work: Work::Ask("check_document_dirty", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    Ok(Question::new([("filePath", Value::from(context.absolute(args.path("filePath")?)))], verbatim))
}

#[cfg(test)]
mod tests {
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
