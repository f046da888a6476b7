//! `call_hierarchy`: who calls a function, or what it calls.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "call_hierarchy",
    description: "Find who calls a function (incoming) or what it calls (outgoing), with the language server that runs in the user's editor. Answers by file: the calling or called function and the places of the calls.",
    schema: || {
        symbol_schema(json!({
            "direction": {
                "type": "string",
                "enum": DIRECTIONS,
                "description": "\"incoming\" for who calls it, \"outgoing\" for what it calls; default \"incoming\"",
            },
            "cursor": cursor_property(),
        }))
    },
    hints: Hints {
        title: Some("Call hierarchy"),
        touches: Some(Touches::Nothing),
        search: Some("call hierarchy, callers and callees of a function method"),
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
