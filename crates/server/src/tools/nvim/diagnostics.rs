//! `diagnostics`: what is wrong in a file, or anywhere.

use serde_json::{Map, json};

use super::{ask, cursor_argument, cursor_property, path_argument, path_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "diagnostics",
    description: "Get the errors and warnings of one file, or of all known; right after an edit it waits for the new ones.",
    schema: || {
        let properties = json!({
            "path": path_property(),
            "severity": { "type": "string", "enum": SEVERITIES, "description": "The least" },
            "cursor": cursor_property(),
        });
        schema(properties, &[])
    },
    hints: Hints {
        title: Some("Diagnostics"),
        touches: Some(Touches::Nothing),
        search: Some("lint problems"),
        always_load: false,
        listed: Listed::Always,
    },
    work: Work::Ask("nvim.diagnostics", prepare),
};

const SEVERITIES: &[&str] = &["error", "warning", "info", "hint"];

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = if args.has("path") { path_argument(&mut args, context)? } else { Map::new() };
    let severity = args.optional_choice("severity", SEVERITIES)?.unwrap_or("hint");
    asked.insert("severity".to_owned(), severity.into());
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
