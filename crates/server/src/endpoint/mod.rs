//! What is served behind one door: which tools and methods, what the endpoint says of itself, and how much it takes.
//!
//! An endpoint is put together once, when the server starts; its clients share it.

mod ide;
mod nvim;

use std::sync::Arc;

use claude_ide_protocol::mcp::ServerCapabilities;
use tokio::sync::Semaphore;

pub(crate) use self::{ide::IDE, nvim::NVIM};
use crate::{methods::Methods, options::ServerOptions, tools::Toolbox};

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
    /// How many clients may be connected.
    pub(crate) clients: usize,
    /// How large a message may be, and a file that is read for one.
    pub(crate) message_bytes: usize,
    /// How many messages a batch may have.
    pub(crate) batch: usize,
    /// Of what one client asks at a time.
    pub(crate) in_flight: claude_ide_rpc::Limits,
}

impl Endpoint {
    /// Each endpoint takes as much.
    fn limits(options: &ServerOptions) -> Limits {
        Limits {
            clients: options.max_connections,
            message_bytes: options.max_message_bytes,
            batch: MAX_BATCH,
            in_flight: claude_ide_rpc::Limits {
                requests: MAX_REQUESTS,
                bytes: options.max_message_bytes,
                cost: MAX_COST,
                batch_bytes: MAX_BATCH_BYTES,
            },
        }
    }
}
