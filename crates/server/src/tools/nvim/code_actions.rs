//! `code_actions`: what the language server offers to do at a place: quick fixes, refactorings.

use serde_json::json;

use super::{ask, path_argument, writes::file_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "code_actions",
    description: "List what the language server of the user's editor offers to do in some lines of a file: quick fixes \
                  for diagnostics (add a missing import, implement members), refactorings (extract, inline, move). \
                  Changes nothing; apply_action does one of them by its id.",
    schema: || {
        file_schema(json!({
            "line": { "type": "integer", "minimum": 1, "description": "The first line, counted from 1" },
            "end_line": { "type": "integer", "minimum": 1, "description": "The last line; default: the same" },
            "symbol": { "type": "string", "description": "A text in the line to be at, e.g. a function's name" },
            "kind": { "type": "string", "description": "Only this kind: \"quickfix\", \"refactor\", \"source\", or a narrower one" },
        }))
    },
    hints: Hints {
        title: Some("Code actions"),
        touches: Some(Touches::Nothing),
        search: Some("quick fix refactor extract inline add missing import code action, language server"),
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
