//! The tools of the agents' endpoint: what a model may ask of the editor and its language servers. One file a tool.
//!
//! What needs a language server is listed while one can do it. Each answers one text, made by the editor: see [`said`].

mod apply_action;
mod call_hierarchy;
mod code_actions;
mod definition;
mod diagnostics;
mod format;
mod hover;
mod implementations;
mod insert_after_symbol;
mod insert_before_symbol;
mod notebook_cells;
mod open_buffers;
mod organize_imports;
mod outline;
mod quickfix;
mod references;
mod rename;
mod replace_symbol_body;
mod run_cell;
mod run_test;
mod safe_delete;
mod symbols;
mod type_hierarchy;
mod writes;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use claude_ide_protocol::mcp::CallToolResult;

use super::{Arguments, Context, InvalidArgument, Question, Tool, UnexpectedReply, parse_reply, schema};

/// The tools of the agents' endpoint, in the order in which clients see them.
pub(crate) const TOOLS: &[&Tool] = &[
    &definition::TOOL,
    &references::TOOL,
    &symbols::TOOL,
    &outline::TOOL,
    &hover::TOOL,
    &implementations::TOOL,
    &call_hierarchy::TOOL,
    &type_hierarchy::TOOL,
    &diagnostics::TOOL,
    &open_buffers::TOOL,
    &quickfix::TOOL,
    &notebook_cells::TOOL,
    &run_cell::TOOL,
    &rename::TOOL,
    &code_actions::TOOL,
    &apply_action::TOOL,
    &organize_imports::TOOL,
    &format::TOOL,
    &replace_symbol_body::TOOL,
    &insert_before_symbol::TOOL,
    &insert_after_symbol::TOOL,
    &safe_delete::TOOL,
    &run_test::TOOL,
];

/// What the editor replies to a call of these tools.
#[derive(Deserialize)]
struct Said {
    text: String,
}

/// The answer of a tool whose words are the editor's.
pub(crate) fn said(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    let Said { text } = parse_reply(&reply)?;
    Ok(CallToolResult::text(text))
}

/// A question of these arguments whose answer is what the editor says.
pub(crate) fn ask(args: Map<String, Value>) -> Question {
    Question { args, shape: Box::new(said) }
}

/// The schema of a tool that is about a symbol in a file, with what else it takes.
pub(crate) fn symbol_schema(more: Value) -> Value {
    let mut properties = json!({
        "path": {
            "type": "string",
            "description": "The file the symbol stands in, absolute or relative to the workspace",
        },
        "symbol": {
            "type": "string",
            "description": "The symbol's text as it stands in the file, e.g. \"parse\" or \"Parser.parse\"",
        },
        "line": {
            "type": "integer",
            "minimum": 1,
            "description": "A line the symbol stands in, counted from 1; without it the first place in the file counts",
        },
    });
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
    }
    schema(properties, &["path", "symbol"])
}

/// Path, symbol and line, as [`symbol_schema`] has them.
pub(crate) fn symbol_arguments(
    args: &mut Arguments,
    context: &Context<'_>,
) -> Result<Map<String, Value>, InvalidArgument> {
    let mut asked = path_argument(args, context)?;
    asked.insert("symbol".to_owned(), args.path("symbol")?.into());
    if let Some(line) = args.optional_line("line")? {
        asked.insert("line".to_owned(), line.into());
    }
    Ok(asked)
}

/// The file that a tool is about: a property of the schema.
pub(crate) fn path_property() -> Value {
    json!({ "type": "string", "description": "The file, absolute or relative to the workspace" })
}

/// The file that a tool is about.
pub(crate) fn path_argument(
    args: &mut Arguments,
    context: &Context<'_>,
) -> Result<Map<String, Value>, InvalidArgument> {
    let mut asked = Map::new();
    asked.insert("path".to_owned(), context.absolute(args.path("path")?).into());
    Ok(asked)
}

/// What is asked for the rest of a long answer: a property of the schema.
pub(crate) fn cursor_property() -> Value {
    json!({ "type": "string", "description": "From the end of an answer that was cut: continues there" })
}

/// Adds the `cursor` of the call, where it has one.
pub(crate) fn cursor_argument(args: &mut Arguments, asked: &mut Map<String, Value>) -> Result<(), InvalidArgument> {
    if let Some(cursor) = args.optional_path("cursor")? {
        asked.insert("cursor".to_owned(), cursor.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{answer, ask};

    #[test]
    fn a_symbol_is_addressed_by_path_text_and_line() {
        let asked = ask(&definition::TOOL, &json!({ "path": "a.rs", "symbol": "run", "line": 3, "other": 1 })).unwrap();
        assert_eq!(Value::from(asked.args), json!({ "path": "/project/a.rs", "symbol": "run", "line": 3 }));
        let wrong = ask(&definition::TOOL, &json!({ "path": "a.rs", "symbol": "run", "line": 0 })).err().unwrap();
        assert_eq!(wrong, r#"invalid argument "line": expected a line number from 1, got the number 0"#);
        assert!(ask(&definition::TOOL, &json!({ "path": "a.rs", "symbol": "" })).is_err());
    }

    #[test]
    fn the_editors_words_are_the_answer() {
        let args = json!({ "path": "a.rs", "symbol": "run" });
        assert_eq!(answer(&definition::TOOL, &args, &json!({ "text": "found" })), ["found"]);
    }
}
