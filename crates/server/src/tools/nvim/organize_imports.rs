//! `organize_imports`: sorts the imports of a file and drops those that are not used.

use serde_json::json;

use super::{ask, path_argument, writes::file_schema};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "organize_imports",
    description: "Sort the imports of a file and remove unused ones.",
    schema: || file_schema(json!({})),
    hints: Hints {
        title: Some("Organize imports"),
        touches: Some(Touches::Files),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.organize_imports", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    Ok(ask(path_argument(&mut args, context)?))
}
