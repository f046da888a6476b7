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
        "path": path_property(),
        "symbol": { "type": "string" },
        "line": { "type": "integer" },
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
    json!({ "type": "string" })
}

/// The file that a tool is about; and a line of it, where the path names one.
pub(crate) fn path_argument(
    args: &mut Arguments,
    context: &Context<'_>,
) -> Result<Map<String, Value>, InvalidArgument> {
    let (path, line) = context.place(args.path("path")?);
    let mut asked = Map::from_iter([("path".to_owned(), path.into())]);
    asked.extend(line.map(|line| ("line".to_owned(), line.into())));
    Ok(asked)
}

/// What is asked for the rest of a long answer: a property of the schema.
pub(crate) fn cursor_property() -> Value {
    json!({ "type": "string" })
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
    fn a_path_may_be_a_uri_or_name_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b.rs");
        std::fs::write(&file, "").unwrap();
        let path = file.to_str().unwrap();
        let asked = |path: &str, line: Value| {
            let question = ask(&definition::TOOL, &json!({ "path": path, "symbol": "run", "line": line })).unwrap();
            (question.args["path"].as_str().unwrap().to_owned(), question.args.get("line").and_then(Value::as_u64))
        };
        let place = |line| (path.to_owned(), line);
        assert_eq!(asked(&format!("file://{}", path.replace(' ', "%20")), Value::Null), place(None));
        assert_eq!(asked(&format!("{path}:12"), Value::Null), place(Some(12)));
        assert_eq!(asked(&format!("{path}:12:4"), Value::Null), place(Some(12)));
        assert_eq!(asked(&format!("{path}:12"), json!(3)), place(Some(3)), "what is said of its own counts");
        let odd = format!("{path}:7");
        std::fs::write(&odd, "").unwrap();
        assert_eq!(asked(&odd, Value::Null), (odd, None), "a file that is called so");
        assert_eq!(asked("/none.rs:7", Value::Null), ("/none.rs:7".to_owned(), None));
    }

    #[test]
    fn every_string_is_bounded() {
        let long = "x".repeat(40_000);
        for tool in TOOLS {
            let schema = (tool.schema)();
            let properties = schema["properties"].as_object().unwrap();
            for (name, _) in properties.iter().filter(|(_, property)| property["type"] == "string") {
                let mut args = json!({ "path": "a.rs", "symbol": "run", "new_name": "x", "query": "x", "id": "1", "text": "", "body": "", "index": 0, "scope": "file", "line": 1 });
                let text = if ["text", "body"].contains(&name.as_str()) { "x".repeat(2_000_000) } else { long.clone() };
                args[name] = Value::from(text);
                let problem = ask(tool, &args).err().unwrap_or_else(|| panic!("{}.{name}", tool.name));
                assert!(problem.len() < 300, "{}.{name}: {problem}", tool.name);
            }
        }
    }

    #[test]
    fn the_editors_words_are_the_answer() {
        let args = json!({ "path": "a.rs", "symbol": "run" });
        assert_eq!(answer(&definition::TOOL, &args, &json!({ "text": "found" })), ["found"]);
    }
}
