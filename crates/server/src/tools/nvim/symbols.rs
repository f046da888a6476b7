//! `symbols`: symbols of the whole project, by name.

use serde_json::{Map, json};

use claude_ide_protocol::SYMBOL_KINDS;

use super::{ask, cursor_argument, cursor_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "symbols",
    description: "Find classes, functions, methods, variables of the whole project by name, with the language servers that run in the user's editor. Use it to find where something is when you know what it is called, if only in part.",
    schema: || {
        let properties = json!({
            "query": { "type": "string", "description": "The name, or a part of it; servers match loosely" },
            "kind": { "type": "string", "enum": SYMBOL_KINDS, "description": "Only symbols of this kind" },
            "path": {
                "type": "string",
                "description": "Only symbols below this folder or in this file; it also says which language is meant",
            },
            "cursor": cursor_property(),
        });
        schema(properties, &["query"])
    },
    hints: Hints {
        title: Some("Search symbols"),
        touches: Some(Touches::Nothing),
        search: Some("find a symbol class function method by name in the whole project workspace"),
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.symbols", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    asked.insert("query".to_owned(), args.path("query")?.into());
    if let Some(kind) = args.optional_choice("kind", &SYMBOL_KINDS)? {
        asked.insert("kind".to_owned(), kind.into());
    }
    if let Some(path) = args.optional_path("path")? {
        asked.insert("path".to_owned(), context.absolute(path).into());
    }
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
