//! What the hooks of a CLI call (`lua/claude-ide/terminal/hooks.lua`): tools that clients are not told of.
//!
//! Source: CLI 2.1.329. The arguments are texts, `tool_input` as JSON; the answer is the output of the hook, and `{}` leaves all to
//! the CLI. Only these events are hooked: their hooks fail silently, where those of other events print an error in the terminal and
//! hold a call up for seconds while the editor is gone.

use std::{path::PathBuf, time::Duration};

use serde_json::{Map, Value};

use claude_ide_agent::{
    Ask,
    stream_json::{HookAgent, HookAsk, HookDecision},
};
use claude_ide_protocol::mcp::CallToolResult;
use claude_ide_session::described_agent;

use crate::{
    editor::Displayed,
    request::{Caller, Later, Payload, Routed, WaitsFor, ask},
    tools::{Question, parse_reply},
};

/// Serves one call.
pub(crate) type Hook = fn(&Caller, &Map<String, Value>) -> Routed;

/// The hook of that name.
pub(crate) fn find(name: &str) -> Option<Hook> {
    match name {
        "hook_permission" => Some(permission),
        "hook_form" => Some(form),
        "hook_display" => Some(display),
        _ => None,
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Leaves the decision to the CLI.
const NO_OUTPUT: &str = "{}";

fn no_output() -> Routed {
    Routed::tool(CallToolResult::text(NO_OUTPUT))
}

/// `PermissionRequest`: the user is asked in the editor, beside the CLI's own dialog, or before it by a subagent.
fn permission(caller: &Caller, arguments: &Map<String, Value>) -> Routed {
    if text(arguments, "agent").is_empty() {
        return ask_permission(caller, arguments, "", None);
    }
    let (caller, arguments) = (caller.clone(), arguments.clone());
    let of_subagent: Later = Box::new(move || {
        Box::pin(async move {
            let task = task_of_subagent(&caller, &arguments).await.unwrap_or_default();
            match ask_permission(&caller, &arguments, &task, Some(limit(&arguments))) {
                Routed::Now(outcome) => outcome,
                Routed::Later(answer, _) => answer().await,
            }
        })
    });
    Routed::Later(of_subagent, WaitsFor::User)
}

fn ask_permission(caller: &Caller, arguments: &Map<String, Value>, task: &str, held_for: Option<Duration>) -> Routed {
    let text = |name| text(arguments, name);
    let by = HookAgent { id: text("agent"), kind: text("agent_type"), task };
    let asked = HookAsk::read(text("tool"), text("input"), text("suggestions"), by);
    ask_user(caller, "hook_permission", asked, (text("tool"), text("input")), held_for)
}

/// The subagent's task, which the CLI writes beside the transcript before the subagent begins (2.1.329).
async fn task_of_subagent(caller: &Caller, arguments: &Map<String, Value>) -> Option<String> {
    let (transcript, id) = (PathBuf::from(text(arguments, "transcript")), text(arguments, "agent").to_owned());
    let read = move || transcript.is_absolute().then(|| described_agent(&transcript, &id)).flatten();
    caller.on_disk(read).await.ok()??.description
}

/// `Elicitation`: a form of an MCP server, before the CLI's own dialog.
fn form(caller: &Caller, arguments: &Map<String, Value>) -> Routed {
    let text = |name| text(arguments, name);
    let asked = HookAsk::read_form(text("server"), text("message"), text("schema"), text("url"));
    ask_user(caller, "hook_form", asked, ("", ""), Some(limit(arguments)))
}

/// How long the CLI's dialog may be held back.
fn limit(arguments: &Map<String, Value>) -> Duration {
    Duration::from_secs(text(arguments, "wait").parse().unwrap_or_default())
}

/// `call`: the tool and its arguments as JSON, by which the editor knows the call's result. `held_for`: the CLI opens its dialog only
/// after the answer, and for so long at most it waits for one. What cannot be asked here is left to the dialog.
fn ask_user(
    caller: &Caller,
    hook: &'static str,
    asked: Option<(Ask, HookAsk)>,
    call: (&str, &str),
    held_for: Option<Duration>,
) -> Routed {
    let asked = asked.and_then(|(shown, asked)| Some((serde_json::to_value(shown).ok()?, asked)));
    let Some((shown, asked)) = asked.filter(|_| held_for != Some(Duration::ZERO)) else { return no_output() };
    let holds_dialog = held_for.is_some();
    let client = caller.clone();
    let (tool, input) = (call.0.into(), call.1.into());
    let fields = [("ask", shown), ("holds_dialog", holds_dialog.into()), ("tool", tool), ("input", input)];
    let question = Question::new(fields, move |reply| {
        let decision: Option<HookDecision> = parse_reply(&reply)?;
        let Some(decision) = decision else { return Ok(CallToolResult::text(NO_OUTPUT)) };
        let mut output = asked.output(decision);
        if let Some(map) = client.path_map() {
            map.outgoing_value(&mut output);
        }
        let output = output.to_string();
        Ok(CallToolResult::text(output))
    });
    let answer = ask(caller, (hook, "permission"), None, question);
    let Some(limit) = held_for else { return Routed::Later(answer, WaitsFor::User) };
    let until_then: Later = Box::new(move || {
        let answer = answer();
        Box::pin(async move {
            let none = || Ok(Payload::Tool(CallToolResult::text(NO_OUTPUT)));
            tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| none())
        })
    });
    Routed::Later(until_then, WaitsFor::User)
}

/// `MessageDisplay`: a batch of lines that Claude says. The CLI shows it once this has answered. A subagent's are not of
/// the session's own conversation.
fn display(caller: &Caller, arguments: &Map<String, Value>) -> Routed {
    let text = |name| text(arguments, name);
    if let Some(index) = text("index").parse().ok().filter(|_| text("agent").is_empty()) {
        caller.services.editor.displayed(&Displayed {
            session: text("session"),
            message: text("message"),
            index,
            is_final: text("final") == "true",
            delta: text("delta"),
        });
    }
    no_output()
}
