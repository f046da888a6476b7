//! `call_hierarchy`: who calls a function, or what it calls.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "call_hierarchy",
    description: "Find the functions that call a function (incoming, the default), or those that it calls (outgoing).",
    schema: || {
        symbol_schema(json!({
            "direction": { "type": "string", "enum": DIRECTIONS },
            "cursor": cursor_property(),
        }))
    },
    hints: Hints {
        title: Some("Call hierarchy"),
        touches: Some(Touches::Nothing),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.call_hierarchy", prepare),
};

const DIRECTIONS: &[&str] = &["incoming", "outgoing"];

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    let direction = args.optional_choice("direction", DIRECTIONS)?.unwrap_or("incoming");
    asked.insert("direction".to_owned(), direction.into());
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
