//! `replace_symbol_body`: the whole definition of a symbol, replaced.

use serde_json::json;

use super::{ask, symbol_arguments, symbol_schema, writes::required};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "replace_symbol_body",
    description: "Replace the whole definition of a function, method or class without quoting the old one.",
    schema: || {
        required(
            symbol_schema(json!({
                "body": { "type": "string", "description": "All of it, signature included, with its indent" },
            })),
            &["body"],
        )
    },
    hints: Hints {
        title: Some("Replace symbol"),
        touches: Some(Touches::Files),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.replace_symbol_body", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    asked.insert("body".to_owned(), args.text("body")?.into());
    Ok(ask(asked))
}
