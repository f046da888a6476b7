//! `replace_symbol_body`: the whole definition of a symbol, replaced.

use serde_json::json;

use super::{ask, symbol_arguments, symbol_schema, writes::required};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "replace_symbol_body",
    description: "Replace the whole definition of a function, method or class (from its first line to its last, \
                  signature included) without quoting the old one. The user may review it and drop parts: the answer \
                  says what was written, what was not and why, and the diagnostics afterwards.",
    schema: || {
        required(
            symbol_schema(json!({
                "body": { "type": "string", "description": "The new definition, complete: signature and body, indented as it is to stand" },
            })),
            &["body"],
        )
    },
    hints: Hints {
        title: Some("Replace symbol"),
        touches: Some(Touches::Files),
        search: Some("replace function method class body definition by name, edit symbol"),
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.replace_symbol_body", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    asked.insert("body".to_owned(), args.string("body")?.into());
    Ok(ask(asked))
}
