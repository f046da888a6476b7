//! The tools for clients, one row each: those of the IDE's endpoint in `ide.rs`, those of agents in
//! `nvim.rs`, those of companions in `companion.rs`.
//!
//! A tool declares its arguments as [`fields`], which give the schema and the validation. It either answers at once
//! from the server's state, or calls the editor (`lua/claude-ide/tools/init.lua` maps calls to modules) and converts
//! the reply.

mod arguments;
pub(crate) mod blocks;
pub(crate) mod companion;
mod fields;
mod hints;
mod ide;
pub(crate) mod nvim;
mod open_diff;
mod open_file;
mod reply;
mod toolbox;

use std::path::Path;

use serde_json::{Map, Value, json, value::RawValue};

use claude_ide_protocol::mcp::CallToolResult;

pub(crate) use arguments::{Arguments, InvalidArgument};
pub(crate) use fields::{Field, Kind};
pub(crate) use hints::{Hints, Listed, Touches};
pub(crate) use ide::TOOLS;
pub(crate) use reply::{UnexpectedReply, parse as parse_reply};
pub(crate) use toolbox::Toolbox;

use crate::{last_selection::Selections, options::Workspace};

pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: &'static str,
    /// For a model: its purpose, when to use it, its answer.
    pub(crate) description: &'static str,
    /// Further properties.
    pub(crate) hints: Hints,
    /// How it is served.
    pub(crate) work: Work,
}

/// How a tool is served.
pub(crate) enum Work {
    /// From the server's state, ignoring arguments.
    Answer(fn(&Context<'_>) -> CallToolResult),
    /// By the editor: the call's name, and its arguments.
    Ask(&'static str, Takes),
    /// By the editor after the user's answer, which may take forever; nothing waits behind it.
    AskUser(&'static str, Takes),
}

/// A tool's arguments, and the conversion of the editor's reply.
pub(crate) enum Takes {
    /// The editor is called with these arguments.
    Fields(&'static [Field], fn(Box<RawValue>) -> Result<CallToolResult, UnexpectedReply>),
    /// With its own schema and validation.
    Own(fn() -> Value, fn(Arguments, &Context<'_>) -> Result<Question, InvalidArgument>),
}

impl Takes {
    /// The editor's call for a client's arguments.
    pub(crate) fn question(&self, args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
        match *self {
            Self::Fields(fields, shape) => {
                Ok(Question { args: fields::check(fields, args, context)?, shape: Box::new(shape) })
            }
            Self::Own(_, prepare) => prepare(args, context),
        }
    }
}

impl Tool {
    /// The JSON Schema of the arguments.
    pub(crate) fn schema(&self) -> Value {
        match self.work {
            Work::Answer(_) => fields::schema(&[]),
            Work::Ask(_, Takes::Fields(fields, _)) | Work::AskUser(_, Takes::Fields(fields, _)) => {
                fields::schema(fields)
            }
            Work::Ask(_, Takes::Own(schema, _)) | Work::AskUser(_, Takes::Own(schema, _)) => schema(),
        }
    }
}

/// A call of the editor.
pub(crate) struct Question {
    /// Its arguments, complete.
    pub(crate) args: Map<String, Value>,
    /// Converts the reply to the tool's answer.
    pub(crate) shape: Shape,
}

/// Converts the editor's reply to a tool's answer.
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

/// The server's own state.
pub(crate) struct Context<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) selections: &'a Selections,
    /// See [`crate::ClientInfo::mapped`].
    pub(crate) mapped: bool,
    /// The client's first folder.
    pub(crate) root: Option<&'a Path>,
}

impl Context<'_> {
    /// Makes a client's path or `file://` URI absolute; a relative path is below the client's workspace
    /// folder.
    pub(crate) fn absolute(&self, path: String) -> String {
        if let Some(named) = crate::roots::path(&path) {
            return named.to_string_lossy().into_owned();
        }
        if Path::new(&path).is_absolute() {
            return path;
        }
        match self.workspace.folder_of(self.root) {
            Some(folder) => folder.join(path).to_string_lossy().into_owned(),
            None => path,
        }
    }

    /// Like [`Self::absolute`], and the line of `path:line` or `path:line:column` if no file has that name.
    pub(crate) fn place(&self, path: String) -> (String, Option<u32>) {
        let whole = self.absolute(path);
        match split_line(&whole) {
            Some((file, line)) if !Path::new(&whole).exists() && Path::new(file).exists() => {
                (file.to_owned(), Some(line))
            }
            Some(_) | None => (whole, None),
        }
    }
}

fn split_line(text: &str) -> Option<(&str, u32)> {
    let numbered = |text: &'_ str| -> Option<(usize, u32)> {
        let (before, number) = text.rsplit_once(':')?;
        Some((before.len(), number.parse().ok().filter(|&line| line > 0)?))
    };
    let (end, last) = numbered(text)?;
    let before = text.get(..end)?;
    match numbered(before) {
        Some((end, line)) => Some((before.get(..end)?, line)),
        None => Some((before, last)),
    }
}

/// A tool's schema: its properties, and the names of required ones.
fn schema(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if let (Value::Object(schema), false) = (&mut schema, required.is_empty()) {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// The editor's reply verbatim: JSON, as text.
fn verbatim(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    Ok(CallToolResult::text(String::from(Box::<str>::from(reply))))
}

#[cfg(test)]
pub(crate) mod testing {
    //! Runs one tool without a server.

    use super::*;

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
