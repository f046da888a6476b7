//! Endpoints: the tools and methods behind a route, instructions and capabilities, limits.
//!
//! An endpoint is built once, when the server starts; its clients share it. There are four. `ide`, found by the lock
//! file, is for Claude Code CLIs and other clients of the seeds. `nvim`, for agents, has what a model may ask of the
//! editor or change in it: Claude Code gets it with `--mcp-config` under the name `nvim` (it hides the tools of a
//! server named `ide` from the model; measured with Claude Code 2.1.330); other MCP agents may use it too. `companion` is
//! for Gemini CLI and Qwen Code, if the user wants it; `mod` for the code of ours that runs inside a CLI.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use claude_ide_protocol::mcp::{ListCapability, ServerCapabilities};
use tokio::sync::Semaphore;

use crate::{
    endpoint_name::{COMPANION, IDE, MOD, NVIM},
    methods::{METHODS, Method, Methods, OFFERS},
    options::ServerOptions,
    tools::{TOOLS, Tool, Toolbox, companion, mods, nvim},
};

const IDE_INSTRUCTIONS: &str = "This server is the editor that the user works in. Use its tools to show files and proposed \
    changes to the user, and to learn what the user sees: open files, the selection, diagnostics.";

const NVIM_INSTRUCTIONS: &str = "This is the editor that the user works in, with the language servers that already run for this \
    project. Prefer its tools to text search for anything about code symbols: where one is defined, who uses it, its type, \
    what is wrong in a file. They see unsaved text. `path` is absolute or relative to the workspace; `symbol` is the text as it \
    stands there (`parse`, `Parser.parse`), `line` one that it stands in, counted from 1 (else the first place in the file). A \
    long answer ends with a `cursor`: pass it to get the rest. What changes files the user may review: the answer says what was \
    written, what was dropped and why, and the diagnostics afterwards.";

/// Limit of a client's open requests. A user's session has a handful; a speed test has thousands.
const MAX_REQUESTS: usize = 16_384;
/// Limit of a client's running work.
const MAX_COST: usize = 1024;
/// A companion listens as long as it lives, and ends without a word.
const COMPANION_AWAY: Duration = Duration::from_secs(20);
/// Our mod asks again at once while its CLI runs.
const MOD_AWAY: Duration = Duration::from_secs(5);
/// Our mod cuts what it reports.
const MOD_MESSAGE_BYTES: usize = 256 << 10;
const MAX_BATCH: usize = 1000;
const MAX_BATCH_BYTES: usize = 8 << 20;

pub(crate) struct Endpoint {
    /// Its name.
    pub(crate) name: &'static str,
    /// MCP's `instructions`, for the model.
    pub(crate) instructions: &'static str,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) tools: Arc<Toolbox>,
    /// Methods beside MCP.
    pub(crate) methods: Methods,
    pub(crate) limits: Limits,
    /// One permit for each client.
    pub(crate) places: Arc<Semaphore>,
}

/// Limits for clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Size of a message, and of a file that is read for one.
    pub(crate) message_bytes: usize,
    /// Number of messages in a batch.
    pub(crate) batch: usize,
    /// How long a client that speaks HTTP may stay away before its requests are cancelled.
    pub(crate) session: Duration,
    /// Limits of a client's open requests.
    pub(crate) in_flight: claude_ide_rpc::Limits,
}

impl Endpoint {
    /// The endpoint of the lock file, as configured.
    pub(crate) fn ide(options: &ServerOptions) -> Self {
        let methods = METHODS.iter().chain(&OFFERS);
        Self::new(options, (IDE, IDE_INSTRUCTIONS), &TOOLS, methods)
    }

    /// The endpoint of agents.
    pub(crate) fn nvim(options: &ServerOptions) -> Self {
        Self::new(options, (NVIM, NVIM_INSTRUCTIONS), nvim::TOOLS, OFFERS.iter())
    }

    /// The endpoint of companions.
    pub(crate) fn companion(options: &ServerOptions) -> Self {
        let mut endpoint = Self::new(options, (COMPANION, IDE_INSTRUCTIONS), &companion::TOOLS, [].iter());
        endpoint.limits.session = options.session_timeout.min(COMPANION_AWAY);
        endpoint
    }

    /// The endpoint of our mod.
    pub(crate) fn mods(options: &ServerOptions) -> Self {
        let mut endpoint = Self::new(options, (MOD, ""), &mods::TOOLS, [].iter());
        endpoint.limits.session = options.session_timeout.min(MOD_AWAY);
        endpoint.limits.message_bytes = options.max_message_bytes.min(MOD_MESSAGE_BYTES);
        endpoint
    }

    fn new(
        options: &ServerOptions,
        (name, instructions): (&'static str, &'static str),
        tools: &[&'static Tool],
        methods: impl Iterator<Item = &'static Method>,
    ) -> Self {
        let changes = ListCapability { list_changed: true };
        let offers = options.offers.then_some(changes);
        let capabilities = ServerCapabilities { tools: changes, prompts: offers, resources: offers };
        let places = Arc::new(Semaphore::new(options.max_connections.min(Semaphore::MAX_PERMITS)));
        let limits = Limits {
            message_bytes: options.max_message_bytes,
            batch: MAX_BATCH,
            session: options.session_timeout,
            in_flight: claude_ide_rpc::Limits {
                requests: MAX_REQUESTS,
                bytes: options.max_message_bytes,
                cost: MAX_COST,
                batch_bytes: MAX_BATCH_BYTES,
            },
        };
        let (tools, methods) = (Arc::new(Toolbox::new(tools, &options.hidden_tools)), Methods::new(methods, options));
        Self { name, instructions, capabilities, tools, methods, limits, places }
    }

    /// Sets which tools are available; returns whether the list for clients changed.
    pub(crate) fn set_available(&self, available: BTreeSet<String>) -> bool {
        self.tools.set_available(available)
    }
}
