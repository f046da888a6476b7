//! The server's options.

use std::{
    collections::BTreeSet,
    env,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use crate::path_map::PathMap;

/// The user's options, complete.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address to listen on; anything but loopback only by explicit configuration.
    pub host: String,
    /// The port; 0 for any free one.
    pub port: u16,
    /// If set, the first free port of this range, in random order.
    pub port_range: Option<RangeInclusive<u16>>,
    /// The folders of the discovery file.
    pub lock_dirs: Vec<PathBuf>,
    /// Where the port is left for the next server, with the clients that it admits; `None`: nowhere.
    pub handover_dir: Option<PathBuf>,
    /// The discovery file's description of the editor.
    pub workspace: Workspace,
    /// `serverInfo.name`; also marks discovery files as ours.
    pub server_name: String,
    /// `serverInfo.version`.
    pub version: String,
    /// Time for a connection to authenticate.
    pub handshake_timeout: Duration,
    /// Time for a client to name its folders before it counts as ready.
    pub roots_timeout: Duration,
    /// How long an HTTP client may stay away before its requests are cancelled.
    pub session_timeout: Duration,
    /// Limit of connected clients.
    pub max_connections: usize,
    /// Size limit of a message, and of a file that is read for it.
    pub max_message_bytes: usize,
    /// Detection of dead clients.
    pub keepalive: Keepalive,
    /// Tools that are neither listed nor served, by name.
    pub hidden_tools: BTreeSet<String>,
    /// Whether resources and prompts are offered.
    pub offers: bool,
    /// The treatment of `writeFile`.
    pub write_file: WriteFile,
    /// Whether there is an endpoint for agents.
    pub serves_agents: bool,
    /// Where to announce the server to companions; `None`: not at all.
    pub companions: Option<Places>,
    /// The folders that some clients see under other paths.
    pub path_map: PathMap,
}

/// The treatment of `writeFile`, by which a client changes a file without a proposal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteFile {
    /// Shown as a diff, and written once the user accepts it.
    #[default]
    Review,
    /// Written at once.
    Allow,
    /// The method does not exist.
    Off,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            port_range: None,
            lock_dirs: Vec::new(),
            handover_dir: None,
            workspace: Workspace::default(),
            server_name: "claude-ide".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            handshake_timeout: Duration::from_secs(5),
            roots_timeout: Duration::from_millis(300),
            session_timeout: Duration::from_secs(15 * 60),
            max_connections: 16,
            max_message_bytes: 64 << 20,
            keepalive: Keepalive::default(),
            hidden_tools: BTreeSet::new(),
            offers: true,
            write_file: WriteFile::default(),
            serves_agents: false,
            companions: None,
            path_map: PathMap::default(),
        }
    }
}

/// Detection of dead clients.
#[derive(Debug, Clone)]
pub struct Keepalive {
    /// The ping interval for a quiet client.
    pub interval: Duration,
    /// How long it may be silent after that. Any byte counts, so a busy client is kept.
    pub timeout: Duration,
    /// Send MCP `ping` too, not only WebSocket pings.
    pub mcp_ping: bool,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(30), timeout: Duration::from_secs(90), mcp_ping: true }
    }
}

/// The discovery file's description of the editor; may change while the server runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workspace {
    /// The workspace folders, absolute; the main one first.
    pub folders: Vec<PathBuf>,
    /// The name shown by the CLI.
    pub ide_name: String,
    /// The folders in the discovery file, whose CLIs find the editor; `None`: the workspace folders.
    pub announced: Option<Vec<PathBuf>>,
}

impl Workspace {
    /// The folders in the discovery file.
    pub(crate) fn announced(&self) -> &[PathBuf] {
        self.announced.as_ref().unwrap_or(&self.folders)
    }

    /// The workspace folder of a client, by its root: the innermost one, else the main one.
    pub(crate) fn folder_of(&self, root: Option<&Path>) -> Option<&PathBuf> {
        let holds = |folder: &&PathBuf| root.is_some_and(|root| root.starts_with(folder));
        let own = self.folders.iter().filter(holds).max_by_key(|folder| folder.as_os_str().len());
        own.or_else(|| self.folders.first())
    }
}

/// The folders below which companions look for discovery files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Node's `os.tmpdir()`.
    pub temporary: PathBuf,
    /// The user's home folder.
    pub home: PathBuf,
}

impl Places {
    /// Those of the user.
    #[must_use]
    pub fn of_the_user() -> Self {
        let named = |names: &[&str]| names.iter().filter_map(env::var_os).find(|value| !value.is_empty());
        let folder = |names, other: &str| named(names).map_or_else(|| other.into(), PathBuf::from);
        Self { temporary: folder(&["TMPDIR", "TMP", "TEMP"], "/tmp"), home: folder(&["HOME"], "/") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_belongs_to_the_innermost_folder_of_its_root() {
        let folders = ["/p", "/p/.claude/worktrees/fix", "/p.fix"].map(PathBuf::from).to_vec();
        let workspace = Workspace { folders, ..Workspace::default() };
        for (root, folder) in [
            ("/p/sub", "/p"),
            ("/p/.claude/worktrees/fix/sub", "/p/.claude/worktrees/fix"),
            ("/p.fix", "/p.fix"),
            ("/elsewhere", "/p"),
        ] {
            assert_eq!(workspace.folder_of(Some(Path::new(root))), Some(&PathBuf::from(folder)), "{root}");
        }
        assert_eq!(workspace.folder_of(None), Some(&PathBuf::from("/p")));
    }
}
