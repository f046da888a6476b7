//! `apply_action`: does one of the code actions that were listed.

use serde_json::{Map, json};

use super::ask;
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "apply_action",
    description: "Do one of the actions that code_actions has listed.",
    schema: || schema(json!({ "id": { "type": "string" } }), &["id"]),
    hints: Hints {
        title: Some("Apply code action"),
        touches: Some(Touches::Files),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.apply_action", prepare),
};

fn prepare(mut args: Arguments, _: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    asked.insert("id".to_owned(), args.path("id")?.into());
    Ok(ask(asked))
}
