//! `implementations`: what implements an interface, or overrides a method.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "implementations",
    description: "Find what implements an interface, trait or abstract method, or overrides a method.",
    schema: || symbol_schema(json!({ "cursor": cursor_property() })),
    hints: Hints {
        title: Some("Find implementations"),
        touches: Some(Touches::Nothing),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.implementations", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
