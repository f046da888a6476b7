//! The tools of one endpoint: which exist, which the user's options show, and which are available now.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use claude_ide_protocol::mcp::{ListToolsResult, ToolDescription};

use super::{Listed, Tool};

/// The tools of an endpoint, in the order in which clients see them.
pub(crate) struct Toolbox {
    tools: Vec<&'static Tool>,
    now: Mutex<Now>,
}

/// The current availability.
struct Now {
    /// The available conditional tools, and the supported LSP methods.
    available: BTreeSet<String>,
    /// The serialised `tools/list`.
    list: Arc<RawValue>,
}

impl Toolbox {
    /// Offers all of these except hidden ones.
    pub(crate) fn new(tools: &[&'static Tool], hidden: &BTreeSet<String>) -> Self {
        let tools: Vec<_> = tools.iter().copied().filter(|tool| !hidden.contains(tool.name)).collect();
        let available = BTreeSet::new();
        let list = listing(&tools, &available);
        Self { tools, now: Mutex::new(Now { available, list }) }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        // It is only replaced whole.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The offered tool with this name, even if it is not listed now: it may become available while a call waits, and
    /// the editor says why it cannot run.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().copied().find(|tool| tool.name == name)
    }

    /// The result of `tools/list`.
    pub(crate) fn list(&self) -> Arc<RawValue> {
        Arc::clone(&self.now().list)
    }

    /// Sets the available conditional tools and the supported LSP methods; returns whether the list changed.
    pub(crate) fn set_available(&self, available: BTreeSet<String>) -> bool {
        let mut now = self.now();
        if now.available == available {
            return false;
        }
        let list = listing(&self.tools, &available);
        let changed = now.list.get() != list.get();
        *now = Now { available, list };
        changed
    }
}

fn listing(tools: &[&'static Tool], available: &BTreeSet<String>) -> Arc<RawValue> {
    let listed = tools.iter().filter(|tool| tool.hints.listed.holds(tool.name, available));
    let list = ListToolsResult { tools: listed.filter_map(|tool| written(tool, available)).collect() };
    to_raw_value(&list).unwrap_or_default().into()
}

/// One tool as JSON. Some clients (the SDKs) refuse the whole list for one invalid schema, so a tool with one is left
/// out and logged.
fn written(tool: &Tool, available: &BTreeSet<String>) -> Option<Box<RawValue>> {
    let described = describe(tool, available);
    if described.input_schema.get("type").and_then(Value::as_str) != Some("object")
        || !described.input_schema.get("properties").is_none_or(Value::is_object)
    {
        tracing::error!(tool = tool.name, "not listed: its schema is no object with properties");
        return None;
    }
    to_raw_value(&described).inspect_err(|error| tracing::error!(tool = tool.name, %error, "not listed")).ok()
}

fn describe(tool: &Tool, available: &BTreeSet<String>) -> ToolDescription {
    let mut input_schema = tool.schema();
    if let Listed::WhenAbleInPart { argument, words } = tool.hints.listed {
        let choices = input_schema.pointer_mut(&format!("/properties/{argument}/enum"));
        if let Some(choices) = choices.and_then(Value::as_array_mut) {
            let cannot = |word: &str| words.contains(&word) && !available.contains(&format!("{}.{word}", tool.name));
            choices.retain(|choice| !choice.as_str().is_some_and(cannot));
        }
    }
    ToolDescription {
        name: tool.name,
        title: tool.hints.title,
        description: tool.description,
        input_schema,
        annotations: tool.hints.annotations(),
        meta: tool.hints.meta(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tools::{Hints, Question, TOOLS, Takes, Work, nvim, testing::has_twin, verbatim};

    fn all() -> Toolbox {
        Toolbox::new(&TOOLS, &BTreeSet::new())
    }

    /// The tools of all endpoints.
    fn every_tool() -> impl Iterator<Item = &'static Tool> {
        TOOLS.into_iter().chain(nvim::TOOLS.iter().copied())
    }

    fn names(toolbox: &Toolbox) -> Vec<String> {
        let list: Value = serde_json::from_str(toolbox.list().get()).unwrap();
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn no_two_tools_of_an_endpoint_share_a_name() {
        for tools in [&TOOLS[..], nvim::TOOLS] {
            let names: BTreeSet<_> = tools.iter().map(|tool| tool.name).collect();
            assert_eq!(names.len(), tools.len());
        }
    }

    #[test]
    fn every_tool_for_agents_has_a_title_and_declares_its_effect() {
        for tool in nvim::TOOLS {
            let hints = tool.hints;
            assert!(hints.title.is_some() && hints.touches.is_some(), "{}", tool.name);
        }
    }

    #[test]
    fn a_tool_is_listed_while_it_can_run() {
        let toolbox = Toolbox::new(nvim::TOOLS, &BTreeSet::from(["references".to_owned()]));
        assert!(!names(&toolbox).contains(&"definition".to_owned()));
        assert!(toolbox.find("definition").is_some(), "it may be called all the same");
        let available = BTreeSet::from(["definition".to_owned(), "references".to_owned()]);
        assert!(toolbox.set_available(available.clone()));
        assert!(names(&toolbox).contains(&"definition".to_owned()));
        assert!(!names(&toolbox).contains(&"references".to_owned()), "it is hidden");
        assert!(!toolbox.set_available(available), "nothing new");
        assert!(!toolbox.set_available(BTreeSet::from(["definition".to_owned()])), "no visible change");
        assert!(toolbox.set_available(BTreeSet::new()));
    }

    #[test]
    fn one_of_its_lsp_methods_lists_a_tool() {
        let toolbox = Toolbox::new(nvim::TOOLS, &BTreeSet::new());
        toolbox.set_available(BTreeSet::from([
            "textDocument/declaration".to_owned(),
            "textDocument/references".to_owned(),
        ]));
        let listed = names(&toolbox);
        for (name, is_listed) in [("definition", true), ("references", true), ("safe_delete", true), ("hover", false)] {
            assert_eq!(listed.contains(&name.to_owned()), is_listed, "{name}");
        }
    }

    #[test]
    fn a_word_of_an_argument_is_listed_while_it_can_be_done() {
        let toolbox = Toolbox::new(nvim::TOOLS, &BTreeSet::new());
        let scopes = |available: &[&str]| {
            toolbox.set_available(available.iter().map(ToString::to_string).collect());
            let list: Value = serde_json::from_str(toolbox.list().get()).unwrap();
            let tools = list["tools"].as_array().unwrap();
            let tool = tools.iter().find(|tool| tool["name"] == "run_test").cloned();
            tool.map(|tool| tool["inputSchema"]["properties"]["scope"]["enum"].clone())
        };
        assert_eq!(scopes(&[]), None);
        assert_eq!(scopes(&["run_test"]), Some(serde_json::json!(["file", "last"])));
        assert_eq!(scopes(&["run_test", "run_test.nearest"]), Some(serde_json::json!(["nearest", "file", "last"])));
    }

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Log {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    /// A tool with an invalid schema.
    fn with_schema(name: &'static str, schema: fn() -> Value) -> &'static Tool {
        let work = Work::Ask("", Takes::Own(schema, |_, _| Ok(Question::new([], verbatim))));
        Box::leak(Box::new(Tool { name, description: "", hints: Hints::NONE, work }))
    }

    #[test]
    fn one_bad_schema_does_not_empty_the_list() {
        let tools = [
            with_schema("good", || serde_json::json!({ "type": "object", "properties": {} })),
            with_schema("null", || Value::Null),
            with_schema("list", || serde_json::json!([{ "type": "object" }])),
            with_schema("text", || serde_json::json!({ "type": "string" })),
            with_schema("odd", || serde_json::json!({ "type": "object", "properties": ["path"] })),
            with_schema("also_good", || serde_json::json!({ "type": "object" })),
        ];
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let toolbox = tracing::subscriber::with_default(subscriber, || Toolbox::new(&tools, &BTreeSet::new()));
        assert_eq!(names(&toolbox), ["good", "also_good"]);
        let said = log.text();
        for bad in ["null", "list", "text", "odd"] {
            assert!(said.contains(&format!("tool=\"{bad}\"")), "{said}");
        }
        assert!(!said.contains("good"), "{said}");
    }

    #[test]
    fn every_tool_has_a_description_for_the_model() {
        for tool in every_tool() {
            assert!(tool.description.len() > 40, "{}", tool.name);
            assert!(tool.description.ends_with('.'), "{}", tool.name);
            assert!(tool.description.len() < 1000, "{}", tool.name);
        }
    }

    #[test]
    fn the_tool_descriptions_for_agents_fit_into_2500_tokens() {
        let available = nvim::TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
        let toolbox = Toolbox::new(nvim::TOOLS, &BTreeSet::new());
        toolbox.set_available(available);
        let tokens = toolbox.list().get().len() / 4;
        assert!(tokens <= 2500, "{tokens}");
    }

    #[test]
    fn every_schema_is_an_object_whose_arguments_have_a_type() {
        for tool in every_tool() {
            let schema = tool.schema();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            let properties = schema["properties"].as_object().unwrap();
            for (name, property) in properties {
                assert!(property["type"].is_string(), "{}.{name}", tool.name);
            }
            for required in schema["required"].as_array().into_iter().flatten() {
                assert!(properties.contains_key(required.as_str().unwrap()), "{}: {required}", tool.name);
            }
        }
    }

    #[test]
    fn every_tool_that_asks_the_editor_has_its_twin_there() {
        for tool in every_tool() {
            if let Work::Ask(call, _) | Work::AskUser(call, _) = tool.work {
                assert!(has_twin(call), "{} asks for {call}, which does not exist", tool.name);
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
        assert!(names.len() == self::names(&all()).len() - 1 && !names.contains(&Value::from("openDiff")), "{names:?}");
    }

    #[test]
    fn code_is_run_only_where_the_editor_can() {
        assert!(!names(&all()).contains(&"executeCode".to_owned()));
    }

    #[test]
    fn the_list_that_clients_see_changes_only_on_purpose() {
        let list = ListToolsResult { tools: TOOLS.into_iter().map(|tool| describe(tool, &BTreeSet::new())).collect() };
        let list = serde_json::to_string_pretty(&list).unwrap() + "\n";
        let all = all();
        all.set_available(TOOLS.into_iter().map(|tool| tool.name.to_owned()).collect());
        assert_eq!(
            serde_json::from_str::<Value>(all.list().get()).unwrap(),
            serde_json::from_str::<Value>(&list).unwrap()
        );
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tools_list.json");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &list).unwrap();
        }
        // Compared as values: the order of keys depends on the features of other crates (`preserve_order` of
        // serde_json).
        let expected: Value = serde_json::from_str(&std::fs::read_to_string(&golden).unwrap()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&list).unwrap(),
            expected,
            "if this change is meant, run the test with BLESS=1"
        );
    }
}
