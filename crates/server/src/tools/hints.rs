//! A tool's properties beside name and schema, and its availability.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use claude_ide_protocol::mcp::ToolAnnotations;

/// A tool's hints. [`Hints::NONE`] is for tools hidden from models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints {
    /// The title that a user sees when asked whether it may run.
    pub(crate) title: Option<&'static str>,
    pub(crate) touches: Option<Touches>,
    /// Further search words, for a client that shows its model only names.
    pub(crate) search: Option<&'static str>,
    /// Such a client loads it from the start.
    pub(crate) always_load: bool,
    pub(crate) listed: Listed,
}

/// A tool's effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touches {
    /// It only reads.
    Nothing,
    /// It proposes a change, which the user reviews or can undo.
    Files,
    /// It runs code with arbitrary effects.
    World,
}

/// When a tool is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Always,
    /// While the editor reports it as available.
    WhenAble,
    /// Likewise, or while a language server supports one of these methods.
    WhenServed(&'static [&'static str]),
    /// As `WhenAble`; and of the argument's words, these while the editor reports `tool.word`.
    WhenAbleInPart {
        argument: &'static str,
        words: &'static [&'static str],
    },
}

impl Listed {
    /// Whether it is listed while the editor reports these names.
    pub(crate) fn holds(self, tool: &str, available: &BTreeSet<String>) -> bool {
        self == Self::Always
            || available.contains(tool)
            || self.methods().iter().any(|&method| available.contains(method))
    }

    /// The LSP methods of which one suffices.
    pub(crate) const fn methods(self) -> &'static [&'static str] {
        match self {
            Self::WhenServed(methods) => methods,
            Self::Always | Self::WhenAble | Self::WhenAbleInPart { .. } => &[],
        }
    }
}

impl Hints {
    pub(crate) const NONE: Self =
        Self { title: None, touches: None, search: None, always_load: false, listed: Listed::Always };

    pub(crate) const fn new(title: &'static str, touches: Touches, listed: Listed) -> Self {
        Self { title: Some(title), touches: Some(touches), listed, ..Self::NONE }
    }

    pub(crate) const fn found_by(self, words: &'static str) -> Self {
        Self { search: Some(words), ..self }
    }

    pub(crate) const fn always_loaded(self) -> Self {
        Self { always_load: true, ..self }
    }

    /// MCP, "ToolAnnotations".
    pub(crate) fn annotations(&self) -> Option<ToolAnnotations> {
        Some(match self.touches? {
            Touches::Nothing => ToolAnnotations { read_only_hint: true, destructive_hint: None },
            Touches::Files => ToolAnnotations { read_only_hint: false, destructive_hint: Some(false) },
            Touches::World => ToolAnnotations { read_only_hint: false, destructive_hint: None },
        })
    }

    /// Claude Code's extensions, as read by 2.1.330.
    pub(crate) fn meta(&self) -> Map<String, Value> {
        let mut meta = Map::new();
        if let Some(words) = self.search {
            meta.insert("anthropic/searchHint".to_owned(), Value::from(words));
        }
        if self.always_load {
            meta.insert("anthropic/alwaysLoad".to_owned(), Value::from(true));
        }
        meta
    }
}
