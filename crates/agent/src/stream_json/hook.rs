//! What a CLI in a terminal asks its user, told by its hook `PermissionRequest`: the same questions and answers as `can_use_tool`.
//!
//! Source: CLI 2.1.329. The dialog in the terminal and the hook wait together; the first answer counts. `AskUserQuestion` and
//! `ExitPlanMode` are allowed only by an answer that has their arguments; an answer for other tools has them where they change,
//! since the CLI judges such a call anew.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::outgoing::Permission;
use super::{NO, permission};
use crate::ask::Ask;
use crate::lenient;

/// A call that the CLI asks about, and what answers to it are made of.
#[derive(Debug)]
pub struct HookAsk {
    input: Box<RawValue>,
    suggestions: Vec<Value>,
    wants_input: bool,
}

/// What the user decided.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// The call may run.
    Allow {
        /// Which of the suggested rules hold from now on, from 0.
        #[serde(default)]
        rules: Vec<usize>,
        /// Arguments that are to be others. The rest stays byte for byte.
        #[serde(default)]
        changes: BTreeMap<String, Value>,
    },
    /// It may not.
    Deny {
        /// Why, for Claude, which goes on; none: it stops.
        #[serde(default)]
        message: Option<String>,
    },
}

impl HookAsk {
    /// Reads what the hook was given: the tool's name, its arguments and the suggested rules as JSON. Nothing: it cannot be shown
    /// in full, so only the dialog can ask it.
    #[must_use]
    pub fn read(tool: &str, input: &str, suggestions: &str) -> Option<(Ask, Self)> {
        let (arguments, is_whole): (Value, bool) = lenient::read(input)?;
        let suggestions: Vec<Value> = serde_json::from_str(suggestions).unwrap_or_default();
        let input = RawValue::from_string(input.to_owned()).ok().filter(|_| is_whole && arguments.is_object())?;
        let ask = json!({ "tool_name": tool, "input": arguments, "permission_suggestions": suggestions });
        let wants_input = matches!(tool, "AskUserQuestion" | "ExitPlanMode");
        Some((permission::tool(&ask), Self { input, suggestions, wants_input }))
    }

    /// The output of the hook.
    #[must_use]
    pub fn output(&self, decision: HookDecision) -> Value {
        let decision = match decision {
            HookDecision::Allow { rules, changes } => {
                let rules = rules.iter().filter_map(|at| self.suggestions.get(*at)).cloned().collect();
                let input = (self.wants_input || !changes.is_empty()).then_some(&*self.input);
                Permission::allow(input, changes, rules)
            }
            HookDecision::Deny { message } => {
                let interrupt = message.is_none();
                Permission::deny(message.unwrap_or_else(|| NO.to_owned()), interrupt)
            }
        };
        json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tool: &str, input: &str) -> (Ask, HookAsk) {
        HookAsk::read(tool, input, r#"[{"type":"setMode","mode":"acceptEdits","destination":"session"}]"#).unwrap()
    }

    fn decided(tool: &str, input: &str, decision: &str) -> Value {
        let output = read(tool, input).1.output(serde_json::from_str(decision).unwrap());
        output["hookSpecificOutput"]["decision"].clone()
    }

    #[test]
    fn a_call_is_asked_about_as_in_a_chat() {
        let (Ask::Permission(asked), _) = read("Bash", r#"{"command":"ls"}"#) else { panic!() };
        assert_eq!((asked.title.as_str(), asked.parts.len()), ("Claude wants to use Bash", 1));
        assert_eq!(asked.rules, ["mode acceptEdits (this session)"]);
        let plan = read("ExitPlanMode", r##"{"plan":"# It","planFilePath":"/p"}"##).0;
        assert!(matches!(plan, Ask::Plan { plan, .. } if plan == "# It"));
    }

    #[test]
    fn what_cannot_be_shown_in_full_is_not_asked() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(99), "]".repeat(99));
        for input in [deep.as_str(), r#"{"a":1e999}"#, "[]", "", "{"] {
            assert!(HookAsk::read("Bash", input, "[]").is_none(), "{input}");
        }
        assert!(HookAsk::read("Bash", "{}", "").is_some(), "without suggestions");
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
    }

    #[test]
    fn a_no_without_words_stops_claude() {
        let no = |decision| decided("Bash", "{}", decision);
        let words = json!({ "behavior": "deny", "message": "not there" });
        assert_eq!(no(r#"{"deny":{"message":"not there"}}"#), words);
        assert_eq!(no(r#"{"deny":{}}"#)["interrupt"], json!(true));
    }
}
