//! `diagnostics`: what is wrong in a file, or anywhere.

use serde_json::{Map, json};

use super::{ask, cursor_argument, cursor_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "diagnostics",
    description: "Get errors and warnings of one file, or of all files that the editor knows, from the language servers and linters that run in the user's editor. For one file it waits until they have judged its present text, so it can be asked right after an edit.",
    schema: || {
        let properties = json!({
            "path": {
                "type": "string",
                "description": "The file, absolute or relative to the workspace; leave it out for all files",
            },
            "severity": {
                "type": "string",
                "enum": SEVERITIES,
                "description": "The least that counts: \"error\" for errors alone; default \"hint\" for all",
            },
            "cursor": cursor_property(),
        });
        schema(properties, &[])
    },
    hints: Hints {
        title: Some("Diagnostics"),
        touches: Some(Touches::Nothing),
        search: Some(
            "diagnostics errors warnings problems of a file or the workspace, lint, type check, compile errors",
        ),
        always_load: false,
        listed: Listed::Always,
    },
    work: Work::Ask("nvim.diagnostics", prepare),
};

const SEVERITIES: &[&str] = &["error", "warning", "info", "hint"];

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    if let Some(path) = args.optional_path("path")? {
        asked.insert("path".to_owned(), context.absolute(path).into());
    }
    let severity = args.optional_choice("severity", SEVERITIES)?.unwrap_or("hint");
    asked.insert("severity".to_owned(), severity.into());
    cursor_argument(&mut args, &mut asked)?;
    Ok(ask(asked))
}
