//! What is written to the CLI. Each is one line: one that the CLI cannot parse ends it.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A prompt.
#[derive(Debug, serde::Serialize)]
pub(super) struct UserMessage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    message: Content<'a>,
    parent_tool_use_id: Option<()>,
    session_id: &'static str,
    /// Without one nothing is said of what becomes of it.
    uuid: &'a str,
}

#[derive(Debug, serde::Serialize)]
struct Content<'a> {
    role: &'static str,
    content: &'a [Value],
}

impl<'a> UserMessage<'a> {
    pub(super) fn new(uuid: &'a str, content: &'a [Value]) -> Self {
        Self {
            kind: "user",
            message: Content { role: "user", content },
            parent_tool_use_id: None,
            session_id: "",
            uuid,
        }
    }
}

/// Something asked of the CLI.
#[derive(Debug, serde::Serialize)]
pub(super) struct ControlRequest<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    request_id: &'a str,
    request: BTreeMap<String, Value>,
}

impl<'a> ControlRequest<'a> {
    pub(super) fn new(request_id: &'a str, subtype: &str, fields: impl IntoIterator<Item = (String, Value)>) -> Self {
        let mut request: BTreeMap<String, Value> = fields.into_iter().collect();
        request.insert("subtype".to_owned(), Value::String(subtype.to_owned()));
        Self { kind: "control_request", request_id, request }
    }
}

/// The answer to something that the CLI asked.
#[derive(Debug, serde::Serialize)]
pub(super) struct ControlResponse<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Debug, serde::Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Response<'a> {
    Success { request_id: &'a str, response: Box<Answer> },
    Error { request_id: &'a str, error: &'a str },
}

impl<'a> ControlResponse<'a> {
    pub(super) fn success(request_id: &'a str, answer: Answer) -> Self {
        Self { kind: "control_response", response: Response::Success { request_id, response: Box::new(answer) } }
    }

    pub(super) fn error(request_id: &'a str, error: &'a str) -> Self {
        Self { kind: "control_response", response: Response::Error { request_id, error } }
    }
}

#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Answer {
    /// Goes on as if there were no hook.
    Hook {},
    Permission(Permission),
    Elicitation {
        action: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<BTreeMap<String, Value>>,
    },
}

/// Whether a tool may be used.
#[derive(Debug, serde::Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub(super) enum Permission {
    #[serde(rename_all = "camelCase")]
    Allow {
        updated_input: Input,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        updated_permissions: Vec<Value>,
    },
    Deny {
        message: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interrupt: bool,
    },
}

impl Permission {
    pub(super) fn allow(input: &RawValue, changes: BTreeMap<String, Value>, updated_permissions: Vec<Value>) -> Self {
        Self::Allow { updated_input: Input::new(input, changes), updated_permissions }
    }

    pub(super) fn deny(message: String, interrupt: bool) -> Self {
        Self::Deny { message, interrupt }
    }
}

/// The arguments of a call, some of them changed. What is not stays byte for byte as the CLI wrote it.
#[derive(Debug)]
pub(super) struct Input {
    fields: Vec<(String, Box<RawValue>)>,
    changes: BTreeMap<String, Value>,
}

impl Input {
    fn new(input: &RawValue, changes: BTreeMap<String, Value>) -> Self {
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(input.get()).unwrap_or_default();
        Self { fields: fields.into_iter().collect(), changes }
    }
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.fields.iter().filter(|(key, _)| !self.changes.contains_key(key)) {
            map.serialize_entry(key, value)?;
        }
        for (key, value) in &self.changes {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
