//! The tools that clients may call: one file a tool, all of them in [`TOOLS`].
//!
//! A tool checks its arguments and either answers at once from what the server knows, or asks the editor and shapes its
//! reply. The schema stands beside that code and nowhere else. To add one: a file here, a line in [`TOOLS`], and, if it
//! asks the editor, its twin `lua/claude-ide/tools/<call>.lua`.

mod arguments;
mod check_document_dirty;
mod close_all_diff_tabs;
mod close_tab;
mod get_all_opened_file_paths;
mod get_current_selection;
mod get_diagnostics;
mod get_latest_selection;
mod get_open_editors;
mod get_workspace_folders;
mod open_diff;
mod open_file;
mod open_files;
mod reformat_file;
mod reply;
mod save_document;

use std::{collections::BTreeSet, path::Path};

use serde_json::{Map, Value, json, value::RawValue};

use claude_ide_protocol::mcp::{CallToolResult, ListToolsResult, ToolDescription};

pub(crate) use arguments::{Arguments, InvalidArgument};
pub(crate) use reply::{LenientList, UnexpectedReply, parse as parse_reply};

use crate::{options::Workspace, selection::Selections};

/// Every tool, in the order in which clients see them.
pub(crate) const TOOLS: [&Tool; 14] = [
    &open_file::TOOL,
    &open_files::TOOL,
    &open_diff::TOOL,
    &close_tab::TOOL,
    &close_all_diff_tabs::TOOL,
    &get_current_selection::TOOL,
    &get_latest_selection::TOOL,
    &get_open_editors::TOOL,
    &get_all_opened_file_paths::TOOL,
    &get_workspace_folders::TOOL,
    &get_diagnostics::TOOL,
    &check_document_dirty::TOOL,
    &save_document::TOOL,
    &reformat_file::TOOL,
];

/// One tool.
pub(crate) struct Tool {
    /// What clients call.
    pub(crate) name: &'static str,
    /// For a model: what it does, when to use it, what it answers.
    pub(crate) description: &'static str,
    /// JSON Schema of the arguments.
    pub(crate) schema: fn() -> Value,
    /// How it is served.
    pub(crate) work: Work,
}

/// How a tool is served.
pub(crate) enum Work {
    /// From what the server knows.
    Answer(fn(Arguments, &Context<'_>) -> Result<CallToolResult, InvalidArgument>),
    /// By the editor: the call's name, and what to ask.
    Ask(&'static str, fn(Arguments, &Context<'_>) -> Result<Question, InvalidArgument>),
}

/// What to ask the editor.
pub(crate) struct Question {
    /// The arguments of the call, complete.
    pub(crate) args: Map<String, Value>,
    /// Turns its reply into the answer of the tool.
    pub(crate) shape: Shape,
}

/// Turns the editor's reply into the answer of a tool.
pub(crate) type Shape = Box<dyn FnOnce(Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> + Send>;

impl Question {
    pub(crate) fn new<const N: usize>(
        args: [(&str, Value); N],
        shape: impl FnOnce(Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> + Send + 'static,
    ) -> Self {
        let mut fields = Map::new();
        for (name, value) in args {
            fields.insert(name.to_owned(), value);
        }
        Self { args: fields, shape: Box::new(shape) }
    }
}

/// What the server knows without asking.
pub(crate) struct Context<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) selections: &'a Selections,
}

impl Context<'_> {
    /// A path of a client: absolute as it is, else below the first folder of the workspace.
    pub(crate) fn absolute(&self, path: String) -> String {
        if Path::new(&path).is_absolute() {
            return path;
        }
        match self.workspace.folders.first() {
            Some(folder) => folder.join(path).to_string_lossy().into_owned(),
            None => path,
        }
    }
}

/// The tool of that name, unless it is hidden.
pub(crate) fn find(name: &str, hidden: &BTreeSet<String>) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name && !hidden.contains(name))
}

/// `tools/list`.
pub(crate) fn list(hidden: &BTreeSet<String>) -> ListToolsResult {
    let tools = TOOLS.into_iter().filter(|tool| !hidden.contains(tool.name));
    let describe =
        |tool: &Tool| ToolDescription { name: tool.name, description: tool.description, input_schema: (tool.schema)() };
    ListToolsResult { tools: tools.map(describe).collect() }
}

/// The schema of a tool: its properties, and the names of the required ones.
fn schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The schema of a tool without arguments.
fn no_arguments() -> Value {
    schema(json!({}), &[])
}

/// A tool's answer that is the editor's reply as it is: JSON, as text.
fn verbatim(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    Ok(CallToolResult::text(String::from(Box::<str>::from(reply))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin(call: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../lua/claude-ide/tools/{call}.lua"))
    }

    #[test]
    fn no_two_tools_share_a_name() {
        let names: BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
    }

    #[test]
    fn every_tool_tells_a_model_what_it_is_for() {
        for tool in TOOLS {
            assert!(tool.description.len() > 40, "{}", tool.name);
            assert!(tool.description.ends_with('.'), "{}", tool.name);
            assert!(tool.description.len() < 1000, "{}", tool.name);
        }
    }

    #[test]
    fn every_schema_is_an_object_whose_arguments_are_described() {
        for tool in TOOLS {
            let schema = (tool.schema)();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            let properties = schema["properties"].as_object().unwrap();
            for (name, property) in properties {
                assert!(property["type"].is_string(), "{}.{name}", tool.name);
                assert!(property["description"].as_str().is_some_and(|text| text.len() > 10), "{}.{name}", tool.name);
            }
            for required in schema["required"].as_array().unwrap() {
                assert!(properties.contains_key(required.as_str().unwrap()), "{}: {required}", tool.name);
            }
        }
    }

    #[test]
    fn every_tool_that_asks_the_editor_has_its_twin_there() {
        for tool in TOOLS {
            if let Work::Ask(call, _) = tool.work {
                assert!(twin(call).is_file(), "{} asks for {call}, which does not exist", tool.name);
            }
        }
    }

    #[test]
    fn a_hidden_tool_is_neither_listed_nor_found() {
        let hidden = BTreeSet::from(["openDiff".to_owned()]);
        assert!(find("openDiff", &BTreeSet::new()).is_some());
        assert!(find("openDiff", &hidden).is_none());
        assert!(list(&hidden).tools.iter().all(|tool| tool.name != "openDiff"));
        assert_eq!(list(&hidden).tools.len(), TOOLS.len() - 1);
    }

    #[test]
    fn execute_code_is_not_offered() {
        assert!(find("executeCode", &BTreeSet::new()).is_none());
    }

    #[test]
    fn the_list_that_clients_see_changes_only_on_purpose() {
        let list = serde_json::to_string_pretty(&list(&BTreeSet::new())).unwrap() + "\n";
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tools_list.json");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &list).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(list, expected, "if this change is meant, run the test with BLESS=1");
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Runs one tool without a server.

    use super::*;

    /// Checks `args` as the tool does and returns what it would ask the editor.
    pub(crate) fn ask(tool: &Tool, args: &Value) -> Result<Question, String> {
        let Work::Ask(_, prepare) = tool.work else { panic!("{} does not ask the editor", tool.name) };
        with(args, prepare).map_err(|error| error.to_string())
    }

    /// The texts of the tool's answer when the editor replies with `reply`.
    pub(crate) fn answer(tool: &Tool, args: &Value, reply: &Value) -> Vec<String> {
        texts(&shaped(tool, args, reply).unwrap())
    }

    pub(crate) fn shaped(tool: &Tool, args: &Value, reply: &Value) -> Result<CallToolResult, UnexpectedReply> {
        (ask(tool, args).unwrap().shape)(RawValue::from_string(reply.to_string()).unwrap())
    }

    pub(crate) fn texts(result: &CallToolResult) -> Vec<String> {
        let json = serde_json::to_value(result).unwrap();
        let items = json["content"].as_array().unwrap().iter();
        items.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    fn with<T>(args: &Value, run: impl Fn(Arguments, &Context<'_>) -> T) -> T {
        let raw = RawValue::from_string(args.to_string()).unwrap();
        let workspace = Workspace { folders: vec!["/project".into()], ide_name: "Editor".to_owned() };
        let context = Context { workspace: &workspace, selections: &Selections::default() };
        run(Arguments::parse("arguments", Some(&raw)).unwrap(), &context)
    }
}
