//! `safe_delete`: removes a symbol that nothing uses.

use serde_json::json;

use super::{ask, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "safe_delete",
    description: "Delete the definition of a symbol if nothing uses it; else the answer lists who does.",
    schema: || symbol_schema(json!({})),
    hints: Hints {
        title: Some("Delete symbol"),
        touches: Some(Touches::Files),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.safe_delete", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    Ok(ask(symbol_arguments(&mut args, context)?))
}
