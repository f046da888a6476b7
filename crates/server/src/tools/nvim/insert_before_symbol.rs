//! `insert_before_symbol`: text put before the definition of a symbol.

use serde_json::json;

use super::{ask, symbol_arguments, symbol_schema, writes::required};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "insert_before_symbol",
    description: "Insert lines before the definition of a symbol and its decorators.",
    schema: || {
        required(
            symbol_schema(json!({
                "text": { "type": "string", "description": "Lines with their indent" },
            })),
            &["text"],
        )
    },
    hints: Hints {
        title: Some("Insert before symbol"),
        touches: Some(Touches::Files),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.insert_before_symbol", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    asked.insert("text".to_owned(), args.text("text")?.into());
    Ok(ask(asked))
}
