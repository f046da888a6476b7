//! `quickfix`: the quickfix list, or the location list of the window that the person is in.

use serde_json::{Map, json};

use super::{ask, cursor_argument, cursor_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "quickfix",
    description: "Read the user's quickfix or location list: what their last build, tests or grep found.",
    schema: || {
        let list = json!({ "type": "string", "enum": LISTS });
        schema(json!({ "list": list, "cursor": cursor_property() }), &[])
    },
    hints: Hints {
        title: Some("Quickfix list"),
        touches: Some(Touches::Nothing),
        search: None,
        always_load: false,
        listed: Listed::Always,
    },
    work: Work::Ask("nvim.quickfix", prepare),
};

const LISTS: &[&str] = &["quickfix", "location"];

fn prepare(mut args: Arguments, _: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    asked.insert("list".to_owned(), args.optional_choice("list", LISTS)?.unwrap_or("quickfix").into());
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
