//! `outline`: the symbols of one file, as a tree.

use serde_json::json;

use super::{ask, cursor_argument, cursor_property, path_argument, path_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "outline",
    description: "List the classes, functions and other symbols of one file as a tree, each with its lines: what is in a file without reading it. Works without a language server too, where the editor can parse the language.",
    schema: || schema(json!({ "path": path_property(), "cursor": cursor_property() }), &["path"]),
    hints: Hints {
        title: Some("Outline of a file"),
        touches: Some(Touches::Nothing),
        search: Some("outline of a file, its symbols classes functions methods, structure, table of contents"),
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
