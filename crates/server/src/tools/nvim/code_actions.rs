//! `code_actions`: what the language server offers to do at a place: quick fixes, refactorings.

use serde_json::json;

use super::{ask, path_argument, writes::file_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "code_actions",
    description: "List the quick fixes and refactorings (add a missing import, extract, inline) offered for lines of a file.",
    schema: || {
        file_schema(json!({
            "line": { "type": "integer" },
            "end_line": { "type": "integer" },
            "symbol": { "type": "string" },
            "kind": { "type": "string", "description": "quickfix, refactor, source, or narrower" },
        }))
    },
    hints: Hints {
        title: Some("Code actions"),
        touches: Some(Touches::Nothing),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.code_actions", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = path_argument(&mut args, context)?;
    for name in ["line", "end_line"] {
        if let Some(line) = args.optional_line(name)? {
            asked.insert(name.to_owned(), line.into());
        }
    }
    for name in ["symbol", "kind"] {
        if let Some(text) = args.optional_path(name)? {
            asked.insert(name.to_owned(), text.into());
        }
    }
    Ok(ask(asked))
}
