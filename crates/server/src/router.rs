//! From a method to what serves it: the one place that knows every method and says which do not exist.
//!
//! What needs no editor and no disk is answered at once, on the runtime, so it is prompt while the editor is busy.

use std::{collections::BTreeMap, pin::Pin, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::{Semaphore, watch};

use claude_ide_protocol::{
    jsonrpc::{ErrorCode, ErrorObject},
    mcp::{CallToolParams, CallToolResult},
};

use crate::{
    editor::{ClientId, Editor, EditorCall, EditorError},
    methods,
    notifier::Notifier,
    options::{ServerOptions, Workspace},
    tools::{self, Arguments, InvalidArgument, Question, Work},
};

/// How many files may be read, written or listed at the same time; further ones wait.
const DISK_WORKERS: usize = 4;

/// What serving a request needs; shared by all clients.
pub(crate) struct Services {
    pub(crate) options: ServerOptions,
    pub(crate) editor: Arc<dyn Editor>,
    pub(crate) notifier: Notifier,
    pub(crate) workspace: watch::Sender<Workspace>,
    pub(crate) disk: Arc<Semaphore>,
    /// `tools/list`, written once.
    tools_list: Arc<RawValue>,
}

impl Services {
    pub(crate) fn new(options: ServerOptions, editor: Arc<dyn Editor>) -> Self {
        let list = serde_json::value::to_raw_value(&tools::list(&options.hidden_tools));
        Self {
            editor,
            notifier: Notifier::default(),
            workspace: watch::Sender::new(options.workspace.clone()),
            disk: Arc::new(Semaphore::new(DISK_WORKERS)),
            // The schemas are constants, and a test writes them all.
            tools_list: list.unwrap_or_else(|_| RawValue::NULL.to_owned()).into(),
            options,
        }
    }
}

/// Why a request was not served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("method not found: {0}")]
    MethodNotFound(String),
    #[error("invalid request: {0}")]
    InvalidRequest(String),
    #[error(transparent)]
    InvalidArgument(#[from] InvalidArgument),
    /// The editor found the arguments wrong.
    #[error("{0}")]
    InvalidParams(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Busy(String),
}

impl RequestError {
    /// The one place that knows which failure has which code.
    pub(crate) fn into_object(self) -> ErrorObject {
        let code = match &self {
            Self::MethodNotFound(_) => ErrorCode::MethodNotFound,
            Self::InvalidRequest(_) => ErrorCode::InvalidRequest,
            Self::InvalidArgument(_) | Self::InvalidParams(_) => ErrorCode::InvalidParams,
            Self::Failed(_) => ErrorCode::InternalError,
            Self::Busy(_) => ErrorCode::Busy,
        };
        ErrorObject { code, message: self.to_string().into() }
    }
}

impl From<EditorError> for RequestError {
    fn from(error: EditorError) -> Self {
        match error {
            EditorError::InvalidParams(message) => Self::InvalidParams(message),
            EditorError::Failed(message) => Self::Failed(message),
            EditorError::Busy => Self::Busy(error.to_string()),
            EditorError::Closed => Self::Failed(error.to_string()),
        }
    }
}

/// The `result` of an answer.
#[derive(Debug)]
pub(crate) enum Payload {
    Empty,
    Shared(Arc<RawValue>),
    Raw(Box<RawValue>),
    Json(Value),
    Tool(CallToolResult),
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => BTreeMap::<(), ()>::new().serialize(serializer),
            Self::Shared(raw) => raw.serialize(serializer),
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Json(value) => value.serialize(serializer),
            Self::Tool(result) => result.serialize(serializer),
        }
    }
}

pub(crate) type Outcome = Result<Payload, RequestError>;

/// An answer that takes a while. Dropped to cancel.
pub(crate) type Later = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What an answer waits for, which matters when the editor goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// The editor alone: without it there will be no answer.
    Editor,
    /// The disk, perhaps after the editor: let it finish.
    Disk,
}

/// How a request is served.
pub(crate) enum Routed {
    Now(Outcome),
    Later(Later, WaitsFor),
}

impl Routed {
    fn tool(result: CallToolResult) -> Self {
        Self::Now(Ok(Payload::Tool(result)))
    }
}

/// Finds out how a request is served. `initialize` is the client's own.
///
/// `has_room` says whether an answer may take a while; what is answered at once is never refused for want of room.
pub(crate) fn route(
    services: &Arc<Services>,
    client: ClientId,
    method: &str,
    params: Option<&RawValue>,
    has_room: impl FnOnce() -> Result<(), RequestError>,
) -> Routed {
    let json = |value| Ok(Routed::Now(Ok(Payload::Json(value))));
    let routed = match method {
        "ping" => Ok(Routed::Now(Ok(Payload::Empty))),
        "tools/list" => Ok(Routed::Now(Ok(Payload::Shared(Arc::clone(&services.tools_list))))),
        "resources/list" => json(json!({ "resources": [] })),
        "resources/templates/list" => json(json!({ "resourceTemplates": [] })),
        "prompts/list" => json(json!({ "prompts": [] })),
        "tools/call" => has_room().and_then(|()| call_tool(services, client, params)),
        _ => has_room().and_then(|()| methods::route(services, client, method, params)),
    };
    routed.unwrap_or_else(|error| Routed::Now(Err(error)))
}

fn call_tool(services: &Arc<Services>, client: ClientId, params: Option<&RawValue>) -> Result<Routed, RequestError> {
    let params = params.ok_or_else(|| InvalidArgument::new("params", "missing"))?;
    let CallToolParams { name, arguments } = parse_call(params)?;
    let tool = tools::find(&name, &services.options.hidden_tools)
        .ok_or_else(|| InvalidArgument::new("name", format!("there is no tool {name:?}")))?;
    let args = Arguments::from(arguments.unwrap_or_default());
    let workspace = services.workspace.borrow();
    let context = tools::Context { workspace: &workspace, selections: services.notifier.selections() };
    match tool.work {
        Work::Answer(answer) => Ok(Routed::tool(answer(args, &context)?)),
        Work::Ask(name, prepare) => {
            let Question { args, shape } = prepare(args, &context)?;
            let reply = services.editor.call(EditorCall { client, name, args });
            let tool = tool.name;
            let later = async move {
                match reply.await {
                    Ok(reply) => Ok(Payload::Tool(shape(reply).unwrap_or_else(|error| {
                        tracing::error!(tool, %error, "the editor broke its contract");
                        CallToolResult::failure(error.to_string())
                    }))),
                    Err(EditorError::Failed(message)) => Ok(Payload::Tool(CallToolResult::failure(message))),
                    Err(error) => Err(error.into()),
                }
            };
            Ok(Routed::Later(Box::pin(later), WaitsFor::Editor))
        }
    }
}

fn parse_call(params: &RawValue) -> Result<CallToolParams, RequestError> {
    serde_json::from_str(params.get()).map_err(|error| {
        // Which member is bad is found out only now, when it matters.
        let bad = || -> Result<InvalidArgument, InvalidArgument> {
            let mut members = Arguments::parse("params", Some(params))?;
            members.string("name")?;
            members.optional_object("arguments")?;
            Ok(InvalidArgument::new("params", error))
        };
        bad().unwrap_or_else(|bad| bad).into()
    })
}
