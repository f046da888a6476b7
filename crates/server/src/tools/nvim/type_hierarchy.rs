//! `type_hierarchy`: what a type extends, or what extends it.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, symbol_arguments, symbol_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "type_hierarchy",
    description: "Find the subtypes (the default) or supertypes of a class or interface.",
    schema: || {
        symbol_schema(json!({
            "direction": { "type": "string", "enum": DIRECTIONS },
            "cursor": cursor_property(),
        }))
    },
    hints: Hints {
        title: Some("Type hierarchy"),
        touches: Some(Touches::Nothing),
        search: Some("inheritance"),
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.type_hierarchy", prepare),
};

const DIRECTIONS: &[&str] = &["supertypes", "subtypes"];

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    let direction = args.optional_choice("direction", DIRECTIONS)?.unwrap_or("subtypes");
    asked.insert("direction".to_owned(), direction.into());
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
