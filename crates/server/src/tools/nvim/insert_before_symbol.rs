//! `insert_before_symbol`: text put before the definition of a symbol.

use serde_json::json;

use super::{ask, symbol_arguments, symbol_schema, writes::required};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "insert_before_symbol",
    description: "Insert lines right before the definition of a symbol (and its decorators): another function, a \
                  class, a comment. The user may review it and drop parts: the answer says what was written, what was \
                  not and why, and the diagnostics afterwards.",
    schema: || {
        required(
            symbol_schema(json!({
                "text": { "type": "string", "description": "The lines to insert, indented as they are to stand; end with an empty line where one is to separate them" },
            })),
            &["text"],
        )
    },
    hints: Hints {
        title: Some("Insert before symbol"),
        touches: Some(Touches::Files),
        search: Some("insert code add function before a symbol by name, edit symbol"),
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.insert_before_symbol", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    asked.insert("text".to_owned(), args.string("text")?.into());
    Ok(ask(asked))
}
