//! What is served behind one door: which tools and methods, what the endpoint says of itself, and how much it takes.
//!
//! An endpoint is put together once, when the server starts; its clients share it.

mod ide;

use std::sync::Arc;

use claude_ide_protocol::mcp::ServerCapabilities;
use tokio::sync::Semaphore;

use crate::{methods::Methods, tools::Toolbox};

/// One endpoint.
pub(crate) struct Endpoint {
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
