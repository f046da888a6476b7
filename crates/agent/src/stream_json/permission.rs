//! Converts the CLI's permission requests for the user.

use std::path::Path;

use claude_ide_session::prompt_input::{plain, squeezed};
use claude_ide_session::render::head;
use serde_json::{Map, Value, json};

use crate::ask::{
    Ask, Change, ChoiceKind, Edit, Form, Part, Permission, PermissionChoice, Question, QuestionOption, Style,
};
use crate::form;
use crate::json::{list, text};

pub(super) const ALLOW: &str = "allow";
pub(super) const REJECT: &str = "reject";

/// `can_use_tool`.
pub(super) fn tool(ask: &Value) -> Ask {
    let call = text(ask.get("tool_use_id"));
    let input = ask.get("input").unwrap_or(&Value::Null);
    match ask.get("tool_name").and_then(Value::as_str) {
        Some("AskUserQuestion") => {
            let questions = list(input.get("questions")).filter_map(question).collect::<Vec<_>>();
            if !questions.is_empty() {
                return Ask::Questions { call, questions };
            }
        }
        Some("ExitPlanMode") => {
            if let Some(plan) = text(input.get("plan")).filter(|plan| !plan.trim().is_empty()) {
                return Ask::Plan { call, plan };
            }
        }
        _ => {}
    }
    Ask::Permission(Box::new(permission(ask, call)))
}

/// `elicitation`; `order` is that of the schema's fields.
pub(super) fn form(ask: &Value, order: Option<&[String]>) -> Ask {
    let name = text(ask.get("display_name")).or_else(|| text(ask.get("mcp_server_name")));
    let url = text(ask.get("url"));
    let fields = match (&url, ask.get("requested_schema")) {
        (None, Some(schema)) => form::fields(schema, order),
        _ => Vec::new(),
    };
    Ask::Form(Form {
        name: name.unwrap_or_else(|| "A server".to_owned()),
        message: text(ask.get("message")).unwrap_or_default(),
        url,
        fields,
    })
}

fn question(one: &Value) -> Option<Question> {
    let option = |one: &Value| {
        Some(QuestionOption {
            label: text(one.get("label"))?,
            description: text(one.get("description")),
            preview: text(one.get("preview")),
        })
    };
    Some(Question {
        question: text(one.get("question"))?,
        header: text(one.get("header")),
        options: list(one.get("options")).filter_map(option).collect(),
        multi_select: one.get("multiSelect").and_then(Value::as_bool).unwrap_or_default(),
    })
}

fn permission(ask: &Value, call: Option<String>) -> Permission {
    let is_set = |field: &str| ask.get(field).is_some_and(|value| *value == Value::Bool(true));
    let default_to_no = is_set("default_to_no");
    let allow = PermissionChoice {
        id: ALLOW.to_owned(),
        label: "Allow once".to_owned(),
        key_label: Some("allow once"),
        kind: ChoiceKind::AllowOnce,
    };
    let deny = PermissionChoice {
        id: REJECT.to_owned(),
        label: "Deny".to_owned(),
        key_label: Some("deny, and stop"),
        kind: ChoiceKind::RejectOnce,
    };
    let is_asked_each_time = is_set("suppress_always_allow_rule") || is_set("requires_user_interaction");
    let rules = list(ask.get("permission_suggestions")).filter(|_| !is_asked_each_time).map(rule).collect();
    let edit = edit(ask);
    let permission = Permission {
        call,
        title: title(ask),
        parts: parts(ask),
        choices: if default_to_no { vec![deny, allow] } else { vec![allow, deny] },
        rules,
        default_to_no,
        takes_changes: true,
        changeable: main_argument(ask).filter(|(_, value)| is_changeable(value)).map(|(name, _)| name),
        edit,
        ..Permission::default()
    };
    permission.mark_command(main_argument(ask).filter(is_command).and_then(|(_, command)| command.as_str()))
}

fn is_command((name, _): &(&str, &Value)) -> bool {
    *name == "command"
}

/// The edit of a file with an absolute path.
fn edit(ask: &Value) -> Option<Edit> {
    let input = ask.get("input")?;
    let field = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    let path = field("file_path").filter(|path| Path::new(path).is_absolute())?;
    let change = match ask.get("tool_name").and_then(Value::as_str)? {
        "Write" => Change::Whole { text: field("content")? },
        "Edit" => Change::Piece {
            old: field("old_string")?,
            new: field("new_string")?,
            all: input.get("replace_all").and_then(Value::as_bool).unwrap_or_default(),
        },
        _ => return None,
    };
    Some(Edit::File { path, change })
}

fn title(ask: &Value) -> String {
    let who = match (text(ask.get("agent_id")), text(ask.get("agent_type"))) {
        (None, _) => "Claude".to_owned(),
        (Some(_), None) => "A subagent".to_owned(),
        // Several may be of one type.
        (Some(id), Some(kind)) => format!("The subagent {kind} ({})", id.chars().take(6).collect::<String>()),
    };
    let tool = text(ask.get("tool_name")).unwrap_or_default();
    if tool == "ExitPlanMode" {
        return format!("{who} wants to leave plan mode"); // with a plan it is shown as `Ask::Plan`
    }
    let of_server = tool.strip_prefix("mcp__").and_then(|name| name.split_once("__"));
    let name = match of_server {
        Some((server, tool)) => format!("{tool} of {server}"),
        None => text(ask.get("display_name")).unwrap_or(tool),
    };
    format!("{who} wants to use {name}")
}

/// Limit of an argument that is changed in a buffer.
const MAX_CHANGEABLE: usize = 64 * 1024;

/// Bytes shown of a subagent's task.
const MAX_TASK: usize = 200;

/// Whether a buffer can hold a value as it is.
fn is_changeable(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() <= MAX_CHANGEABLE && !text.contains(['\0', '\r']))
}

/// The argument that a call is about.
fn main_argument(ask: &Value) -> Option<(&'static str, &Value)> {
    const NAMES: [&str; 5] = ["command", "url", "file_path", "path", "pattern"];
    let input = ask.get("input")?;
    let (name, value) = NAMES.into_iter().find_map(|name| Some((name, input.get(name)?)))?;
    (!value.is_null()).then_some((name, value))
}

fn parts(ask: &Value) -> Vec<Part> {
    let nothing = Map::new();
    let input = ask.get("input").and_then(Value::as_object).unwrap_or(&nothing);
    let mut parts = Vec::new();
    let main = main_argument(ask);
    let style = if main.as_ref().is_some_and(is_command) { Style::Command } else { Style::Input };
    let main = main.map(|(_, value)| value);
    parts.extend(main.map(|main| Part::argument("", main, style)));
    let mut named: Vec<_> = input.iter().collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    for (name, value) in named {
        if Some(value) != main && name != "description" && !value.is_null() {
            parts.push(Part::argument(&format!("{name}: "), value, Style::Argument));
        }
    }
    // Without a description by the model, the CLI uses the beginning of the command (2.1.329).
    let is_beginning =
        |words: &str| main.and_then(Value::as_str).is_some_and(|main| main.starts_with(words.trim_end_matches('…')));
    let why = text(input.get("description")).or_else(|| text(ask.get("description")));
    if let Some(text) = why.filter(|why| !is_beginning(why)) {
        parts.push(Part::Text { text, style: Style::Dim });
    }
    if let Some(task) = text(ask.get("agent_task")).map(|task| task_in_a_line(&task)).filter(|task| !task.is_empty()) {
        parts.push(Part::Text { text: format!("The subagent's task: {task}"), style: Style::Dim });
    }
    if let Some(reason) = text(ask.get("decision_reason")) {
        parts.push(Part::Text { text: format!("Asked because: {reason}"), style: Style::Reason });
    }
    if ask.get("tool_name").and_then(Value::as_str) == Some("ExitPlanMode") {
        parts.push(Part::Text { text: "There is no plan.".to_owned(), style: Style::Notice });
    }
    if let Some(path) = ask.get("blocked_path").filter(|path| !path.is_null()) {
        parts.push(Part::argument("It needs: ", path, Style::Notice));
    }
    parts
}

/// A task's beginning, in the words of a model.
fn task_in_a_line(task: &str) -> String {
    let (head, left) = head(task, MAX_TASK);
    squeezed(&plain(head)) + if left > 0 { " …" } else { "" }
}

/// The rules that an answer sets: suggested ones, and the mode that follows a plan.
pub(super) fn updates(suggestions: &[Value], rules: &[usize], mode: Option<String>) -> Vec<Value> {
    let mode = mode.map(|mode| json!({ "type": "setMode", "mode": mode, "destination": "session" }));
    rules.iter().filter_map(|at| suggestions.get(*at)).cloned().chain(mode).collect()
}

/// The meaning of a suggested rule.
fn rule(suggestion: &Value) -> String {
    let field = |name: &str| text(suggestion.get(name));
    let destination = field("destination").unwrap_or_else(|| "?".to_owned());
    let place = match destination.as_str() {
        "session" => "this session",
        "localSettings" => ".claude/settings.local.json",
        "projectSettings" => ".claude/settings.json",
        "userSettings" => "your settings",
        "cliArg" => "this run",
        other => other,
    };
    match field("type").as_deref() {
        Some("setMode") => {
            let mode = field("mode").unwrap_or_default();
            let meaning = if mode == "acceptEdits" { "accept edits of files without asking: " } else { "" };
            format!("{meaning}mode {mode} ({place})")
        }
        Some("addDirectories") => {
            let folders: Vec<&str> = list(suggestion.get("directories")).filter_map(Value::as_str).collect();
            format!("add {} to the folders that Claude works in ({place})", folders.join(", "))
        }
        _ => {
            let rules: Vec<String> = list(suggestion.get("rules"))
                .map(|rule| {
                    let tool = text(rule.get("toolName")).unwrap_or_default();
                    let Some(content) = text(rule.get("ruleContent")) else { return tool };
                    // Of some commands, such as `curl`, the CLI suggests no prefix (2.1.329).
                    let extent = if tool == "Bash" && !content.contains('*') { ", this command alone" } else { "" };
                    format!("{tool}({content}){extent}")
                })
                .collect();
            format!("{} {} ({place})", field("behavior").unwrap_or_else(|| "allow".to_owned()), rules.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ask: &Value) -> Permission {
        match tool(ask) {
            Ask::Permission(permission) => *permission,
            other => panic!("{other:?}"),
        }
    }

    fn shown(ask: &Value) -> Vec<String> {
        let words = |part: Part| match part {
            Part::Text { text, .. } => text,
            other => panic!("{other:?}"),
        };
        of(ask).parts.into_iter().map(words).collect()
    }

    #[test]
    fn the_arguments_are_all_there_the_main_one_first() {
        let ask = json!({"tool_name":"Bash","input":{"command":"make it","timeout":7,"a":{"b":null},"copy":"make it","description":"Makes"},
            "decision_reason":"a rule","blocked_path":"/etc"});
        assert_eq!(
            shown(&ask),
            ["make it", "a: {\"b\":null}", "timeout: 7", "Makes", "Asked because: a rule", "It needs: /etc"]
        );
        assert!(shown(&json!({"tool_name":"X","input":["a"]})).is_empty());
        let changeable = |input: Value| of(&json!({"tool_name":"X","input":input})).changeable;
        assert_eq!(changeable(json!({"path":"a","url":"b"})), Some("url"));
        let ask = json!({"tool_name":"Bash","input":{"command":"rm -rf x"}});
        assert_eq!(of(&ask).title, "Claude wants to use Bash · destructive: rm -rf");
        assert!(of(&ask).is_destructive && matches!(of(&ask).parts[0], Part::Text { style: Style::Command, .. }));
        assert!(!of(&json!({"tool_name":"Grep","input":{"pattern":"rm -rf x"}})).is_destructive);
        for input in [json!({"path":7}), json!({"a":"b"}), json!({"path":"a\r"}), json!({"path":"a".repeat(70_000)})] {
            assert_eq!(changeable(input), None);
        }
        let beginning = json!({"tool_name":"Bash","input":{"command":"make all of it"},"description":"make all…"});
        assert_eq!(shown(&beginning), ["make all of it"]);
    }

    #[test]
    fn a_title_names_the_asker_and_the_tool() {
        let title = |ask: Value| of(&ask).title;
        assert_eq!(title(json!({"tool_name":"Bash"})), "Claude wants to use Bash");
        assert_eq!(
            title(json!({"tool_name":"Bash","display_name":"Shell","agent_id":"a"})),
            "A subagent wants to use Shell"
        );
        assert_eq!(
            title(json!({"tool_name":"Bash","agent_id":"a0f82dfec57","agent_type":"Explore"})),
            "The subagent Explore (a0f82d) wants to use Bash"
        );
        assert_eq!(title(json!({"tool_name":"mcp__nvim__open_buffers"})), "Claude wants to use open_buffers of nvim");
        assert_eq!(title(json!({"tool_name":"ExitPlanMode","input":{"plan":" "}})), "Claude wants to leave plan mode");
    }

    #[test]
    fn a_subagents_task_is_one_line_after_the_arguments() {
        let of_task =
            |task: &str| shown(&json!({"tool_name":"X","input":{"path":"p"},"agent_id":"a","agent_task":task}));
        let of_two_lines = "Mend\n\u{1b}[31mAsked because:\u{202e} it";
        assert_eq!(of_task(of_two_lines), ["p", "The subagent's task: Mend Asked because: it"]);
        assert_eq!(of_task(&"é".repeat(101))[1], format!("The subagent's task: {} …", "é".repeat(100)));
        assert_eq!(of_task(" \u{200b}"), ["p"]);
    }

    #[test]
    fn rules_are_offered_in_words_where_they_may_hold() {
        let suggestions = json!([
            {"type":"addRules","behavior":"deny","destination":"localSettings","rules":[{"toolName":"Bash","ruleContent":"ls:*"},{"toolName":"Read"}]},
            {"type":"setMode","mode":"acceptEdits","destination":"session"},
            {"type":"setMode","mode":"plan","destination":"session"},
            {"type":"addDirectories","directories":["/a","/b"],"destination":"elsewhere"},
            {"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"Bash","ruleContent":"curl -s x"}]},
            {"type":"addRules","behavior":"allow","destination":"session","rules":[{"toolName":"WebFetch","ruleContent":"domain:x"}]},
            {"rules":7},
        ]);
        let mut ask = json!({"tool_name":"Bash","permission_suggestions":suggestions});
        assert_eq!(
            of(&ask).rules,
            [
                "deny Bash(ls:*), Read (.claude/settings.local.json)",
                "accept edits of files without asking: mode acceptEdits (this session)",
                "mode plan (this session)",
                "add /a, /b to the folders that Claude works in (elsewhere)",
                "allow Bash(curl -s x), this command alone (this session)",
                "allow WebFetch(domain:x) (this session)",
                "allow  (?)",
            ]
        );
        for is_asked_each_time in ["requires_user_interaction", "suppress_always_allow_rule"] {
            ask[is_asked_each_time] = json!(true);
            assert!(of(&ask).rules.is_empty());
            ask[is_asked_each_time] = json!(false);
        }
    }

    #[test]
    fn refusal_comes_first_where_it_is_the_safe_answer() {
        let ids = |ask: Value| of(&ask).choices.into_iter().map(|choice| choice.id).collect::<Vec<_>>();
        assert_eq!(ids(json!({"tool_name":"Bash"})), [ALLOW, REJECT]);
        assert_eq!(ids(json!({"tool_name":"Bash","default_to_no":true})), [REJECT, ALLOW]);
    }

    #[test]
    fn an_edit_of_a_file_is_one_and_all_else_is_asked_in_words() {
        let input = json!({"file_path":"/a","old_string":"o","new_string":"n","replace_all":true,"content":"c"});
        let edit = |tool: &str, input: &Value| of(&json!({"tool_name":tool,"input":input})).edit;
        let piece = Change::Piece { old: "o".to_owned(), new: "n".to_owned(), all: true };
        assert_eq!(edit("Edit", &input), Some(Edit::File { path: "/a".to_owned(), change: piece }));
        let whole = Change::Whole { text: "c".to_owned() };
        assert_eq!(edit("Write", &input), Some(Edit::File { path: "/a".to_owned(), change: whole }));
        assert_eq!(edit("NotebookEdit", &input), None);
        assert_eq!(edit("Edit", &json!({"file_path":"a","old_string":"o","new_string":"n"})), None);
        assert_eq!(edit("Write", &json!({"file_path":"/a","content":7})), None);
    }

    #[test]
    fn questions_and_plans_are_what_they_are_or_a_permission() {
        let asked =
            |tool_name: &str, input: Value| tool(&json!({"tool_name":tool_name,"tool_use_id":"c","input":input}));
        let questions = json!({"questions":[{"question":"Which?","header":"It","multiSelect":true,
            "options":[{"label":"a","description":"A","preview":"+-+\n"},{"label":"b"},7]},{"question":7}]});
        let Ask::Questions { call, questions } = asked("AskUserQuestion", questions) else { panic!() };
        assert_eq!((call.as_deref(), questions.len(), questions[0].options.len()), (Some("c"), 1, 2));
        assert!(questions[0].multi_select);
        assert_eq!(questions[0].options[0].preview.as_deref(), Some("+-+\n"));
        assert!(matches!(asked("AskUserQuestion", json!({"questions":[]})), Ask::Permission(_)));
        assert!(matches!(asked("ExitPlanMode", json!({"plan":"# It"})), Ask::Plan { plan, .. } if plan == "# It"));
        let Ask::Permission(no_plan) = asked("ExitPlanMode", json!({"plan":"\n"})) else { panic!() };
        assert!(matches!(&no_plan.parts[..], [.., Part::Text { text, .. }] if text == "There is no plan."));
    }

    #[test]
    fn a_form_has_fields_or_is_a_page() {
        let Ask::Form(form) =
            form(&json!({"mcp_server_name":"s","message":"m","requested_schema":{"properties":{"a":{}}}}), None)
        else {
            panic!()
        };
        assert_eq!((form.name.as_str(), form.fields.len()), ("s", 1));
        let Ask::Form(page) = super::form(&json!({"url":"https://a","requested_schema":{"properties":{"a":{}}}}), None)
        else {
            panic!()
        };
        assert_eq!((page.name.as_str(), page.fields.len()), ("A server", 0));
    }
}
