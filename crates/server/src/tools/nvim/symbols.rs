//! `symbols`: symbols of the whole project, by name.

use serde_json::{Map, json};

use claude_ide_protocol::SYMBOL_KINDS;

use super::{ask, cursor_argument, cursor_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "symbols",
    description: "Find classes, functions, methods, variables of the whole project by name, if only in part.",
    schema: || {
        let properties = json!({
            "query": { "type": "string" },
            "kind": { "type": "string", "description": "Only these, e.g. class" },
            "path": { "type": "string", "description": "Only below this folder or in this file" },
            "cursor": cursor_property(),
        });
        schema(properties, &["query"])
    },
    hints: Hints {
        title: Some("Search symbols"),
        touches: Some(Touches::Nothing),
        search: None,
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
