//! What a subagent is told first, in a call and in the subagent's first message. CLI 1.0 wrote the messages of parallel
//! subagents into the session's file in any order, with nothing else that names the call.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use serde_json::Value;

use crate::id::{Key, Name};
use crate::line_head::{Head, LineKind};

/// Tools that start subagents. Older CLIs write those into the same file.
const AGENT_TOOLS: [&str; 2] = ["Task", "Agent"];

fn is_agent_tool(name: &str) -> bool {
    AGENT_TOOLS.contains(&name)
}

pub(super) fn starts_agent(tool: &Name) -> bool {
    is_agent_tool(tool.as_str())
}

/// The hash of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told(u64);

impl Told {
    fn of(text: &str) -> Self {
        Self(BuildHasherDefault::<DefaultHasher>::default().hash_one(text.trim()))
    }
}

/// Such texts of one line.
#[derive(Debug, Default)]
pub(super) struct Openings {
    calls: Vec<(Key, Told)>,
    sidechain: Option<Told>,
}

impl Openings {
    pub(super) fn of(head: &Head<'_>, line: &[u8]) -> Self {
        let calls = || head.message.0.as_ref().map(|message| &message.content).into_iter().flat_map(|it| it.calls());
        let begins = head.line_kind() == LineKind::User && head.sidechain.is_true() && head.parent.text().is_empty();
        if !begins && !calls().any(|call| is_agent_tool(call.name.text())) {
            return Self::default();
        }
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return Self::default() };
        let content = line.pointer("/message/content");
        if begins {
            let first = content.and_then(|content| content.as_str().or_else(|| content.pointer("/0/text")?.as_str()));
            return Self { calls: Vec::new(), sidechain: first.map(Told::of) };
        }
        let prompt = |block: &Value| {
            let id = Key::of(block.get("id")?.as_str()?)?;
            Some((id, Told::of(block.pointer("/input/prompt")?.as_str()?)))
        };
        let calls = content.and_then(Value::as_array).into_iter().flatten().filter_map(prompt).collect();
        Self { calls, sidechain: None }
    }

    pub(super) fn of_call(&self, id: &str) -> Option<Told> {
        let id = Key::of(id)?;
        self.calls.iter().find(|(call, _)| *call == id).map(|(_, told)| *told)
    }

    pub(super) fn sidechain(&self) -> Option<Told> {
        self.sidechain
    }
}
