//! The endpoint of agents: what a model may ask of the editor and have it do. Claude Code is handed it with `--mcp-config`, under
//! the name `nvim`; any other agent that speaks MCP may come in too.
//!
//! A server named `ide` has its tools hidden from the model (measured with Claude Code 2.1.330), so this is another one.

use std::{collections::BTreeSet, sync::Arc};

use claude_ide_protocol::mcp::{ListCapability, ServerCapabilities};
use tokio::sync::Semaphore;

use super::Endpoint;
use crate::{
    methods::{Methods, OFFERS},
    options::ServerOptions,
    tools::{Toolbox, nvim::TOOLS},
};

/// What the editor calls it, and the user's CLI.
pub(crate) const NVIM: &str = "nvim";

const INSTRUCTIONS: &str = "This is the editor that the user works in, with the language servers that already run for this \
    project. Prefer its tools to text search for anything about code symbols: where one is defined, who uses it, its type, \
    what is wrong in a file. They see unsaved text. `path` is absolute or relative to the workspace; `symbol` is the text as it \
    stands there (`parse`, `Parser.parse`), `line` one that it stands in, counted from 1 (else the first place in the file). A \
    long answer ends with a `cursor`: pass it to get the rest. What changes files the user may review: the answer says what was \
    written, what was dropped and why, and the diagnostics afterwards.";

impl Endpoint {
    /// As the user configured it.
    pub(crate) fn nvim(options: &ServerOptions) -> Self {
        let limits = Self::limits(options);
        Self {
            name: NVIM,
            instructions: INSTRUCTIONS,
            capabilities: ServerCapabilities {
                tools: ListCapability { list_changed: true },
                prompts: Some(ListCapability { list_changed: false }),
                resources: Some(ListCapability { list_changed: true }),
            },
            tools: Toolbox::new(TOOLS, &options.hidden_tools),
            methods: Methods::new(&OFFERS, options),
            limits,
            places: Arc::new(Semaphore::new(limits.clients.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Changes which of its tools can run; true where clients see another list then.
    pub(crate) fn set_able(&self, able: BTreeSet<String>) -> bool {
        self.tools.set_able(able)
    }
}
