//! Routes the methods of a client that is initialized, and rejects unknown ones. The handshake is in `client`.
//!
//! Requests without editor or disk are answered at once on the runtime, so they are prompt while the editor is busy.

use serde_json::{Value, value::RawValue};

use claude_ide_protocol::mcp::CallToolParams;
use claude_ide_rpc::Refusal;

use crate::{
    endpoint_name::IDE,
    hooks,
    methods::Methods,
    request::{Caller, Later, Payload, RequestError, Routed, WaitsFor, ask},
    tools::{self, Arguments, InvalidArgument, Question, Touches},
};

/// Routes a request. `initialize` is handled by the client.
///
/// `has_room` checks whether a response may take time; immediate ones are never refused for lack of space.
pub(crate) fn route(
    caller: &Caller,
    methods: &Methods,
    method: &str,
    params: Option<&RawValue>,
    has_room: impl FnOnce() -> Result<(), Refusal>,
) -> Routed {
    let has_room = || has_room().map_err(RequestError::from);
    let routed = match method {
        "ping" => Ok(Routed::Now(Ok(Payload::Empty))),
        "tools/list" => Ok(Routed::Now(Ok(Payload::Shared(caller.tools.list())))),
        "tools/call" => has_room().and_then(|()| call_tool(caller, params)),
        _ if methods.has(method) => has_room().and_then(|()| methods.route(caller.clone(), method, params)),
        _ => Err(RequestError::MethodNotFound(method.to_owned())),
    };
    routed.unwrap_or_else(|error| Routed::Now(Err(error)))
}

fn call_tool(caller: &Caller, params: Option<&RawValue>) -> Result<Routed, RequestError> {
    let params = params.ok_or_else(|| InvalidArgument::new("params", "missing"))?;
    let params = parse_call(params)?;
    let progress = params.progress_token();
    let CallToolParams { name, arguments, .. } = params;
    let Caller { services, endpoint, tools, .. } = caller;
    if *endpoint == IDE
        && let Some(hook) = hooks::find(&name)
    {
        return Ok(hook(caller, &arguments.unwrap_or_default()));
    }
    let tool = tools.find(&name).ok_or_else(|| InvalidArgument::new("name", format!("there is no tool {name:?}")))?;
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
            if *endpoint == IDE && tool.hints.touches == Some(Touches::World) {
                return Ok(Routed::Later(run_code(caller, (tool.name, name), progress, question), WaitsFor::User));
            }
            Ok(Routed::Later(ask(caller, (tool.name, name), progress, question), WaitsFor::User))
        }
    }
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
