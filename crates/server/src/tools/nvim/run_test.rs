//! `run_test`: runs tests of the project, as the editor is set up for it.

use serde_json::{Map, json};

use super::ask;
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "run_test",
    description: "Run the tests of a file, or the last run again, with the command that the user's editor is set up with \
                  ('makeprg'). Answers what failed, with file and line; the user sees the same in their quickfix list.",
    schema: || {
        schema(
            json!({
                "scope": {
                    "type": "string",
                    "enum": ["file", "last"],
                    "description": "All tests of the \"file\", or the \"last\" run again",
                },
                "path": { "type": "string", "description": "The test file, absolute or relative to the workspace; for \"file\"" },
            }),
            &["scope"],
        )
    },
    hints: Hints {
        title: Some("Run tests"),
        touches: Some(Touches::World),
        search: Some("run test tests of a file, last run again, pytest jest cargo test runner make"),
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.run_test", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    let scope = args.optional_choice("scope", &["file", "last"])?;
    asked.insert("scope".to_owned(), scope.ok_or_else(|| InvalidArgument::new("scope", "missing"))?.into());
    if let Some(path) = args.optional_path("path")? {
        asked.insert("path".to_owned(), context.absolute(path).into());
    } else if scope != Some("last") {
        return Err(InvalidArgument::new("path", "missing"));
    }
    Ok(ask(asked))
}
