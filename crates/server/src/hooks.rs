//! What the hooks of a CLI call (`lua/claude-ide/terminal/hooks.lua`): tools that clients are not told of.
//!
//! Source: CLI 2.1.329. The arguments are texts, `tool_input` as JSON; the answer is the output of the hook, and `{}` leaves all to
//! the CLI. Only these two events are hooked: their hooks fail silently, where those of other events print an error in the terminal
//! and hold a call up for seconds while the editor is gone.

use serde_json::{Map, Value};

use claude_ide_agent::stream_json::{HookAsk, HookDecision};
use claude_ide_protocol::mcp::CallToolResult;

use crate::{
    editor::Displayed,
    methods::Caller,
    router::{Routed, WaitsFor, ask},
    tools::{Question, parse_reply},
};

/// Serves one call.
pub(crate) type Hook = fn(&Caller, &Map<String, Value>) -> Routed;

/// The hook of that name.
pub(crate) fn find(name: &str) -> Option<Hook> {
    match name {
        "hook_permission" => Some(permission),
        "hook_display" => Some(display),
        _ => None,
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn no_output() -> Routed {
    Routed::tool(CallToolResult::text("{}"))
}

/// `PermissionRequest`: the user is asked in the editor, beside the CLI's own dialog.
fn permission(caller: &Caller, arguments: &Map<String, Value>) -> Routed {
    // The dialog of a subagent opens only once its hook has answered.
    if !text(arguments, "agent").is_empty() {
        return no_output();
    }
    let asked = HookAsk::read(text(arguments, "tool"), text(arguments, "input"), text(arguments, "suggestions"));
    let asked = asked.and_then(|(shown, asked)| Some((serde_json::to_value(shown).ok()?, asked)));
    let Some((shown, asked)) = asked else { return no_output() };
    let client = caller.clone();
    let question = Question::new([("ask", shown)], move |reply| {
        let decision: Option<HookDecision> = parse_reply(&reply)?;
        let mut output = decision.map_or_else(|| Value::Object(Map::new()), |decision| asked.output(decision));
        if let Some(map) = client.path_map() {
            map.outgoing_value(&mut output);
        }
        let output = output.to_string();
        Ok(CallToolResult::text(output))
    });
    Routed::Later(ask(caller, ("hook_permission", "permission"), None, question), WaitsFor::User)
}

/// `MessageDisplay`: a batch of lines that Claude says. The CLI shows it once this has answered.
fn display(caller: &Caller, arguments: &Map<String, Value>) -> Routed {
    let text = |name| text(arguments, name);
    if let Ok(index) = text("index").parse() {
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
