//! `notebook_cells`: the cells of a Jupyter notebook.

use serde_json::{Map, json};

use super::{ask, cursor_argument, cursor_property, path_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "notebook_cells",
    description: "List the cells of a Jupyter notebook (.ipynb): index, type and source.",
    schema: || schema(json!({ "path": path_property(), "cursor": cursor_property() }), &["path"]),
    hints: Hints {
        title: Some("Cells of a notebook"),
        touches: Some(Touches::Nothing),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.notebook_cells", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    asked.insert("path".to_owned(), context.absolute(args.path("path")?).into());
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
