//! The endpoint of the lock file: what a Claude Code CLI, or another client of the seeds, finds in its IDE.

use std::sync::Arc;

use claude_ide_protocol::mcp::{ListCapability, ServerCapabilities};
use tokio::sync::Semaphore;

use super::Endpoint;
use crate::{
    methods::{METHODS, Methods},
    options::ServerOptions,
    tools::{TOOLS, Toolbox},
};

const INSTRUCTIONS: &str = "This server is the editor that the user works in. Use its tools to show files and proposed \
    changes to the user, and to learn what the user sees: open files, the selection, diagnostics.";

/// What the editor calls it.
pub(crate) const IDE: &str = "ide";

impl Endpoint {
    /// As the user configured it.
    pub(crate) fn ide(options: &ServerOptions) -> Self {
        let limits = Self::limits(options);
        Self {
            name: IDE,
            instructions: INSTRUCTIONS,
            capabilities: ServerCapabilities {
                tools: ListCapability { list_changed: true },
                prompts: None,
                resources: None,
            },
            tools: Toolbox::new(&TOOLS, &options.hidden_tools),
            methods: Methods::new(&METHODS, options),
            limits,
            places: Arc::new(Semaphore::new(limits.clients.min(Semaphore::MAX_PERMITS))),
        }
    }
}
