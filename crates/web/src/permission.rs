//! Permission requests of a CLI in a terminal, from its hook `PermissionRequest`: offered to the session's writers
//! beside the CLI's own dialog. The first answer counts.
//!
//! Source: CLI 2.1.330, which posts `{session_id, tool_name, tool_input, permission_suggestions?, …}` and shows its
//! dialog at once. The answer `{}`, like none, leaves the decision to the dialog. A refusal in the terminal ends the
//! request; an approval only shows in the session's state. A subagent's dialog waits for the hook, so it is answered at
//! once.

use std::time::Duration;

use claude_ide_http::stopping;
use claude_ide_session::{Activity, SessionId};
use hyper::StatusCode;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tokio::time::{Instant, sleep_until};

use crate::answer::{self, Answer};
use crate::broker;
use crate::editor::Choice;
use crate::server::Site;

/// Size limit of a request; the largest part is the text of a plan.
const MAX_ASKED: usize = 512 * 1024;
/// The hook's timeout in the CLI: `lua/claude-ide/web/hooks.lua`.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Time until the session must be seen waiting.
const UNSEEN: Duration = Duration::from_secs(30);
/// Limit of offered rules, and the prefix of their choices' ids.
const MAX_SUGGESTIONS: usize = 8;
const ALWAYS: &str = "always:";
/// The message to Claude for a refusal without one.
const NO: &str = "The user does not want this.";

#[derive(Deserialize)]
struct Asked {
    session_id: String,
    tool_name: String,
    #[serde(default)]
    tool_input: Map<String, Json>,
    /// The rules that its dialog offers.
    #[serde(default)]
    permission_suggestions: Json,
    /// Set for a subagent.
    agent_id: Option<Json>,
}

/// Handles a request of a CLI with a valid hooks' token; returns once it is answered.
pub(crate) async fn take(site: &Site, body: Incoming) -> Answer {
    let asked: Asked = match answer::posted(body, MAX_ASKED, site.limits.handshake).await {
        Ok(asked) => asked,
        Err(bad) => return bad,
    };
    let given = if asked.agent_id.is_some() { None } else { wait(site, &asked).await };
    answer::json(StatusCode::OK, &given.map_or_else(|| json!({}), |given| output(&asked, given)))
}

async fn wait(site: &Site, asked: &Asked) -> Option<broker::Answer> {
    let (choices, about) = asked.describe();
    let (mut lives, mut stop) = (site.sessions.lives.changes(), site.stop.subscribe());
    let mut held = site.broker.hold(&asked.session_id, choices, about)?;
    let session = SessionId::new(&asked.session_id);
    let mut was_seen = false;
    let (end, mut unseen) = (Instant::now() + PATIENCE, Instant::now() + UNSEEN);
    let mut is_offered = true;
    loop {
        let activity = site.sessions.lives.of(session.as_str()).map(|running| running.state.activity);
        if activity == Some(Activity::Waiting) {
            (was_seen, unseen) = (true, end);
        } else if was_seen {
            return None;
        }
        tokio::select! {
            biased;
            given = &mut held.answer, if is_offered => match given {
                Ok(given) => return Some(given),
                // Another request of this session came: their answers in the terminal cannot be told apart.
                Err(_) => is_offered = false,
            },
            changed = lives.changed() => if changed.is_err() { return None },
            () = sleep_until(unseen) => return None,
            _ = stopping(&mut stop) => return None,
        }
    }
}

impl Asked {
    /// The choices, and the description.
    fn describe(&self) -> (Vec<Choice>, Map<String, Json>) {
        let choice = |id: &str, label: &str| Choice {
            id: id.to_owned(),
            label: label.to_owned(),
            message: id == "reject",
            answers: id == "answer",
        };
        let (choices, about) = match self.tool_name.as_str() {
            "AskUserQuestion" => {
                let questions = self.tool_input.get("questions").cloned().unwrap_or_default();
                let choices = vec![choice("answer", "Answer"), choice("reject", "Do not answer")];
                (choices, json!({ "kind": "question", "title": "Claude asks", "questions": questions }))
            }
            "ExitPlanMode" => {
                // Without the plan's file the dialog shows no plan either.
                let (title, text) = match self.tool_input.get("plan") {
                    None => ("Claude wants to leave plan mode", Some("There is no plan.")),
                    Some(plan) => ("A plan", plan.as_str()),
                };
                let (accept, reject) = (choice("accept", "Approve"), choice("reject", "Send back"));
                let choices = if text.is_some() { vec![accept, reject] } else { vec![reject] };
                (choices, json!({ "kind": "plan", "title": title, "text": text }))
            }
            tool => {
                let title = match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
                    Some((server, tool)) => format!("Claude wants to use {tool} of {server}"),
                    None => format!("Claude wants to use {tool}"),
                };
                let always = self.suggestions().enumerate().map(|(at, suggestion)| {
                    choice(&format!("{ALWAYS}{}", at + 1), &format!("Allow from now on: {}", meaning(suggestion)))
                });
                let mut choices = vec![choice("allow", "Allow once")];
                choices.extend(always);
                choices.push(choice("reject", "Deny"));
                (choices, json!({ "kind": "permission", "title": title, "text": self.words() }))
            }
        };
        let Json::Object(about) = about else { return (choices, Map::new()) };
        (choices, about)
    }

    fn suggestions(&self) -> impl Iterator<Item = &Json> {
        self.permission_suggestions.as_array().into_iter().flatten().filter(|one| one.is_object()).take(MAX_SUGGESTIONS)
    }

    /// The tool's arguments as text, most important first.
    fn words(&self) -> String {
        const FIRST: [&str; 5] = ["command", "url", "file_path", "path", "pattern"];
        let shown = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let first = FIRST.into_iter().find(|name| self.tool_input.contains_key(*name));
        let mut lines: Vec<_> = first.and_then(|name| self.tool_input.get(name)).map(shown).into_iter().collect();
        let rest = self.tool_input.iter().filter(|(name, _)| Some(name.as_str()) != first);
        lines.extend(rest.map(|(name, value)| format!("{name}: {}", shown(value))));
        lines.join("\n")
    }
}

/// The meaning of a suggested rule, as in `crates/agent/src/stream_json/permission.rs`.
fn meaning(suggestion: &Json) -> String {
    let text = |value: &Json, name: &str| value.get(name).and_then(Json::as_str).unwrap_or("?").to_owned();
    let list = |name: &str| suggestion.get(name).and_then(Json::as_array).into_iter().flatten();
    let place = match text(suggestion, "destination").as_str() {
        "session" => "this session".to_owned(),
        "localSettings" => ".claude/settings.local.json".to_owned(),
        "projectSettings" => ".claude/settings.json".to_owned(),
        "userSettings" => "your settings".to_owned(),
        "cliArg" => "this run".to_owned(),
        other => other.to_owned(),
    };
    let what = match text(suggestion, "type").as_str() {
        "setMode" => format!("mode {}", text(suggestion, "mode")),
        "addDirectories" => {
            let folders: Vec<_> = list("directories").map(|one| one.as_str().unwrap_or("?")).collect();
            format!("work in {}", folders.join(", "))
        }
        _ => {
            let rules = list("rules").map(|rule| match rule.get("ruleContent").and_then(Json::as_str) {
                Some(content) => format!("{}({content})", text(rule, "toolName")),
                None => text(rule, "toolName"),
            });
            let behavior = suggestion.get("behavior").and_then(Json::as_str).unwrap_or("allow");
            format!("{behavior} {}", rules.collect::<Vec<_>>().join(", "))
        }
    };
    format!("{what} ({place})")
}

/// The CLI's form of the answer. For a question or a plan it includes an input of the tool.
fn output(asked: &Asked, broker::Answer { choice, message, answers }: broker::Answer) -> Json {
    let decision = if choice == "reject" {
        // With a message Claude continues; without one it stops, as after a refusal in the terminal.
        json!({ "behavior": "deny", "message": message.as_deref().unwrap_or(NO), "interrupt": message.is_none() })
    } else {
        match asked.tool_name.as_str() {
            "AskUserQuestion" => {
                let mut input = asked.tool_input.clone();
                input.insert("answers".to_owned(), json!(answers.unwrap_or_default()));
                json!({ "behavior": "allow", "updatedInput": input })
            }
            "ExitPlanMode" => json!({ "behavior": "allow", "updatedInput": {} }),
            _ => {
                let number = choice.strip_prefix(ALWAYS).and_then(|number| number.parse::<usize>().ok());
                match number.and_then(|number| asked.suggestions().nth(number.checked_sub(1)?)) {
                    Some(suggestion) => json!({ "behavior": "allow", "updatedPermissions": [suggestion] }),
                    None => json!({ "behavior": "allow" }),
                }
            }
        }
    };
    json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } })
}
