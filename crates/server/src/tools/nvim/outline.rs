//! `outline`: the symbols of one file, as a tree.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, path_argument, path_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "outline",
    description: "List the classes, functions and methods of one file as a tree with their lines, without reading it.",
    schema: || schema(json!({ "path": path_property(), "cursor": cursor_property() }), &["path"]),
    hints: Hints {
        title: Some("Outline of a file"),
        touches: Some(Touches::Nothing),
        search: Some("structure"),
        always_load: false,
        listed: Listed::Always,
    },
    work: Work::Ask("nvim.outline", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = path_argument(&mut args, context)?;
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
