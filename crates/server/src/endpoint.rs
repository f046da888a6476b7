//! What is served behind a route: which tools and methods, what the endpoint says of itself, and how much it takes.
//!
//! An endpoint is put together once, when the server starts; its clients share it. There are two. That of the lock file is what a
//! Claude Code CLI, or another client of the seeds, finds in its IDE. That of agents is what a model may ask of the editor and have
//! it do: Claude Code is handed it with `--mcp-config`, under the name `nvim` (a server named `ide` has its tools hidden from the
//! model, measured with Claude Code 2.1.330); any other agent that speaks MCP may use it, too.

use std::{collections::BTreeSet, sync::Arc};

use claude_ide_protocol::mcp::{ListCapability, ServerCapabilities};
use tokio::sync::Semaphore;

use crate::{
    methods::{METHODS, Method, Methods, OFFERS},
    options::ServerOptions,
    tools::{TOOLS, Tool, Toolbox, nvim},
};

/// What the editor calls the endpoint of the lock file.
pub(crate) const IDE: &str = "ide";
/// What the editor, and the user's CLI, call that of agents.
pub(crate) const NVIM: &str = "nvim";

const IDE_INSTRUCTIONS: &str = "This server is the editor that the user works in. Use its tools to show files and proposed \
    changes to the user, and to learn what the user sees: open files, the selection, diagnostics.";

const NVIM_INSTRUCTIONS: &str = "This is the editor that the user works in, with the language servers that already run for this \
    project. Prefer its tools to text search for anything about code symbols: where one is defined, who uses it, its type, \
    what is wrong in a file. They see unsaved text. `path` is absolute or relative to the workspace; `symbol` is the text as it \
    stands there (`parse`, `Parser.parse`), `line` one that it stands in, counted from 1 (else the first place in the file). A \
    long answer ends with a `cursor`: pass it to get the rest. What changes files the user may review: the answer says what was \
    written, what was dropped and why, and the diagnostics afterwards.";

/// How many requests of one client may be open. A user's session has a handful; a test of speed has thousands.
const MAX_REQUESTS: usize = 16_384;
/// How much work of one client runs at a time.
const MAX_COST: usize = 1024;
const MAX_BATCH: usize = 1000;
const MAX_BATCH_BYTES: usize = 8 << 20;

/// One endpoint.
pub(crate) struct Endpoint {
    /// What the editor calls it.
    pub(crate) name: &'static str,
    /// For the model: MCP's `instructions`.
    pub(crate) instructions: &'static str,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) tools: Toolbox,
    /// What it serves beside MCP.
    pub(crate) methods: Methods,
    pub(crate) limits: Limits,
    /// One permit for each client.
    pub(crate) places: Arc<Semaphore>,
}

/// How much an endpoint takes from its clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How large a message may be, and a file that is read for one.
    pub(crate) message_bytes: usize,
    /// How many messages a batch may have.
    pub(crate) batch: usize,
    /// Of what one client asks at a time.
    pub(crate) in_flight: claude_ide_rpc::Limits,
}

impl Endpoint {
    /// That of the lock file, as the user configured it.
    pub(crate) fn ide(options: &ServerOptions) -> Self {
        let capabilities =
            ServerCapabilities { tools: ListCapability { list_changed: true }, prompts: None, resources: None };
        Self::new(options, (IDE, IDE_INSTRUCTIONS, capabilities), &TOOLS, &METHODS)
    }

    /// That of agents.
    pub(crate) fn nvim(options: &ServerOptions) -> Self {
        let capabilities = ServerCapabilities {
            tools: ListCapability { list_changed: true },
            prompts: Some(ListCapability { list_changed: false }),
            resources: Some(ListCapability { list_changed: true }),
        };
        Self::new(options, (NVIM, NVIM_INSTRUCTIONS, capabilities), nvim::TOOLS, &OFFERS)
    }

    fn new(
        options: &ServerOptions,
        (name, instructions, capabilities): (&'static str, &'static str, ServerCapabilities),
        tools: &[&'static Tool],
        methods: &'static [Method],
    ) -> Self {
        let places = Arc::new(Semaphore::new(options.max_connections.min(Semaphore::MAX_PERMITS)));
        let limits = Limits {
            message_bytes: options.max_message_bytes,
            batch: MAX_BATCH,
            in_flight: claude_ide_rpc::Limits {
                requests: MAX_REQUESTS,
                bytes: options.max_message_bytes,
                cost: MAX_COST,
                batch_bytes: MAX_BATCH_BYTES,
            },
        };
        let (tools, methods) = (Toolbox::new(tools, &options.hidden_tools), Methods::new(methods, options));
        Self { name, instructions, capabilities, tools, methods, limits, places }
    }

    /// Changes which of its tools can run; true where clients see another list then.
    pub(crate) fn set_able(&self, able: BTreeSet<String>) -> bool {
        self.tools.set_able(able)
    }
}
