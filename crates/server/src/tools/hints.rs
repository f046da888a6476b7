//! What a tool tells clients of itself besides its name and its schema, and when it is listed.

use serde_json::{Map, Value};

use claude_ide_protocol::mcp::ToolAnnotations;

/// What is told besides. [`Hints::NONE`] is for a tool that no model sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints {
    /// What a person reads when they are asked whether it may run.
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
    /// It proposes a change, which a person reviews or can undo.
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
    /// The same; and of the words that an argument may be, these while the editor says so of `tool.word`.
    WhenAbleInPart {
        argument: &'static str,
        words: &'static [&'static str],
    },
}

impl Hints {
    pub(crate) const NONE: Self =
        Self { title: None, touches: None, search: None, always_load: false, listed: Listed::Always };

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
