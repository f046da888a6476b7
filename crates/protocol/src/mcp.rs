//! The part of the Model Context Protocol that an IDE server needs: lifecycle, tools, roots, cancellation.
//!
//! Wire format: <https://modelcontextprotocol.io/specification/2025-11-25>.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, value::RawValue};

use crate::content::Content;

/// A supported version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26, the only one with JSON-RPC batches
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
}

impl ProtocolVersion {
    /// Every version, oldest first.
    pub const ALL: [Self; 4] = [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// Offered to a client that requests an unknown version.
    pub const LATEST: Self = Self::V2025_11_25;

    /// The version to answer with: the client's own if supported, else the latest.
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        Self::known(requested).unwrap_or(Self::LATEST)
    }

    /// The version of that date, if supported.
    #[must_use]
    pub fn known(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == date)
    }

    /// The date that names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }

    /// Whether a client may send a batch (a JSON array of messages).
    #[must_use]
    pub const fn allows_batches(self) -> bool {
        match self {
            Self::V2025_03_26 => true,
            Self::V2024_11_05 | Self::V2025_06_18 | Self::V2025_11_25 => false,
        }
    }
}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// `clientInfo` or `serverInfo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

/// The result of `initialize`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult<'a> {
    /// The version that both will use.
    pub protocol_version: ProtocolVersion,
    /// The server's capabilities.
    pub capabilities: ServerCapabilities,
    /// The server's name and version.
    pub server_info: Implementation,
    /// Instructions for a model.
    pub instructions: &'a str,
}

/// The capabilities of an endpoint.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ServerCapabilities {
    /// It has tools.
    pub tools: ListCapability,
    /// It has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// It has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ListCapability>,
}

/// A capability with a list.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListCapability {
    /// Whether the list may change during a connection.
    pub list_changed: bool,
}

/// One entry of `tools/list`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescription {
    /// The name to call.
    pub name: &'static str,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    /// When and how to use it, for a model.
    pub description: &'static str,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// Hints about its effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Extensions for clients that know them.
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// Hints about a tool's effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// Whether it may destroy data; clients assume so if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
}

/// One entry of `resources/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The URI for `resources/read`.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: String,
    /// What it is, for a user and a model.
    pub description: String,
    /// `text/plain`, …
    pub mime_type: String,
}

/// One entry of `prompts/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The name for `prompts/get`.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for a user.
    pub description: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it means, for a user.
    pub description: String,
    /// Whether it must be given.
    #[serde(default)]
    pub required: bool,
}

/// The result of `tools/list`.
#[derive(Debug, Serialize)]
pub struct ListToolsResult<T> {
    /// All tools on one page: [`ToolDescription`], or its JSON.
    pub tools: Vec<T>,
}

/// The parameters of `tools/call`; unknown members are ignored.
#[derive(Debug, Deserialize)]
pub struct CallToolParams {
    /// The tool's name.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// Metadata, such as the progress token.
    #[serde(rename = "_meta", default)]
    pub meta: Option<Value>,
}

impl CallToolParams {
    /// The token for progress notifications, if the client wants any: a string or a number.
    #[must_use]
    pub fn progress_token(&self) -> Option<Value> {
        let token = self.meta.as_ref()?.get("progressToken")?;
        (token.is_string() || token.is_number()).then(|| token.clone())
    }
}

/// The result of `tools/call`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// The content.
    pub content: Vec<Content>,
    /// The tool ran and failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl CallToolResult {
    /// A result of one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: false }
    }

    /// A result of a tool that ran and failed.
    #[must_use]
    pub fn failure(message: impl Into<String>) -> Self {
        Self { content: vec![Content::text(message)], is_error: true }
    }
}

/// A root folder of the client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Root {
    /// `file://` and a path.
    pub uri: String,
}

/// The result of `roots/list`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ListRootsResult {
    /// Its folders.
    #[serde(default)]
    pub roots: Vec<Root>,
}

/// `notifications/cancelled`, from the client.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledParams<'a> {
    /// The request to cancel.
    #[serde(borrow)]
    pub request_id: &'a RawValue,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_version_is_taken_and_an_unknown_one_gets_the_latest() {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(ProtocolVersion::negotiate(version).as_str(), version);
        }
        for version in ["", "1.0", "2023-01-01", "2099-01-01"] {
            assert_eq!(ProtocolVersion::negotiate(version), ProtocolVersion::LATEST);
        }
    }

    #[test]
    fn one_version_has_batches() {
        let with: Vec<_> = ProtocolVersion::ALL.into_iter().filter(|version| version.allows_batches()).collect();
        assert_eq!(with, [ProtocolVersion::V2025_03_26]);
    }

    #[test]
    fn only_a_failure_is_marked() {
        let json = |result| serde_json::to_string(&result).unwrap();
        assert_eq!(json(CallToolResult::text("x")), r#"{"content":[{"type":"text","text":"x"}]}"#);
        assert_eq!(json(CallToolResult::failure("x")), r#"{"content":[{"type":"text","text":"x"}],"isError":true}"#);
    }
}
