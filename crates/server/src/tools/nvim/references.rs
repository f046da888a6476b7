//! `references`: who uses a symbol.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "references",
    description: "Find every use of a symbol in the project, callers too: exact, where text search also finds namesakes.",
    schema: || {
        symbol_schema(json!({
            "include_declaration": { "type": "boolean" },
            "cursor": cursor_property(),
        }))
    },
    hints: Hints {
        title: Some("Find references"),
        touches: Some(Touches::Nothing),
        search: Some("usages"),
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
