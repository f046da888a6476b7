//! The endpoint of the lock file: what a Claude Code CLI, or another client of the seeds, finds in its IDE.

use std::sync::Arc;

use claude_ide_protocol::mcp::{ServerCapabilities, ToolsCapability};
use tokio::sync::Semaphore;

use super::{Endpoint, Limits};
use crate::{
    methods::{METHODS, Methods},
    options::ServerOptions,
    tools::{TOOLS, Toolbox},
};

const INSTRUCTIONS: &str = "This server is the editor that the user works in. Use its tools to show files and proposed \
    changes to the user, and to learn what the user sees: open files, the selection, diagnostics.";

/// How many requests of one client may be open. A person's session has a handful; a test of speed has thousands.
const MAX_REQUESTS: usize = 16_384;
/// How much work of one client runs at a time.
const MAX_COST: usize = 1024;
const MAX_BATCH: usize = 1000;
const MAX_BATCH_BYTES: usize = 8 << 20;

impl Endpoint {
    /// As the user configured it.
    pub(crate) fn ide(options: &ServerOptions) -> Self {
        let limits = Limits {
            clients: options.max_connections,
            message_bytes: options.max_message_bytes,
            batch: MAX_BATCH,
            in_flight: claude_ide_rpc::Limits {
                requests: MAX_REQUESTS,
                bytes: options.max_message_bytes,
                cost: MAX_COST,
                batch_bytes: MAX_BATCH_BYTES,
            },
        };
        Self {
            instructions: INSTRUCTIONS,
            capabilities: ServerCapabilities { tools: ToolsCapability { list_changed: true } },
            tools: Toolbox::new(&TOOLS, &options.hidden_tools),
            methods: Methods::new(&METHODS, options),
            limits,
            places: Arc::new(Semaphore::new(limits.clients.min(Semaphore::MAX_PERMITS))),
        }
    }
}
