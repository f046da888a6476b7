//! `getDiagnostics`: errors and warnings. The CLI asks before and after each edit and compares the two.
//!
//! URIs come and go unescaped (`file://` and the raw path): the CLI compares them as text.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Field, Hints, Kind, LenientList, Takes, Tool, Work, parse_reply};

const URI: Field = Field::new("uri", Kind::Name).described("file:// URI of the file; leave it out for all files");

pub(crate) const TOOL: Tool = Tool {
    name: "getDiagnostics",
    description: "Get the errors, warnings and hints that the user's editor shows, of one file or of all. Use it after \
                  an edit to check that it introduced no error. Answers JSON [{uri, diagnostics: [{message, severity, \
                  range, source, code}]}] with severity Error, Warning, Info or Hint, and lines counted from 0.",
    hints: Hints::NONE,
    work: Work::Ask(
        "get_diagnostics",
        Takes::Fields(&[URI], |reply| {
            let files: LenientList<FileDiagnostics<'_>> = parse_reply(&reply)?;
            Ok(CallToolResult::text(serde_json::to_string(&files)?))
        }),
    ),
};

#[derive(Serialize, Deserialize)]
struct FileDiagnostics<'a> {
    #[serde(borrow)]
    uri: &'a RawValue,
    #[serde(borrow)]
    diagnostics: LenientList<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{answer, ask};

    #[test]
    fn a_uri_goes_to_the_editor_as_it_came() {
        let uri = "file:///with space/ünï.txt";
        assert_eq!(Value::from(ask(&TOOL, &json!({ "uri": uri })).unwrap().args), json!({ "uri": uri }));
    }

    #[test]
    fn no_uri_asks_for_all_files() {
        for args in [json!({}), json!({ "uri": null }), json!({ "uri": "" })] {
            assert_eq!(Value::from(ask(&TOOL, &args).unwrap().args), json!({}));
        }
    }

    #[test]
    fn the_answer_is_one_text_of_json() {
        let files = json!([{ "uri": "file:///a b", "diagnostics": [{ "message": "m", "severity": "Error" }] }]);
        assert_eq!(answer(&TOOL, &json!({}), &files).len(), 1);
        let text = answer(&TOOL, &json!({}), &files).remove(0);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), files);
    }

    #[test]
    fn empty_lists_stay_lists() {
        assert_eq!(answer(&TOOL, &json!({}), &json!({})), ["[]"]);
        let clean = json!([{ "uri": "file:///a", "diagnostics": {} }]);
        assert_eq!(answer(&TOOL, &json!({}), &clean), [r#"[{"uri":"file:///a","diagnostics":[]}]"#]);
    }
}
