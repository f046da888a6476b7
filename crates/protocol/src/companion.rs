//! The IDE companion specification, by which Gemini CLI and Qwen Code find an editor and speak MCP over HTTP with it.
//!
//! Source: gemini-cli, `docs/ide-integration/ide-companion-spec.md` (2025-09-15). Where the CLIs differ from it, read in
//! Gemini CLI 0.61.0 and Qwen Code 0.24.4: the endpoint is `/mcp`; `closeDiff` answers JSON with a member `content`;
//! Qwen Code looks for `~/.qwen/ide/<port>.lock`.

use serde::{Deserialize, Serialize};

/// The prefix of its notifications, editor → CLI: `ide/contextUpdate`, `ide/diffAccepted`, `ide/diffRejected`.
pub const NOTIFICATIONS: &str = "ide/";
/// Editor → CLI: the open files, the cursor or the selection changed.
pub const CONTEXT_UPDATE: &str = "ide/contextUpdate";

/// The file by which a CLI finds the server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryFile {
    /// The server's port.
    pub port: u16,
    /// The folders that the editor works in, absolute, separated like `$PATH`.
    pub workspace_path: String,
    /// The bearer token that the CLI must present.
    pub auth_token: String,
    /// The editor.
    pub ide_info: IdeInfo,
    /// The editor's process id. Only for [`Self::server`].
    #[serde(default)]
    pub pid: u32,
    /// The program that wrote the file, so that it can clean up after itself. The CLIs ignore it.
    #[serde(default)]
    pub server: String,
}

/// The editor, for a CLI.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdeInfo {
    /// Its identifier.
    pub name: String,
    /// Its name for the user.
    pub display_name: String,
}
