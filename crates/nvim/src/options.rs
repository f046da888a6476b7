//! The options that Lua passes to `start`, `set_workspace` and `sessions_start`, as JSON.
//!
//! Both sides ship together, so nothing is optional that need not be: a field that is missing or unknown is our own
//! mistake and is said aloud.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use claude_ide_server::{Keepalive, ServerOptions, Workspace, WriteFile};
use claude_ide_web::{WebOptions, Writing};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::logging::LogOptions;

/// Everything `start` needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StartOptions {
    host: String,
    port: u16,
    #[serde(default)]
    port_range: Option<(u16, u16)>,
    lock_dirs: Vec<PathBuf>,
    workspace_folders: Vec<PathBuf>,
    ide_name: String,
    server_name: String,
    version: String,
    handshake_timeout_ms: u64,
    max_connections: usize,
    max_message_bytes: usize,
    keepalive: KeepaliveOptions,
    write_file: WriteFile,
    /// Tools by the name that clients use; false leaves one out.
    tools: BTreeMap<String, bool>,
    serves_agents: bool,
    pub(crate) log: LogOptions,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct KeepaliveOptions {
    interval_ms: u64,
    timeout_ms: u64,
    mcp_ping: bool,
}

/// What `set_workspace` takes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WorkspaceOptions {
    folders: Vec<PathBuf>,
    ide_name: String,
}

/// Everything `sessions_start` needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionsOptions {
    /// Claude's configuration folder.
    pub(crate) config_dir: PathBuf,
    /// Where to remember what was read of each session.
    pub(crate) cache_file: PathBuf,
    pub(crate) log: LogOptions,
}

/// Everything `web_start` needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServeOptions {
    host: String,
    port: u16,
    /// Other names that it is reached by.
    names: Vec<String>,
    /// Clients may write, and write commands.
    write: bool,
    commands: bool,
}

impl ServeOptions {
    /// With who does what clients write.
    pub(crate) fn with(self, editor: Arc<dyn claude_ide_web::Editor>) -> WebOptions {
        let Self { host, port, names, write, commands } = self;
        let writing = write.then_some(Writing { editor, commands });
        WebOptions { host, port, names, writing, ..WebOptions::default() }
    }
}

impl From<StartOptions> for ServerOptions {
    fn from(options: StartOptions) -> Self {
        let mut hidden_tools = BTreeSet::new();
        hidden_tools.extend(options.tools.into_iter().filter(|(_, listed)| !listed).map(|(name, _)| name));
        Self {
            host: options.host,
            port: options.port,
            port_range: options.port_range.map(|(first, last)| RangeInclusive::new(first, last)),
            lock_dirs: options.lock_dirs,
            workspace: Workspace { folders: options.workspace_folders, ide_name: options.ide_name },
            server_name: options.server_name,
            version: options.version,
            handshake_timeout: Duration::from_millis(options.handshake_timeout_ms),
            max_connections: options.max_connections,
            max_message_bytes: options.max_message_bytes,
            keepalive: Keepalive {
                interval: Duration::from_millis(options.keepalive.interval_ms),
                timeout: Duration::from_millis(options.keepalive.timeout_ms),
                mcp_ping: options.keepalive.mcp_ping,
            },
            hidden_tools,
            write_file: options.write_file,
            serves_agents: options.serves_agents,
            ..Self::default()
        }
    }
}

impl From<WorkspaceOptions> for Workspace {
    fn from(options: WorkspaceOptions) -> Self {
        Self { folders: options.folders, ide_name: options.ide_name }
    }
}

/// Reads an argument that is JSON.
///
/// # Errors
/// [`Error::Json`], with the place and the field.
pub(crate) fn parse<T: DeserializeOwned>(name: &'static str, json: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|source| Error::Json { name, source })
}
