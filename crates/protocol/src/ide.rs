//! What an IDE and the CLI say to each other beside MCP: the lock file by which they find each other, and notifications.
//!
//! Wire format: measured with Claude Code 2.1.329; nothing of it is specified anywhere.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Editor → CLI: the cursor or the selection moved.
pub const SELECTION_CHANGED: &str = "selection_changed";
/// Editor → CLI: the diagnostics of one file changed.
pub const DIAGNOSTICS_CHANGED: &str = "diagnostics_changed";
/// CLI → editor: it is there; names its process.
pub const IDE_CONNECTED: &str = "ide_connected";

/// The subprotocol of the WebSocket.
pub const SUBPROTOCOL: &str = "mcp";
/// The header that carries the token of the lock file.
pub const AUTHORIZATION_HEADER: &str = "x-claude-code-ide-authorization";
/// Why a connection with a wrong token is closed, word by word.
pub const UNAUTHORIZED: &str = "Invalid or missing authentication token";
/// Why a connection is closed that shall stay closed: word by word what a CLI (2.1.330) wants, with code 4001, to not
/// connect again by itself.
pub const SUPERSEDED: &str = "Another Claude Code session connected to this IDE";

/// `<port>.lock`: how a CLI finds the server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockFileContents {
    /// The folders that the editor works in, absolute.
    #[serde(default)]
    pub workspace_folders: Vec<String>,
    /// The editor's process.
    pub pid: u32,
    /// The name that the CLI shows.
    pub ide_name: String,
    /// Always "ws".
    pub transport: String,
    /// Whether paths are those of Windows.
    #[serde(default)]
    pub running_in_windows: bool,
    /// What the CLI must show to be let in.
    pub auth_token: String,
    /// Which program wrote the file, so that it can clean up after itself. The CLI ignores it.
    #[serde(default)]
    pub server: String,
}

/// `ide_connected`, from the CLI.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct IdeConnected {
    /// The CLI's process.
    #[serde(default)]
    pub pid: Option<u32>,
}

/// `selection_changed`, each member as the editor wrote it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectionChanged<'a> {
    /// The selected text.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a RawValue>,
    /// The file, absolute; absent or `null` where no file is shown.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<&'a RawValue>,
    /// The file as `file://` and its raw path.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub file_url: Option<&'a RawValue>,
    /// `{start, end, isEmpty}`
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<&'a RawValue>,
}
