//! The CLI's reports: account, limits, retries, tasks, ends of turns. Source: CLI 2.1.329.

use serde_json::{Map, Value};

use crate::backend::Output;
use crate::event::{Event, Rewound, SlashCommand, TurnEnd};
use crate::json::{self, list};

/// A non-blank text, trimmed.
fn text(value: Option<&Value>) -> Option<String> {
    json::text(value).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(super) fn commands(list_of_them: Option<&Value>) -> Event {
    let command = |one: &Value| {
        let description = json::text(one.get("description")).unwrap_or_default();
        Some(SlashCommand { name: json::text(one.get("name"))?, description })
    };
    Event::Commands { commands: list(list_of_them).filter_map(command).collect() }
}

/// `AccountInfo` of the Agent SDK (0.3.330), in words.
pub(super) fn account(account: Option<&Value>) -> Event {
    let known = |field: &str| json::text(account?.get(field)).filter(|text| text != "none");
    let key = known("apiKeySource");
    let brief = match (known("apiProvider").as_deref(), known("subscriptionType"), &key) {
        (Some("bedrock"), ..) => Some("Amazon Bedrock".to_owned()),
        (Some("vertex"), ..) => Some("Google Vertex AI".to_owned()),
        (Some("foundry"), ..) => Some("Microsoft Foundry".to_owned()),
        (Some("gateway"), ..) => Some("your organization's gateway".to_owned()),
        (Some(other), ..) if other != "firstParty" => Some(other.to_owned()),
        (_, Some(plan), _) if plan.to_lowercase().starts_with("claude") => Some(plan),
        (_, Some(plan), _) => Some(format!("Claude {}", capitalized(&plan))),
        (_, None, Some(_)) => Some("an API key".to_owned()),
        _ => known("tokenSource").map(|_| "a token".to_owned()),
    };
    let more = known("email").or_else(|| key.filter(|_| brief.as_deref() == Some("an API key")));
    let full = match (&brief, more) {
        (None, _) => "draws on the account that `claude` is logged in with".to_owned(),
        (Some(brief), None) => format!("draws on {brief}"),
        (Some(brief), Some(more)) => format!("draws on {brief} ({more})"),
    };
    Event::Account { brief, full }
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// A turn ended. Judged by its fields and not its name: an API error is a "success" too.
pub(super) fn turn(result: &Value, model: Option<&str>, out: &mut Output) {
    let usages = result.get("modelUsage").and_then(Value::as_object);
    let window = |usage: &Value| usage.get("contextWindow").and_then(Value::as_u64);
    let of_model = usages.and_then(|usages| usages.get(model?)).and_then(window);
    out.emit(Event::Usage {
        cost: result.get("total_cost_usd").and_then(Value::as_f64),
        window: of_model.or_else(|| usages.and_then(|usages| usages.values().filter_map(window).next_back())),
        used: None,
    });
    let is_error = result.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    let reason = text(result.get("terminal_reason")).unwrap_or_default();
    let errors = || {
        let errors: Vec<&str> = list(result.get("errors")).filter_map(Value::as_str).collect();
        Some(errors.join(" ").trim().to_owned()).filter(|errors| !errors.is_empty())
    };
    let (outcome, words) = match (reason.starts_with("aborted"), is_error) {
        (true, _) => (TurnEnd::Aborted, None),
        (false, true) => (TurnEnd::Failed, text(result.get("result")).or_else(errors)),
        (false, false) => (TurnEnd::Done, None),
    };
    out.emit(Event::Turn { outcome, words });
}

/// A report with its own event; `None` for others.
pub(super) fn status(subject: &str, about: &Value) -> Option<Event> {
    match subject {
        "api_retry" => Some(retry(about)),
        "rate_limit_event" => Some(limit(about.get("rate_limit_info").unwrap_or(&Value::Null))),
        "task_started" => task_started(about),
        "task_updated" => {
            let patch = about.get("patch").filter(|patch| patch.is_object()).unwrap_or(about);
            let status = patch.get("status").and_then(Value::as_str)?;
            let is_over = matches!(status, "completed" | "failed" | "killed" | "stopped");
            is_over.then(|| task_ended(about, status)).flatten()
        }
        "task_notification" => task_ended(about, about.get("status").and_then(Value::as_str).unwrap_or_default()),
        "status" => {
            let is_compacting = about.get("status").and_then(Value::as_str) == Some("compacting");
            Some(Event::Doing { doing: is_compacting.then_some("compacting") })
        }
        "compact_boundary" => Some(Event::Compacted),
        // The session's id is in its `init`; 2.1.329 names another one here.
        "conversation_reset" => Some(Event::Reset { session: text(about.get("new_conversation_id")) }),
        "commands_changed" => {
            about.get("commands").filter(|commands| commands.is_array()).map(|list| commands(Some(list)))
        }
        _ => None,
    }
}

fn retry(about: &Value) -> Event {
    let number = |field: &str| about.get(field).and_then(Value::as_u64);
    let what = match text(about.get("error")).as_deref() {
        Some("overloaded" | "overloaded_error") => "overloaded".to_owned(),
        Some("rate_limit") => "rate limited".to_owned(),
        Some("server_error") => "server error".to_owned(),
        Some(other) => other.to_owned(),
        None => "no answer".to_owned(),
    };
    let status = number("error_status").map(|status| format!(" ({status})")).unwrap_or_default();
    let attempt = number("attempt").unwrap_or(1);
    let count = match number("max_retries") {
        Some(most) if most > 0 => format!("{attempt}/{most}"),
        _ => attempt.to_string(),
    };
    let delay = about.get("retry_delay_ms").and_then(Value::as_f64).unwrap_or_default().max(0.0);
    let delay = u64::try_from(std::time::Duration::try_from_secs_f64(delay / 1000.0).unwrap_or_default().as_millis());
    Event::Retry { words: format!("{what}{status} · retry {count}"), delay: delay.unwrap_or_default() }
}

fn name_of_limit(kind: &str) -> &'static str {
    match kind {
        "five_hour" => "5 hours' limit",
        "seven_day" => "week's limit",
        "seven_day_opus" => "week's limit of Opus",
        "seven_day_sonnet" => "week's limit of Sonnet",
        "overage" => "extra usage",
        "spend_limit" => "spend limit",
        _ => "limit",
    }
}

fn used_of_limit(name: &str, percent: f64) -> String {
    format!("{percent:.0}% of the {name}")
}

/// How much of an account's limit is used, in words; `kind`: as the CLI calls it.
#[must_use]
pub fn limit_in_words(kind: &str, percent: f64) -> String {
    if percent >= 100.0 {
        format!("{} reached", name_of_limit(kind))
    } else {
        used_of_limit(name_of_limit(kind), percent)
    }
}

/// The account's limit; the status "allowed" gives no warning.
fn limit(info: &Value) -> Event {
    let status = text(info.get("status")).filter(|status| status != "allowed");
    let which = name_of_limit(info.get("rateLimitType").and_then(Value::as_str).unwrap_or_default());
    let words = status.map(|status| match info.get("utilization").and_then(Value::as_f64) {
        _ if status == "rejected" => format!("{which} reached"),
        Some(used) => used_of_limit(which, used * 100.0),
        None => format!("near the {which}"),
    });
    Event::Limit { resets: info.get("resetsAt").and_then(Value::as_u64).filter(|_| words.is_some()), words }
}

fn task_started(about: &Value) -> Option<Event> {
    let id = text(about.get("task_id"))?;
    let words = ["description", "prompt", "subagent_type"].into_iter().find_map(|field| text(about.get(field)));
    Some(Event::TaskStarted { words: words.unwrap_or_else(|| id.clone()), id, call: text(about.get("tool_use_id")) })
}

fn task_ended(about: &Value, status: &str) -> Option<Event> {
    let id = text(about.get("task_id"))?;
    Some(Event::TaskEnded { id, call: text(about.get("tool_use_id")), is_done: status == "completed" })
}

/// Files with matching names.
pub(super) fn files(result: &Value) -> Vec<String> {
    let path = |one: &Value| one.get("path").unwrap_or(one).as_str().map(str::to_owned);
    list(result.get("suggestions")).filter_map(path).collect()
}

/// The effect of a rewind.
///
/// # Errors
/// Why it is impossible.
pub(super) fn rewound(result: &Value) -> Result<Rewound, String> {
    if result.get("canRewind").and_then(Value::as_bool) == Some(false) {
        return Err(text(result.get("error")).unwrap_or_else(|| "Claude has nothing kept of then.".to_owned()));
    }
    let number = |field: &str| result.get(field).and_then(Value::as_u64).unwrap_or_default();
    let files = result.get("filesChanged").filter(|files| files.is_array());
    Ok(Rewound {
        files: files.map(|files| list(Some(files)).filter_map(Value::as_str).map(str::to_owned).collect()),
        insertions: number("insertions"),
        deletions: number("deletions"),
        skipped: number("skippedLinks"),
    })
}

/// The mode, if a report has it.
pub(super) fn mode(subject: &str, about: &Value) -> Option<String> {
    text(about.get("permissionMode").filter(|_| subject == "status"))
}

/// Makes the fields of a request.
pub(super) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn full(about: &Value) -> String {
        match account(Some(about)) {
            Event::Account { full, .. } => full,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_account_is_said_in_words() {
        let of_max = json!({"apiProvider":"firstParty","subscriptionType":"max","email":"me@here"});
        assert_eq!(full(&of_max), "draws on Claude Max (me@here)");
        let of_a_team = json!({"apiProvider":"firstParty","subscriptionType":"Claude Team"});
        assert_eq!(full(&of_a_team), "draws on Claude Team");
        let of_a_token =
            json!({"apiProvider":"firstParty","tokenSource":"CLAUDE_CODE_OAUTH_TOKEN","apiKeySource":"none"});
        assert_eq!(full(&of_a_token), "draws on a token");
        assert_eq!(full(&json!({"apiKeySource":"ANTHROPIC_API_KEY"})), "draws on an API key (ANTHROPIC_API_KEY)");
        assert_eq!(full(&json!({"apiProvider":"bedrock"})), "draws on Amazon Bedrock");
        assert_eq!(full(&json!({"apiProvider":"mantle"})), "draws on mantle");
        for nothing in [json!({"subscriptionType":7}), json!(null)] {
            assert_eq!(full(&nothing), "draws on the account that `claude` is logged in with");
        }
    }

    fn over(result: &Value) -> (TurnEnd, Option<String>, Option<f64>, Option<u64>) {
        let mut out = Output::default();
        turn(result, Some("opus"), &mut out);
        match &out.events[..] {
            [Event::Usage { cost, window, .. }, Event::Turn { outcome, words }] => {
                (*outcome, words.clone(), *cost, *window)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_turn_is_judged_by_its_own_report() {
        let failed =
            json!({"subtype":"success","is_error":true,"result":" API Error: 500 ","terminal_reason":"api_error"});
        assert_eq!(over(&failed), (TurnEnd::Failed, Some("API Error: 500".to_owned()), None, None));
        let errors = json!({"is_error":true,"errors":["one","two"],"result":""});
        assert_eq!(over(&errors).1.as_deref(), Some("one two"));
        assert_eq!(over(&json!({"is_error":true,"errors":7,"result":7})), (TurnEnd::Failed, None, None, None));
        let aborted = json!({"is_error":true,"terminal_reason":"aborted_streaming","result":"x"});
        assert_eq!(over(&aborted), (TurnEnd::Aborted, None, None, None));
        let window = |size: u64| json!({"contextWindow":size});
        let done = json!({"terminal_reason":"completed","total_cost_usd":0.5,
            "modelUsage":{"haiku":window(1),"opus":window(2),"sonnet":window(3)}});
        assert_eq!(over(&done), (TurnEnd::Done, None, Some(0.5), Some(2)));
        assert_eq!(over(&json!({"modelUsage":{"x":7,"haiku":window(1)},"total_cost_usd":"1e999"})).3, Some(1));
    }

    #[test]
    fn a_retry_says_why_and_how_often() {
        let said = |about: Value| match status("api_retry", &about) {
            Some(Event::Retry { words, delay }) => (words, delay),
            other => panic!("{other:?}"),
        };
        let overloaded =
            json!({"attempt":2,"max_retries":10,"retry_delay_ms":612.7,"error_status":529,"error":"overloaded"});
        assert_eq!(said(overloaded), ("overloaded (529) · retry 2/10".to_owned(), 612));
        assert_eq!(said(json!({"error":"odd","retry_delay_ms":-1})), ("odd · retry 1".to_owned(), 0));
        assert_eq!(said(json!({})), ("no answer · retry 1".to_owned(), 0));
    }

    #[test]
    fn a_near_limit_is_reported() {
        let said = |info: Value| match status("rate_limit_event", &json!({ "rate_limit_info": info })) {
            Some(Event::Limit { words, resets }) => (words.unwrap_or_default(), resets),
            other => panic!("{other:?}"),
        };
        let near = json!({"status":"allowed_warning","rateLimitType":"five_hour","utilization":0.917,"resetsAt":7});
        assert_eq!(said(near), ("92% of the 5 hours' limit".to_owned(), Some(7)));
        let reached = json!({"status":"rejected","rateLimitType":"seven_day_opus","utilization":1});
        assert_eq!(said(reached), ("week's limit of Opus reached".to_owned(), None));
        assert_eq!(said(json!({"status":"allowed_warning"})).0, "near the limit");
        for nothing in [json!({"status":"allowed","resetsAt":7}), json!(7)] {
            assert_eq!(said(nothing), (String::new(), None));
        }
    }

    #[test]
    fn a_task_is_reported_at_its_start_and_end() {
        let started = json!({"task_id":"t","tool_use_id":"c","description":" ","prompt":"Look"});
        let event = status("task_started", &started);
        assert!(
            matches!(event, Some(Event::TaskStarted { id, words, call: Some(call) }) if id == "t" && words == "Look" && call == "c")
        );
        let updated = |patch: Value| status("task_updated", &json!({"task_id":"t","patch":patch}));
        assert!(updated(json!({"status":"running"})).is_none() && updated(json!({})).is_none());
        assert!(matches!(updated(json!({"status":"killed"})), Some(Event::TaskEnded { is_done: false, .. })));
        let over = json!({"task_id":"t","tool_use_id":"c","status":"completed"});
        assert!(matches!(
            status("task_notification", &over),
            Some(Event::TaskEnded { is_done: true, call: Some(_), .. })
        ));
        assert!(status("task_started", &json!({"task_id":7})).is_none());
    }

    #[test]
    fn other_reports_are_typed_or_dropped() {
        let doing = |about: Value| match status("status", &about) {
            Some(Event::Doing { doing }) => doing,
            other => panic!("{other:?}"),
        };
        assert_eq!((doing(json!({"status":"compacting"})), doing(json!({"status":null}))), (Some("compacting"), None));
        assert_eq!(mode("status", &json!({"permissionMode":"plan"})).as_deref(), Some("plan"));
        assert!(matches!(status("compact_boundary", &json!({})), Some(Event::Compacted)));
        let reset = status("conversation_reset", &json!({"new_conversation_id":"n"}));
        assert!(matches!(reset, Some(Event::Reset { session: Some(id) }) if id == "n"));
        let changed = json!({"commands":[{"name":"a","description":"b","argumentHint":"c"},{"name":7},7]});
        let Some(Event::Commands { commands }) = status("commands_changed", &changed) else { panic!() };
        assert_eq!(commands, [SlashCommand { name: "a".to_owned(), description: "b".to_owned() }]);
        assert!(status("commands_changed", &json!({})).is_none() && status("weather", &json!({})).is_none());
    }

    #[test]
    fn files_and_rewind_results_are_read() {
        assert_eq!(files(&json!({"suggestions":[{"path":"a"},"b",7,{}]})), ["a", "b"]);
        let done = json!({"canRewind":true,"filesChanged":["a",7],"insertions":1,"skippedLinks":2});
        let expected = Rewound { files: Some(vec!["a".to_owned()]), insertions: 1, deletions: 0, skipped: 2 };
        assert_eq!(rewound(&done), Ok(expected));
        assert_eq!(rewound(&json!({})), Ok(Rewound::default()));
        assert_eq!(rewound(&json!({"canRewind":false,"error":"gone"})), Err("gone".to_owned()));
        assert!(rewound(&json!({"canRewind":false})).unwrap_err().contains("nothing kept"));
    }
}
