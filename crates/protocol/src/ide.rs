//! The IDE protocol beside MCP: the lock file for discovery, and notifications.
//!
//! Wire format: measured with Claude Code 2.1.329; there is no specification.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Editor → CLI: the cursor or the selection moved.
pub const SELECTION_CHANGED: &str = "selection_changed";
/// Editor → CLI: the diagnostics of one file changed.
pub const DIAGNOSTICS_CHANGED: &str = "diagnostics_changed";
/// CLI → editor: connected; carries its process id.
pub const IDE_CONNECTED: &str = "ide_connected";

/// The WebSocket subprotocol.
pub const SUBPROTOCOL: &str = "mcp";
/// The header that carries the token of the lock file.
pub const AUTHORIZATION_HEADER: &str = "x-claude-code-ide-authorization";
/// The close reason for a wrong token, verbatim.
pub const UNAUTHORIZED: &str = "Invalid or missing authentication token";
/// The close reason that, with code 4001, keeps a CLI (2.1.330) from reconnecting by itself, verbatim.
pub const SUPERSEDED: &str = "Another Claude Code session connected to this IDE";

/// `<port>.lock`, by which a CLI finds the server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockFileContents {
    /// The folders that the editor works in, absolute.
    #[serde(default)]
    pub workspace_folders: Vec<String>,
    /// The editor's process id; absent if clients may not see its process. The CLI (2.1.329) removes a file whose process
    /// it does not see; one without a process only if the port refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The name shown by the CLI.
    pub ide_name: String,
    /// Always "ws".
    pub transport: String,
    /// Whether paths are Windows paths.
    #[serde(default)]
    pub running_in_windows: bool,
    /// The token that the CLI must present.
    pub auth_token: String,
    /// The program that wrote the file, so that it can clean up after itself. The CLI ignores it.
    #[serde(default)]
    pub server: String,
    /// Where its process ids are valid. The CLI ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<String>,
}

/// `ide_connected`, from the CLI.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeConnected {
    /// The CLI's process id.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Whether it takes the editor's plugin for too old. CLI 2.1.332 does not send it.
    #[serde(default)]
    pub is_plugin_version_unsupported: Option<bool>,
}

/// `selection_changed`, with the editor's JSON verbatim.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectionChanged<'a> {
    /// The selected text.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a RawValue>,
    /// The file, absolute; absent or `null` without a file.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<&'a RawValue>,
    /// The file as `file://` and its unencoded path.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub file_url: Option<&'a RawValue>,
    /// `{start, end, isEmpty}`
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<&'a RawValue>,
}
