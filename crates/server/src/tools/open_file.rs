//! `openFile`: shows a file, optionally with a selection.

use serde::Deserialize;
use serde_json::{Value, json};

use claude_ide_protocol::mcp::CallToolResult;

use super::{
    Arguments, Context, Hints, InvalidArgument, Question, Takes, Tool, Work, fields::object_schema, parse_reply,
};

pub(crate) const TOOL: Tool = Tool {
    name: "openFile",
    description: "Open a file in the user's editor, and optionally select part of it: from the first startText to the \
                  following endText, or the given lines. Use it to show the user the place you are talking about. \
                  Answers \"Opened file: <path>\"; with makeFrontmost=false the file is opened without taking the \
                  focus, and the answer is JSON {success, filePath, languageId, lineCount}.",
    hints: Hints::NONE,
    work: Work::Ask("open_file", Takes::Own(own_schema, prepare)),
};

fn own_schema() -> Value {
    object_schema(
        json!({
            "filePath": { "type": "string", "description": "Path of the file, absolute or relative to the workspace" },
            "preview": { "type": "boolean", "default": false, "description": "Open as a preview that the next opened file may replace" },
            "startText": { "type": "string", "description": "Text at which the selection starts" },
            "endText": { "type": "string", "description": "Text at which the selection ends, searched after startText" },
            "selectToEndOfLine": { "type": "boolean", "default": false, "description": "Extend the selection to the end of its last line" },
            "makeFrontmost": { "type": "boolean", "default": true, "description": "Move the user's focus to the file" },
            "line": { "type": "integer", "minimum": 1, "description": "Line to go to, counted from 1; used when startText is not given" },
            "endLine": { "type": "integer", "minimum": 1, "description": "Last line to select, counted from 1; needs line" },
        }),
        &["filePath"],
    )
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    file_path: String,
    #[serde(default)]
    language_id: Option<String>,
    line_count: u64,
}

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let frontmost = args.flag("makeFrontmost", true)?;
    let line = args.optional_line("line")?;
    let end_line = args.optional_line("endLine")?;
    if line.zip(end_line).is_some_and(|(line, end_line)| end_line < line) {
        return Err(InvalidArgument::new("endLine", "lies before line"));
    }
    let args = [
        ("filePath", Value::from(context.absolute(args.path("filePath")?))),
        ("preview", Value::from(args.flag("preview", false)?)),
        ("startText", Value::from(args.optional_string("startText")?.unwrap_or_default())),
        ("endText", Value::from(args.optional_string("endText")?.unwrap_or_default())),
        ("selectToEndOfLine", Value::from(args.flag("selectToEndOfLine", false)?)),
        ("makeFrontmost", Value::from(frontmost)),
    ];
    let mut question = Question::new(args, move |reply| {
        let opened: Opened = parse_reply(&reply)?;
        Ok(CallToolResult::text(if frontmost {
            format!("Opened file: {}", opened.file_path)
        } else {
            json!({
                "success": true,
                "filePath": opened.file_path,
                "languageId": opened.language_id.unwrap_or_default(),
                "lineCount": opened.line_count,
            })
            .to_string()
        }))
    });
    question.args.extend(line.map(|line| ("line".to_owned(), Value::from(line))));
    question.args.extend(end_line.map(|line| ("endLine".to_owned(), Value::from(line))));
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{answer, ask};

    #[test]
    fn every_default_is_filled_in() {
        let question = ask(&TOOL, &json!({ "filePath": "/a.txt", "_meta": {} })).unwrap();
        assert_eq!(
            Value::from(question.args),
            json!({
                "filePath": "/a.txt", "preview": false, "startText": "", "endText": "",
                "selectToEndOfLine": false, "makeFrontmost": true,
            })
        );
    }

    #[test]
    fn a_relative_path_lies_in_the_workspace() {
        let question = ask(&TOOL, &json!({ "filePath": "src/a.rs", "line": 3, "endLine": 4 })).unwrap();
        assert_eq!(question.args["filePath"], "/project/src/a.rs");
        assert_eq!((&question.args["line"], &question.args["endLine"]), (&json!(3), &json!(4)));
    }

    #[test]
    fn the_answer_depends_on_the_focus() {
        let reply = json!({ "filePath": "/a.txt", "languageId": "text", "lineCount": 3 });
        assert_eq!(answer(&TOOL, &json!({ "filePath": "/a.txt" }), &reply), ["Opened file: /a.txt"]);
        let quiet = answer(&TOOL, &json!({ "filePath": "/a.txt", "makeFrontmost": false }), &reply);
        assert_eq!(
            serde_json::from_str::<Value>(&quiet[0]).unwrap(),
            json!({ "success": true, "filePath": "/a.txt", "languageId": "text", "lineCount": 3 })
        );
    }

    #[test]
    fn names_the_bad_argument() {
        let error = |args| ask(&TOOL, &args).err().unwrap();
        assert_eq!(error(json!({})), r#"invalid argument "filePath": missing"#);
        assert!(error(json!({ "filePath": "/a", "line": 0 })).contains(r#""line""#));
        assert!(error(json!({ "filePath": "/a", "line": 5, "endLine": 4 })).contains(r#""endLine""#));
    }
}
