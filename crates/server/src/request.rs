//! A client's request: who asks, what serves it, and how it is answered.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, value::RawValue};
use tokio::sync::{Semaphore, watch};

use claude_ide_protocol::{
    jsonrpc::{ErrorCode, ErrorObject},
    mcp::CallToolResult,
};
use claude_ide_rpc::{Kind, Refusal};

use crate::{
    editor::{ClientId, Editor, EditorCall, EditorError},
    notifier::Notifier,
    offered::Offered,
    options::{ServerOptions, Workspace},
    path_map::PathMap,
    tools::{InvalidArgument, Question, Toolbox, UnexpectedReply},
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

/// A client's access to the server.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) services: Arc<Services>,
    /// The endpoint's name.
    pub(crate) endpoint: &'static str,
    /// The endpoint's tools.
    pub(crate) tools: Arc<Toolbox>,
    /// Size limit of a file that is read for it.
    pub(crate) message_bytes: usize,
    pub(crate) client: ClientId,
    /// See [`crate::ClientInfo::mapped`].
    pub(crate) mapped: bool,
    /// The client's first folder.
    pub(crate) root: Option<PathBuf>,
    /// The other end of its connection; `None` over HTTP.
    pub(crate) peer: Option<Arc<claude_ide_http::Caller>>,
    /// The process that it says it is.
    pub(crate) pid: Option<u32>,
}

impl Caller {
    /// Whether it is certainly a process of this user on this machine. A tunnel's end is one too (`ssh -R`), but not the
    /// process that the client says it is.
    async fn is_here(&self) -> bool {
        let Some(peer) = self.peer.as_ref().filter(|_| !self.mapped) else { return false };
        peer.process().await.is_some_and(|process| Some(process.pid) == self.pid)
    }

    /// Arguments of a call that runs a client's code: the user is asked first unless the client is certainly of this
    /// machine.
    pub(crate) async fn with_confirmation(&self, mut args: Map<String, Value>) -> Map<String, Value> {
        if !self.is_here().await {
            args.insert("confirm".to_owned(), Value::Bool(true));
        }
        args
    }

    /// Calls the editor. The reply has the client's paths.
    pub(crate) fn call(
        &self,
        name: &'static str,
        args: Map<String, Value>,
        progress: Option<Value>,
    ) -> impl Future<Output = Result<Box<RawValue>, EditorError>> + Send + use<> {
        let reply = self.services.editor.call(EditorCall { client: self.client, name, args, progress });
        let caller = self.clone();
        async move { reply.await.map(|reply| caller.path_map().and_then(|map| map.outgoing(&reply)).unwrap_or(reply)) }
    }

    /// How this client sees folders, if it sees any under another path.
    pub(crate) fn path_map(&self) -> Option<&PathMap> {
        self.mapped.then_some(&self.services.options.path_map)
    }

    /// The client's message with paths of this machine, if it has others.
    pub(crate) fn incoming(&self, message: &RawValue) -> Option<Box<RawValue>> {
        self.path_map()?.incoming(message)
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
