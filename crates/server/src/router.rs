//! Routes the methods of a client that is initialized, and rejects unknown ones. The handshake is in `client`.
//!
//! Requests without editor or disk are answered at once on the runtime, so they are prompt while the editor is busy.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::{Value, value::RawValue};
use tokio::sync::{Semaphore, watch};

use claude_ide_protocol::{
    jsonrpc::{ErrorCode, ErrorObject},
    mcp::{CallToolParams, CallToolResult},
};
use claude_ide_rpc::{Kind, Refusal};

use crate::{
    editor::{Editor, EditorError},
    endpoint::IDE,
    hooks,
    methods::{Caller, Offered},
    notifier::Notifier,
    options::{ServerOptions, Workspace},
    tools::{self, Arguments, InvalidArgument, Question, Touches, UnexpectedReply},
    write_order::WriteOrder,
};

/// Limit of concurrent file operations; further ones wait.
const DISK_WORKERS: usize = 4;

/// The services for requests; shared by all clients.
pub(crate) struct Services {
    pub(crate) options: ServerOptions,
    pub(crate) editor: Arc<dyn Editor>,
    pub(crate) notifier: Notifier,
    pub(crate) offered: Offered,
    pub(crate) workspace: watch::Sender<Workspace>,
    pub(crate) disk: Arc<Semaphore>,
    pub(crate) writes: WriteOrder,
}

impl Services {
    pub(crate) fn new(options: ServerOptions, editor: Arc<dyn Editor>) -> Self {
        Self {
            editor,
            notifier: Notifier::new(options.path_map.clone()),
            offered: Offered::default(),
            workspace: watch::Sender::new(options.workspace.clone()),
            disk: Arc::new(Semaphore::new(DISK_WORKERS)),
            writes: WriteOrder::default(),
            options,
        }
    }
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("method not found: {0}")]
    MethodNotFound(String),
    #[error("invalid request: {0}")]
    InvalidRequest(String),
    #[error(transparent)]
    InvalidArgument(#[from] InvalidArgument),
    /// The editor rejected the arguments.
    #[error("{0}")]
    InvalidParams(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Busy(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<RequestError> for ErrorObject {
    /// The only mapping from failures to error codes.
    fn from(error: RequestError) -> Self {
        let code = match &error {
            RequestError::MethodNotFound(_) => ErrorCode::MethodNotFound,
            RequestError::InvalidRequest(_) => ErrorCode::InvalidRequest,
            RequestError::InvalidArgument(_) | RequestError::InvalidParams(_) => ErrorCode::InvalidParams,
            RequestError::Failed(_) => ErrorCode::InternalError,
            RequestError::Busy(_) => ErrorCode::Busy,
            RequestError::Refused(refusal) => refusal.code(),
        };
        Self { code, message: error.to_string().into() }
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

/// The `result` of a response.
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

/// Starts the work for a response, when its turn has come.
pub(crate) type Later = claude_ide_rpc::Later<Payload, RequestError>;

/// What a response waits for; matters when the editor exits, and for a client's concurrency limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// The editor: without it there will be no response.
    Editor,
    /// A decision of the user. Nothing may wait behind it.
    User,
    /// The disk, perhaps after the editor: let it finish.
    Disk,
}

impl Kind for WaitsFor {
    /// A file has up to `max_message_bytes`; the reply of a user's decision is as large as its request, which has its
    /// own limit.
    fn cost(self) -> usize {
        match self {
            Self::User => 0,
            Self::Editor => 1,
            Self::Disk => 512,
        }
    }
}

/// How a request is served.
pub(crate) enum Routed {
    Now(Outcome),
    Later(Later, WaitsFor),
}

impl Routed {
    pub(crate) fn tool(result: CallToolResult) -> Self {
        Self::Now(Ok(Payload::Tool(result)))
    }
}

/// Routes a request. `initialize` is handled by the client.
///
/// `has_room` checks whether a response may take time; immediate ones are never refused for lack of space.
pub(crate) fn route(
    caller: &Caller,
    method: &str,
    params: Option<&RawValue>,
    has_room: impl FnOnce() -> Result<(), Refusal>,
) -> Routed {
    let has_room = || has_room().map_err(RequestError::from);
    let routed = match method {
        "ping" => Ok(Routed::Now(Ok(Payload::Empty))),
        "tools/list" => Ok(Routed::Now(Ok(Payload::Shared(caller.endpoint.tools.list())))),
        "tools/call" => has_room().and_then(|()| call_tool(caller, params)),
        _ if caller.endpoint.methods.has(method) => {
            has_room().and_then(|()| caller.endpoint.methods.route(caller.clone(), method, params))
        }
        _ => Err(RequestError::MethodNotFound(method.to_owned())),
    };
    routed.unwrap_or_else(|error| Routed::Now(Err(error)))
}

fn call_tool(caller: &Caller, params: Option<&RawValue>) -> Result<Routed, RequestError> {
    let params = params.ok_or_else(|| InvalidArgument::new("params", "missing"))?;
    let params = parse_call(params)?;
    let progress = params.progress_token();
    let CallToolParams { name, arguments, .. } = params;
    let Caller { services, endpoint, .. } = caller;
    if endpoint.name == IDE
        && let Some(hook) = hooks::find(&name)
    {
        return Ok(hook(caller, &arguments.unwrap_or_default()));
    }
    let tool =
        endpoint.tools.find(&name).ok_or_else(|| InvalidArgument::new("name", format!("there is no tool {name:?}")))?;
    let args = Arguments::from(arguments.unwrap_or_default());
    let workspace = services.workspace.borrow();
    let context = tools::Context {
        workspace: &workspace,
        selections: services.notifier.selections(),
        mapped: caller.mapped,
        root: caller.root.as_deref(),
    };
    match &tool.work {
        tools::Work::Answer(answer) => Ok(Routed::tool(answer(&context))),
        tools::Work::Ask(name, takes) => {
            let question = takes.question(args, &context)?;
            Ok(Routed::Later(ask(caller, (tool.name, name), progress, question), WaitsFor::Editor))
        }
        tools::Work::AskUser(name, takes) => {
            let question = takes.question(args, &context)?;
            // The token of the discovery file alone does not run code on this machine.
            if endpoint.name == IDE && tool.hints.touches == Some(Touches::World) {
                return Ok(Routed::Later(run_code(caller, (tool.name, name), progress, question), WaitsFor::User));
            }
            Ok(Routed::Later(ask(caller, (tool.name, name), progress, question), WaitsFor::User))
        }
    }
}

/// Sends a tool's call to the editor.
pub(crate) fn ask(
    caller: &Caller,
    (tool, name): (&'static str, &'static str),
    progress: Option<Value>,
    Question { args, shape }: Question,
) -> Later {
    let caller = caller.clone();
    Box::new(move || {
        let reply = caller.call(name, args, progress);
        Box::pin(async move {
            match reply.await {
                Ok(reply) => Ok(Payload::Tool(shaped(tool, shape, reply))),
                Err(EditorError::Failed(message)) => Ok(Payload::Tool(CallToolResult::failure(message))),
                Err(error) => Err(error.into()),
            }
        })
    })
}

/// Like [`ask`]: the user confirms the code of a client that may be of another machine.
fn run_code(
    caller: &Caller,
    (tool, name): (&'static str, &'static str),
    progress: Option<Value>,
    Question { args, shape }: Question,
) -> Later {
    let caller = caller.clone();
    Box::new(move || {
        Box::pin(async move {
            let args = caller.with_confirmation(args).await;
            ask(&caller, (tool, name), progress, Question { args, shape })().await
        })
    })
}

fn shaped(
    tool: &'static str,
    shape: impl FnOnce(Box<RawValue>) -> Result<CallToolResult, UnexpectedReply>,
    reply: Box<RawValue>,
) -> CallToolResult {
    shape(reply).unwrap_or_else(|error| {
        tracing::error!(tool, %error, "the editor broke its contract");
        CallToolResult::failure(error.to_string())
    })
}

fn parse_call(params: &RawValue) -> Result<CallToolParams, RequestError> {
    serde_json::from_str(params.get()).map_err(|error| {
        // The bad member is only determined in case of an error.
        let bad = || -> Result<InvalidArgument, InvalidArgument> {
            let mut members = Arguments::parse("params", Some(params))?;
            members.string("name")?;
            members.optional_object("arguments")?;
            Ok(InvalidArgument::new("params", error))
        };
        bad().unwrap_or_else(|bad| bad).into()
    })
}
