//! `hover`: what a language server says of a symbol: its type, its documentation.

use serde_json::json;

use super::{ask, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "hover",
    description: "Get the type, signature and documentation of a symbol without reading its file.",
    schema: || symbol_schema(json!({})),
    hints: Hints {
        title: Some("Type and documentation"),
        touches: Some(Touches::Nothing),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.hover", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    Ok(ask(symbol_arguments(&mut args, context)?))
}
