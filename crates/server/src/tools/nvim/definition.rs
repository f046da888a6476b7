//! `definition`: where a symbol is defined, declared, or implemented as a type.

use serde_json::{Value, json};

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "definition",
    description: "Find where a symbol is defined or declared, or where its type is: exact, where text search guesses.",
    schema: || {
        symbol_schema(json!({
            "kind": { "type": "string", "enum": ["definition", "declaration", "type"] },
            "cursor": cursor_property(),
        }))
    },
    hints: Hints {
        title: Some("Go to definition"),
        touches: Some(Touches::Nothing),
        search: None,
        always_load: true,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.definition", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    if let Some(kind) = args.optional_choice("kind", &["definition", "declaration", "type"])? {
        asked.insert("kind".to_owned(), Value::from(kind));
    }
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
