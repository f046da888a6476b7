//! `open_buffers`: the files that the person has open, and what of them is not saved.

use serde_json::{Map, json};

use super::{ask, cursor_argument, cursor_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "open_buffers",
    description: "List the files that the user has open: which they look at and where, unsaved changes, error counts.",
    schema: || schema(json!({ "cursor": cursor_property() }), &[]),
    hints: Hints {
        title: Some("Open buffers"),
        touches: Some(Touches::Nothing),
        search: Some("tabs"),
        always_load: false,
        listed: Listed::Always,
    },
    work: Work::Ask("nvim.open_buffers", prepare),
};

fn prepare(mut args: Arguments, _: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
