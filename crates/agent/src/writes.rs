//! Claude's tools that write the file they name: those of the CLI, which its ACP adapter calls by the same names.

use serde_json::Value;

/// Their names, and the argument with the path.
const TOOLS: [(&str, &str); 4] =
    [("Edit", "file_path"), ("MultiEdit", "file_path"), ("Write", "file_path"), ("NotebookEdit", "notebook_path")];

/// Their names.
#[must_use]
pub fn writing_tools() -> [&'static str; 4] {
    TOOLS.map(|(tool, _)| tool)
}

/// The matcher of a hook for them.
pub(crate) fn matcher() -> String {
    writing_tools().join("|")
}

/// The path in the arguments of one of them, whichever it is.
pub(crate) fn path(arguments: &Value) -> Option<&str> {
    TOOLS.iter().find_map(|(_, name)| arguments.get(name)?.as_str())
}

/// The path in the arguments of a tool; `None` for other tools.
pub(crate) fn path_of<'a>(tool: &str, arguments: &'a Value) -> Option<&'a str> {
    TOOLS.iter().find(|(name, _)| *name == tool).and_then(|(_, name)| arguments.get(name)?.as_str())
}
