//! The tools for clients, one row each: those of the IDE's endpoint in `ide.rs`, those of agents in
//! `nvim.rs`, those of companions in `companion.rs`, those of our mod in `mods.rs`.
//!
//! A tool declares its arguments as [`fields`], which give the schema and the validation. It either answers at once
//! from the server's state, or calls the editor (`lua/claude-ide/tools/init.lua` maps calls to modules) and converts
//! the reply.

mod arguments;
pub(crate) mod blocks;
pub(crate) mod companion;
mod context;
mod fields;
mod hints;
mod ide;
pub(crate) mod mods;
pub(crate) mod nvim;
mod open_diff;
mod open_file;
mod reply;
mod tool;
mod toolbox;

pub(crate) use arguments::{Arguments, InvalidArgument};
pub(crate) use context::Context;
pub(crate) use fields::{Field, Kind};
pub(crate) use hints::{Hints, Listed, Touches};
pub(crate) use ide::TOOLS;
pub(crate) use reply::{UnexpectedReply, parse as parse_reply};
pub(crate) use tool::{Question, Takes, Tool, Work, verbatim};
pub(crate) use toolbox::Toolbox;

#[cfg(test)]
pub(crate) mod testing {
    //! Runs one tool without a server.

    use std::path::Path;

    use claude_ide_protocol::mcp::CallToolResult;
    use serde_json::{Value, value::RawValue};

    use super::*;
    use crate::{last_selection::Selections, options::Workspace};

    /// Validates `args` like the tool and returns its call of the editor.
    pub(crate) fn ask(tool: &Tool, args: &Value) -> Result<Question, String> {
        let (Work::Ask(_, takes) | Work::AskUser(_, takes)) = &tool.work else {
            panic!("{} does not ask the editor", tool.name)
        };
        with(args, |args, context| takes.question(args, context)).map_err(|error| error.to_string())
    }

    /// Whether Lua serves calls with this name: a module has it, and `lua/claude-ide/tools/init.lua` maps it.
    pub(crate) fn has_twin(call: &str) -> bool {
        let name = call.rsplit('.').next().unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lua/claude-ide/tools");
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        let is_listed =
            text(&folder.join("init.lua")).split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        let definition = format!("\nM.{name} = ");
        let mut modules = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        is_listed && modules.any(|module| text(&module).contains(&definition))
    }

    /// The texts of the tool's answer for an editor's reply.
    pub(crate) fn answer(tool: &Tool, args: &Value, reply: &Value) -> Vec<String> {
        texts(&shaped(tool, args, reply).unwrap())
    }

    pub(crate) fn shaped(tool: &Tool, args: &Value, reply: &Value) -> Result<CallToolResult, UnexpectedReply> {
        let reply = RawValue::from_string(reply.to_string()).unwrap();
        (ask(tool, args).unwrap().shape)(reply)
    }

    pub(crate) fn texts(result: &CallToolResult) -> Vec<String> {
        let json = serde_json::to_value(result).unwrap();
        let items = json["content"].as_array().unwrap().iter();
        items.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    fn with<T>(args: &Value, run: impl Fn(Arguments, &Context<'_>) -> T) -> T {
        let raw = RawValue::from_string(args.to_string()).unwrap();
        let workspace = Workspace { folders: vec!["/project".into()], ide_name: "Editor".to_owned(), announced: None };
        let context = Context { workspace: &workspace, selections: &Selections::default(), mapped: false, root: None };
        run(Arguments::parse("arguments", Some(&raw)).unwrap(), &context)
    }
}
