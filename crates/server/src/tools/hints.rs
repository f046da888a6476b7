//! What a tool tells clients of itself besides its name and its schema, and when it is listed.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use claude_ide_protocol::mcp::ToolAnnotations;

/// What is told besides. [`Hints::NONE`] is for a tool that no model sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints {
    /// What a user reads when they are asked whether it may run.
    pub(crate) title: Option<&'static str>,
    pub(crate) touches: Option<Touches>,
    /// By which further words a client that shows its model names alone finds it.
    pub(crate) search: Option<&'static str>,
    /// Such a client shows it whole from the beginning.
    pub(crate) always_load: bool,
    pub(crate) listed: Listed,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touches {
    /// It reads.
    Nothing,
    /// It proposes a change, which a user reviews or can undo.
    Files,
    /// It runs what may do anything.
    World,
}

/// When a tool is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Always,
    /// While the editor says that it can run.
    WhenAble,
    /// The same, or while it says that a language server serves one of these methods.
    WhenServed(&'static [&'static str]),
    /// As `WhenAble`; and of the words that an argument may be, these while the editor says so of `tool.word`.
    WhenAbleInPart {
        argument: &'static str,
        words: &'static [&'static str],
    },
}

impl Listed {
    /// Whether it is listed while the editor says this.
    pub(crate) fn holds(self, tool: &str, able: &BTreeSet<String>) -> bool {
        self == Self::Always || able.contains(tool) || self.methods().iter().any(|&method| able.contains(method))
    }

    /// The LSP methods of which one is enough.
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

    /// The words of Claude Code, as 2.1.330 reads them.
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
