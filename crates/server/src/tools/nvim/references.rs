//! `references`: who uses a symbol.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "references",
    description: "Find every use of a symbol in the project, with the language server that runs in the user's editor: exact, where text search also finds other things of that name. Answers by file: line:column and the line's text, a page at a time.",
    schema: || {
        symbol_schema(json!({
            "include_declaration": {
                "type": "boolean",
                "description": "Whether the declaration itself counts too; default true",
            },
            "cursor": cursor_property(),
        }))
    },
    hints: Hints {
        title: Some("Find references"),
        touches: Some(Touches::Nothing),
        search: Some("find references usages callers uses of a symbol function class variable across the project"),
        always_load: true,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.references", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    asked.insert("includeDeclaration".to_owned(), args.flag("include_declaration", true)?.into());
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
