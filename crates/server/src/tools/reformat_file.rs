//! `reformat_file`: runs the editor's formatter on a file (seed 001).

use serde::Deserialize;
use serde_json::value::RawValue;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Field, Hints, Kind, Takes, Tool, UnexpectedReply, Work, parse_reply};

const FILE: Field =
    Field::new("file_path", Kind::Path).required().described("Path of the file, absolute or relative to the workspace");

pub(crate) const TOOL: Tool = Tool {
    name: "reformat_file",
    description: "Format a file with the formatter that the user's editor uses for it. Use it after an edit instead of \
                  guessing the project's style. Answers OK, \"File not found\", or an error if the file has no formatter.",
    hints: Hints::NONE,
    work: Work::Ask("reformat_file", Takes::Fields(&[FILE], shape)),
};

#[derive(Deserialize)]
struct Reply {
    outcome: Outcome,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Ok,
    NotFound,
    NoFormatter,
}

fn shape(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    let Reply { outcome, message } = parse_reply(&reply)?;
    Ok(match outcome {
        Outcome::Ok => CallToolResult::text("OK"),
        Outcome::NotFound => CallToolResult::text("File not found"),
        Outcome::NoFormatter => {
            CallToolResult::failure(message.unwrap_or_else(|| "no formatter is set up for this file".to_owned()))
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{answer, shaped};

    #[test]
    fn answers_in_the_words_of_the_seed() {
        let args = json!({ "file_path": "/a" });
        assert_eq!(answer(&TOOL, &args, &json!({ "outcome": "ok" })), ["OK"]);
        assert_eq!(answer(&TOOL, &args, &json!({ "outcome": "not_found" })), ["File not found"]);
    }

    #[test]
    fn a_file_without_a_formatter_is_an_error_of_the_tool() {
        let result = shaped(&TOOL, &json!({ "file_path": "/a" }), &json!({ "outcome": "no_formatter" })).unwrap();
        assert!(result.is_error);
    }
}
