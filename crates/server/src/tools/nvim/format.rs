//! `format`: formats a file as its language server does.

use serde_json::json;

use super::{ask, path_argument, writes::file_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "format",
    description: "Format a whole file in the project's code style.",
    schema: || file_schema(json!({})),
    hints: Hints {
        title: Some("Format file"),
        touches: Some(Touches::Files),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.format", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    Ok(ask(path_argument(&mut args, context)?))
}
