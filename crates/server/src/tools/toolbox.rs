//! The tools of one endpoint: which there are, and which of them the user lets clients see.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::value::{RawValue, to_raw_value};

use claude_ide_protocol::mcp::{ListToolsResult, ToolDescription};

use super::Tool;

/// The tools that an endpoint offers, in the order in which clients see them.
pub(crate) struct Toolbox {
    tools: Vec<&'static Tool>,
    /// `tools/list`, written once.
    list: Arc<RawValue>,
}

impl Toolbox {
    /// Offers all of these but those that are hidden.
    pub(crate) fn new(tools: &[&'static Tool], hidden: &BTreeSet<String>) -> Self {
        let tools: Vec<_> = tools.iter().copied().filter(|tool| !hidden.contains(tool.name)).collect();
        // One that could not be written would not empty the list.
        let list =
            ListToolsResult { tools: tools.iter().filter_map(|tool| to_raw_value(&describe(tool)).ok()).collect() };
        Self { tools, list: to_raw_value(&list).unwrap_or_default().into() }
    }

    /// The tool of that name, if it is offered.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().copied().find(|tool| tool.name == name)
    }

    /// `tools/list`, the answer.
    pub(crate) fn list(&self) -> Arc<RawValue> {
        Arc::clone(&self.list)
    }
}

fn describe(tool: &Tool) -> ToolDescription {
    ToolDescription { name: tool.name, description: tool.description, input_schema: (tool.schema)() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::tools::{TOOLS, Work};

    fn all() -> Toolbox {
        Toolbox::new(&TOOLS, &BTreeSet::new())
    }

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
            if let Work::Ask(call, _) | Work::AskPerson(call, _) | Work::AskOrRecall(call, _) = tool.work {
                assert!(twin(call).is_file(), "{} asks for {call}, which does not exist", tool.name);
            }
        }
    }

    #[test]
    fn a_hidden_tool_is_neither_listed_nor_found() {
        let toolbox = Toolbox::new(&TOOLS, &BTreeSet::from(["openDiff".to_owned()]));
        assert!(all().find("openDiff").is_some());
        assert!(toolbox.find("openDiff").is_none());
        let list: Value = serde_json::from_str(toolbox.list().get()).unwrap();
        let names: Vec<_> = list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert!(names.len() == TOOLS.len() - 1 && !names.contains(&Value::from("openDiff")), "{names:?}");
    }

    #[test]
    fn execute_code_is_not_offered() {
        assert!(all().find("executeCode").is_none());
    }

    #[test]
    fn the_list_that_clients_see_changes_only_on_purpose() {
        let list = ListToolsResult { tools: TOOLS.into_iter().map(describe).collect() };
        let list = serde_json::to_string_pretty(&list).unwrap() + "\n";
        assert_eq!(
            serde_json::from_str::<Value>(all().list().get()).unwrap(),
            serde_json::from_str::<Value>(&list).unwrap()
        );
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tools_list.json");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &list).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(list, expected, "if this change is meant, run the test with BLESS=1");
    }
}
