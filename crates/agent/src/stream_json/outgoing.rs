//! Messages to the CLI. Each is one line; the CLI exits on a line that it cannot parse.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, serde::Serialize)]
pub(super) struct UserMessage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    message: Content<'a>,
    parent_tool_use_id: Option<()>,
    session_id: &'static str,
    /// Without it the CLI does not report the prompt's state.
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

/// A request to the CLI.
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

/// A response to the CLI.
#[derive(Debug, serde::Serialize)]
pub(super) struct ControlResponse<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Debug, serde::Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Response<'a> {
    Success { request_id: &'a str, response: Box<Reply> },
    Error { request_id: &'a str, error: &'a str },
}

impl<'a> ControlResponse<'a> {
    pub(super) fn success(request_id: &'a str, answer: Reply) -> Self {
        Self { kind: "control_response", response: Response::Success { request_id, response: Box::new(answer) } }
    }

    pub(super) fn error(request_id: &'a str, error: &'a str) -> Self {
        Self { kind: "control_response", response: Response::Error { request_id, error } }
    }
}

#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Reply {
    /// Continues as if there were no hook.
    Hook {},
    Permission(Permission),
    Elicitation {
        action: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<BTreeMap<String, Value>>,
    },
}

/// The answer to a permission request.
#[derive(Debug, serde::Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub(super) enum Permission {
    #[serde(rename_all = "camelCase")]
    Allow {
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_input: Option<Input>,
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
    /// Denies if changed arguments cannot be inserted. Without `input` the call's own arguments stand.
    pub(super) fn allow(
        input: Option<&RawValue>,
        changes: BTreeMap<String, Value>,
        updated_permissions: Vec<Value>,
    ) -> Self {
        match input.map(|input| Input::new(input, changes)) {
            None => Self::Allow { updated_input: None, updated_permissions },
            Some(Some(input)) => Self::Allow { updated_input: Some(input), updated_permissions },
            Some(None) => Self::deny("The editor could not read the arguments of this call.".to_owned(), false),
        }
    }

    pub(super) fn deny(message: String, interrupt: bool) -> Self {
        Self::Deny { message, interrupt }
    }
}

/// A call's arguments. Unchanged ones stay byte for byte as the CLI wrote them.
#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Input {
    AsItCame(Box<RawValue>),
    Changed(BTreeMap<String, Box<RawValue>>),
}

impl Input {
    fn new(input: &RawValue, changes: BTreeMap<String, Value>) -> Option<Self> {
        if changes.is_empty() {
            return Some(Self::AsItCame(input.to_owned()));
        }
        let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(input.get()).ok()?;
        for (name, value) in changes {
            fields.insert(name, serde_json::value::to_raw_value(&value).ok()?);
        }
        Some(Self::Changed(fields))
    }
}
