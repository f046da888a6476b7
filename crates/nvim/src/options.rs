//! The options that Lua passes as JSON to `start`, `set_workspace` and `sessions_start`.
//!
//! Both sides ship together, so hardly any field is optional: a missing or unknown one is a bug and is reported.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use claude_ide_server::{Keepalive, PathMap, Places, ServerOptions, Workspace, WriteFile};
use claude_ide_web::{WebOptions, Writing};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::logging::LogOptions;

/// The options of `start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StartOptions {
    host: String,
    port: u16,
    #[serde(default)]
    port_range: Option<(u16, u16)>,
    lock_dirs: Vec<PathBuf>,
    handover_dir: PathBuf,
    workspace: WorkspaceOptions,
    server_name: String,
    version: String,
    handshake_timeout_ms: u64,
    max_connections: usize,
    max_message_bytes: usize,
    keepalive: KeepaliveOptions,
    write_file: WriteFile,
    hidden_tools: BTreeSet<String>,
    serves_agents: bool,
    agents_ide: bool,
    /// Pairs of a folder here, and its path for clients.
    path_map: Vec<(String, String)>,
    offers: bool,
    pub(crate) log: LogOptions,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct KeepaliveOptions {
    interval_ms: u64,
    timeout_ms: u64,
    mcp_ping: bool,
}

/// The options of `set_workspace`, also in those of `start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WorkspaceOptions {
    folders: Vec<PathBuf>,
    announced: Vec<PathBuf>,
    ide_name: String,
}

/// The options of `sessions_start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionsOptions {
    /// Claude's configuration folders.
    pub(crate) config_dirs: Vec<PathBuf>,
    /// Copies of sessions, which stay.
    pub(crate) kept_dir: PathBuf,
    /// The cache of session summaries.
    pub(crate) cache_file: PathBuf,
    pub(crate) log: LogOptions,
}

/// The options of `web_start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServeOptions {
    host: String,
    port: u16,
    /// Other host names, of tunnels and proxies.
    names: Vec<String>,
    /// Whether clients may write, and send commands.
    write: bool,
    commands: bool,
}

impl ServeOptions {
    /// Adds the editor that carries out what clients write.
    pub(crate) fn with(self, editor: Arc<dyn claude_ide_web::Editor>) -> WebOptions {
        let Self { host, port, names, write, commands } = self;
        let writing = write.then_some(Writing { editor, commands });
        WebOptions { host, port, names, writing, ..WebOptions::default() }
    }
}

impl From<StartOptions> for ServerOptions {
    fn from(options: StartOptions) -> Self {
        Self {
            host: options.host,
            port: options.port,
            port_range: options.port_range.map(|(first, last)| RangeInclusive::new(first, last)),
            lock_dirs: options.lock_dirs,
            handover_dir: Some(options.handover_dir),
            workspace: options.workspace.into(),
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
            hidden_tools: options.hidden_tools,
            write_file: options.write_file,
            serves_agents: options.serves_agents,
            companions: options.agents_ide.then(Places::of_the_user),
            path_map: PathMap::new(options.path_map),
            offers: options.offers,
            ..Self::default()
        }
    }
}

impl From<WorkspaceOptions> for Workspace {
    fn from(options: WorkspaceOptions) -> Self {
        Self { folders: options.folders, ide_name: options.ide_name, announced: Some(options.announced) }
    }
}

/// Parses an argument that is JSON.
///
/// # Errors
/// [`Error::Json`], with the position and the field.
pub(crate) fn parse<T: DeserializeOwned>(name: &'static str, json: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|source| Error::Json { name, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_of_the_user_is_one_of_the_server() {
        let options: StartOptions = serde_json::from_value(serde_json::json!({
            "host": "::1", "port": 1, "portRange": [2, 3], "lockDirs": ["/l"], "handoverDir": "/h", "workspace": { "folders": ["/w"], "announced": ["/w", "/x"], "ideName": "i" }, "serverName": "s", "version": "v", "handshakeTimeoutMs": 4, "maxConnections": 5,
            "maxMessageBytes": 6, "keepalive": { "intervalMs": 7, "timeoutMs": 8, "mcpPing": false },
            "writeFile": "review", "hiddenTools": ["off"], "servesAgents": true, "agentsIde": true, "offers": false,
            "pathMap": [["/here", "/there"]],
            "log": { "path": "/log", "level": "warn" },
        }))
        .unwrap();
        let server = ServerOptions::from(options);
        assert_eq!((server.host.as_str(), server.port, server.port_range), ("::1", 1, Some(2..=3)));
        assert_eq!((server.handshake_timeout, server.max_connections), (Duration::from_millis(4), 5));
        assert_eq!(server.max_message_bytes, 6);
        assert_eq!(server.path_map, PathMap::new([("/here", "/there")]));
        assert_eq!(
            (server.keepalive.interval, server.keepalive.timeout, server.keepalive.mcp_ping),
            (Duration::from_millis(7), Duration::from_millis(8), false)
        );
        assert!(server.companions.is_some());
        assert_eq!((server.hidden_tools, server.offers), (BTreeSet::from(["off".to_owned()]), false));
    }
}
