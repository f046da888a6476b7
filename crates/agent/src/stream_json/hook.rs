//! What a CLI in a terminal asks its user, told by its hooks `PermissionRequest` and `Elicitation`: the same questions and answers
//! as `can_use_tool` and `elicitation`.
//!
//! Source: CLI 2.1.329. The dialog in the terminal and the hook wait together; the first answer counts. The dialogs of a subagent
//! and of a form open only once their hook has answered. `AskUserQuestion` and
//! `ExitPlanMode` are allowed only by an answer that has their arguments; an answer for other tools has them where they change,
//! since the CLI judges such a call anew.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::outgoing::Permission;
use super::{NO, permission};
use crate::ask::Ask;
use crate::form;
use crate::lenient;

/// What the CLI asks, and what answers to it are made of.
#[derive(Debug)]
pub enum HookAsk {
    /// Whether a tool may be used.
    Tool {
        /// The call's arguments, as they are.
        input: Box<RawValue>,
        /// The rules that the CLI suggests.
        suggestions: Vec<Value>,
        /// Whether a yes must have the arguments.
        wants_input: bool,
    },
    /// A form of an MCP server.
    Form,
}

/// The subagent that asks; empty: the session itself does, or it is not known.
#[derive(Debug, Clone, Copy, Default)]
pub struct HookAgent<'a> {
    /// Its id.
    pub id: &'a str,
    /// "general-purpose", "Explore", …
    pub kind: &'a str,
    /// Its task in a few words.
    pub task: &'a str,
}

/// What the user decided.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// The call may run; a form is filled in.
    Allow {
        /// Which of the suggested rules hold from now on, from 0.
        #[serde(default)]
        rules: Vec<usize>,
        /// Arguments that are to be others, or the values of a form. The rest stays byte for byte.
        #[serde(default)]
        changes: BTreeMap<String, Value>,
        /// The mode that follows.
        #[serde(default)]
        mode: Option<String>,
    },
    /// It may not.
    Deny {
        /// Why, for Claude, which goes on; none: it stops.
        #[serde(default)]
        message: Option<String>,
    },
}

impl HookAsk {
    /// Reads a call: the tool's name, its arguments and the suggested rules as JSON, and who makes it. Nothing: it cannot be shown in
    /// full, so only the dialog can ask it.
    #[must_use]
    pub fn read(tool: &str, input: &str, suggestions: &str, by: HookAgent<'_>) -> Option<(Ask, Self)> {
        let (arguments, is_whole): (Value, bool) = lenient::read(input)?;
        let suggestions: Vec<Value> = serde_json::from_str(suggestions).unwrap_or_default();
        let input = RawValue::from_string(input.to_owned()).ok().filter(|_| is_whole && arguments.is_object())?;
        let ask = json!({
            "tool_name": tool, "input": arguments, "permission_suggestions": suggestions,
            "agent_id": by.id, "agent_type": by.kind, "agent_task": by.task,
        });
        let wants_input = matches!(tool, "AskUserQuestion" | "ExitPlanMode");
        Some((permission::tool(&ask), Self::Tool { input, suggestions, wants_input }))
    }

    /// Reads a form: the server that asks, its words, and the schema as JSON or the address of a page.
    #[must_use]
    pub fn read_form(server: &str, message: &str, schema: &str, url: &str) -> Option<(Ask, Self)> {
        let order = form::order_in_schema(schema);
        let schema = if url.is_empty() {
            lenient::read(schema).and_then(|(schema, is_whole): (Value, bool)| is_whole.then_some(schema))?
        } else {
            Value::Null
        };
        let ask = json!({ "mcp_server_name": server, "message": message, "url": url, "requested_schema": schema });
        Some((permission::form(&ask, order.as_deref()), Self::Form))
    }

    /// The output of the hook.
    #[must_use]
    pub fn output(&self, decision: HookDecision) -> Value {
        let output = match (self, decision) {
            (Self::Tool { input, suggestions, wants_input }, HookDecision::Allow { rules, changes, mode }) => {
                let input = (*wants_input || !changes.is_empty()).then_some(&**input);
                let decision = Permission::allow(input, changes, permission::updates(suggestions, &rules, mode));
                json!({ "hookEventName": "PermissionRequest", "decision": decision })
            }
            (Self::Tool { .. }, HookDecision::Deny { message }) => {
                let interrupt = message.is_none();
                let decision = Permission::deny(message.unwrap_or_else(|| NO.to_owned()), interrupt);
                json!({ "hookEventName": "PermissionRequest", "decision": decision })
            }
            (Self::Form, HookDecision::Allow { changes, .. }) => {
                json!({ "hookEventName": "Elicitation", "action": "accept", "content": changes })
            }
            (Self::Form, HookDecision::Deny { .. }) => json!({ "hookEventName": "Elicitation", "action": "decline" }),
        };
        json!({ "hookSpecificOutput": output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tool: &str, input: &str) -> (Ask, HookAsk) {
        let suggestions = r#"[{"type":"setMode","mode":"acceptEdits","destination":"session"}]"#;
        HookAsk::read(tool, input, suggestions, HookAgent::default()).unwrap()
    }

    fn decided(tool: &str, input: &str, decision: &str) -> Value {
        let output = read(tool, input).1.output(serde_json::from_str(decision).unwrap());
        output["hookSpecificOutput"]["decision"].clone()
    }

    #[test]
    fn a_call_is_asked_about_as_in_a_chat() {
        let (Ask::Permission(asked), _) = read("Bash", r#"{"command":"ls"}"#) else { panic!() };
        assert_eq!((asked.title.as_str(), asked.parts.len()), ("Claude wants to use Bash", 1));
        assert_eq!(asked.rules, ["accept edits of files without asking: mode acceptEdits (this session)"]);
        let by = HookAgent { id: "a0f82dfe", kind: "Explore", task: "Look around" };
        let (Ask::Permission(of_agent), _) = HookAsk::read("Bash", "{}", "", by).unwrap() else { panic!() };
        assert_eq!(of_agent.title, "The subagent Explore (a0f82d) wants to use Bash");
        assert_eq!(of_agent.parts.len(), 1, "{:?}", of_agent.parts);
        let plan = read("ExitPlanMode", r##"{"plan":"# It","planFilePath":"/p"}"##).0;
        assert!(matches!(plan, Ask::Plan { plan, .. } if plan == "# It"));
    }

    #[test]
    fn what_cannot_be_shown_in_full_is_not_asked() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(99), "]".repeat(99));
        for input in [deep.as_str(), r#"{"a":1e999}"#, "[]", "", "{"] {
            assert!(HookAsk::read("Bash", input, "[]", HookAgent::default()).is_none(), "{input}");
        }
        assert!(HookAsk::read("Bash", "{}", "", HookAgent::default()).is_some(), "without suggestions");
    }

    #[test]
    fn a_yes_sends_arguments_only_where_they_are_wanted_or_changed() {
        let bash = |decision| decided("Bash", r#"{"command":"ls","n":1.0}"#, decision);
        assert_eq!(bash(r#"{"allow":{}}"#), json!({ "behavior": "allow" }));
        let suggested = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
        assert_eq!(
            bash(r#"{"allow":{"rules":[0,7]}}"#),
            json!({ "behavior": "allow", "updatedPermissions": [suggested] })
        );
        assert_eq!(
            bash(r#"{"allow":{"changes":{"command":"ls -l"}}}"#)["updatedInput"],
            json!({ "command": "ls -l", "n": 1.0 })
        );
        let plan = decided("ExitPlanMode", "{}", r#"{"allow":{}}"#);
        assert_eq!(plan, json!({ "behavior": "allow", "updatedInput": {} }));
        let plan = decided("ExitPlanMode", r#"{"plan":"it"}"#, r#"{"allow":{"mode":"acceptEdits"}}"#);
        assert_eq!(plan["updatedPermissions"], json!([suggested]));
    }

    #[test]
    fn a_form_is_filled_in_or_declined() {
        let schema = r#"{"properties":{"place":{"type":"string"}},"required":["place"]}"#;
        let (asked, form) = HookAsk::read_form("trips", "Where?", schema, "").unwrap();
        let Ask::Form(asked) = asked else { panic!() };
        assert_eq!((asked.name.as_str(), asked.message.as_str(), asked.fields.len()), ("trips", "Where?", 1));
        let output = |form: &HookAsk, decision| {
            form.output(serde_json::from_str(decision).unwrap())["hookSpecificOutput"].clone()
        };
        let filled_in = json!({ "hookEventName": "Elicitation", "action": "accept", "content": { "place": "Rome" } });
        assert_eq!(output(&form, r#"{"allow":{"changes":{"place":"Rome"}}}"#), filled_in);
        let declined = json!({ "hookEventName": "Elicitation", "action": "decline" });
        assert_eq!(output(&form, r#"{"deny":{"message":"declined"}}"#), declined);
        let (page, _) = HookAsk::read_form("trips", "Pay", "", "https://a.b").unwrap();
        assert!(matches!(page, Ask::Form(page) if page.url.as_deref() == Some("https://a.b")));
        assert!(HookAsk::read_form("trips", "Where?", "{", "").is_none(), "it cannot be shown");
    }

    #[test]
    fn a_no_without_words_stops_claude() {
        let no = |decision| decided("Bash", "{}", decision);
        let words = json!({ "behavior": "deny", "message": "not there" });
        assert_eq!(no(r#"{"deny":{"message":"not there"}}"#), words);
        assert_eq!(no(r#"{"deny":{}}"#)["interrupt"], json!(true));
    }
}
