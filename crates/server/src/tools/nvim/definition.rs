//! `definition`: where a symbol is defined, declared, or implemented as a type.

use serde_json::{Value, json};

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "definition",
    description: "Find where a symbol is defined, with the language server that runs in the user's editor. Exact where text \
                  search guesses. Pass the file and the symbol's text, and a line it stands in. Answers path:line:column \
                  and the line's text.",
    schema: || {
        symbol_schema(json!({
            "kind": {
                "type": "string",
                "enum": ["definition", "declaration", "type"],
                "description": "\"type\" finds where the symbol's type is defined; default \"definition\"",
            },
            "cursor": cursor_property(),
        }))
    },
    hints: Hints {
        title: Some("Go to definition"),
        touches: Some(Touches::Nothing),
        search: Some("go to definition declaration type of a symbol function class variable, language server"),
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
