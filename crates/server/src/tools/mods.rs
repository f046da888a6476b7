//! The tools of our mod (`mod/`), which runs inside a CLI: it reports what happens there, and asks what it is to do.
//!
//! Reports decide nothing. Nor can a command of the model send any: its process is refused (`connection.rs`).
//! Source: CLI 2.1.329 and the types that it ships for mods; a call's result has the shape that transcripts have.

use claude_ide_agent::stream_json::limit_in_words;
use claude_ide_protocol::mcp::CallToolResult;
use claude_ide_session::{Location, Millis};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Arguments, Context, Field, Hints, InvalidArgument, Kind, Question, Takes, Tool, UnexpectedReply, Work, fields,
    verbatim,
};

pub(crate) const TOOLS: [&Tool; 3] = [
    &Tool {
        name: "report",
        description: "Report what has happened in the CLI: `call`: one has ended; `done`: the order with this id is carried \
                      out, or not; `usage`: what a turn has left.",
        hints: Hints::NONE,
        work: Work::Ask("mod_report", Takes::Own(|| fields::schema(&REPORT), report)),
    },
    &Tool {
        name: "refused",
        description: "Ask whether the user shall decide on a call that auto mode refuses. Answers true or false.",
        hints: Hints::NONE,
        work: Work::Ask("mod_refused", Takes::Fields(&REFUSED, verbatim)),
    },
    &Tool {
        name: "next",
        description: "Wait for the next order. Answers JSON {op, id, text}; null after a while.",
        hints: Hints::NONE,
        work: Work::AskUser("mod_next", Takes::Fields(&[], verbatim)),
    },
];

const REPORT: [Field; 8] = [
    Field::new("event", Kind::Choice(&["call", "done", "usage"], None)).required(),
    Field::new("agent", Kind::Id).described("Id of the subagent that has called"),
    Field::new("id", Kind::Id).described("Of the call, or of the order"),
    Field::new("tool", Kind::String).described("Name of the called tool"),
    RESULT,
    USAGE,
    Field::new("is_done", Kind::Flag(true)).described("Whether the order is carried out"),
    Field::new("text", Kind::String).described("Why it is not"),
];
const REFUSED: [Field; 5] = [
    Field::new("id", Kind::Id).required().described("Id of the call"),
    Field::new("tool", Kind::String).required(),
    Field::new("path", Kind::String).required().described("Path of the file that the call writes, or an empty string"),
    Field::new("input", Kind::String).required().described("Beginning of the call's arguments, as JSON"),
    Field::new("reason", Kind::String).required(),
];
/// In place of it, Lua gets the location that it tells.
const RESULT: Field = Field::new("result", Kind::String).described("Result of the call, as JSON");
/// Lua gets [`Usage`] with one limit in words.
const USAGE: Field = Field::new("usage", Kind::String).described("What `$.session.usage()` told, as JSON");

/// A limit of which less is used is not near.
const NEAR_PERCENT: f64 = 80.0;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    /// How full the context is, in percent.
    context: Option<f64>,
    /// Dollars.
    cost: Option<f64>,
    limits: Vec<Limit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limit {
    kind: String,
    percent_used: f64,
    /// ISO 8601.
    resets_at: Option<String>,
}

impl Usage {
    fn for_lua(&self) -> Value {
        let near = self.limits.iter().filter(|limit| limit.percent_used >= NEAR_PERCENT);
        let nearest = near.max_by(|a, b| a.percent_used.total_cmp(&b.percent_used));
        let limit = nearest.map(|limit| {
            let resets = limit.resets_at.as_deref().and_then(Millis::parse).map(|at| at.0 / 1000);
            json!({ "words": limit_in_words(&limit.kind, limit.percent_used), "resets": resets })
        });
        json!({ "context": self.context.map(f64::round), "cost": self.cost, "limit": limit })
    }
}

fn parsed<'de, T: Deserialize<'de>>(name: &str, text: &'de str) -> Result<T, InvalidArgument> {
    serde_json::from_str(text).map_err(|error| InvalidArgument::new(name, error))
}

fn report(args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = fields::check(&REPORT, args, context)?;
    if let Some(Value::String(result)) = asked.remove("result") {
        let location =
            Location::of_result(parsed("result", &result)?).and_then(|location| serde_json::to_value(location).ok());
        asked.extend(location.map(|location| ("location".to_owned(), location)));
    }
    if let Some(Value::String(usage)) = asked.remove("usage") {
        asked.insert("usage".to_owned(), parsed::<Usage>("usage", &usage)?.for_lua());
    }
    Ok(Question { args: asked, shape: Box::new(noted) })
}

fn noted(_: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    Ok(CallToolResult { content: Vec::new(), is_error: false })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{answer, ask, has_twin};

    #[test]
    fn of_a_result_the_editor_gets_the_location() {
        let result = r#"{"file":{"filePath":"/p/a","startLine":10,"numLines":4}}"#;
        let call = json!({ "event": "call", "id": "toolu_1", "tool": "Read", "agent": null, "result": result });
        let asked = Value::from(ask(TOOLS[0], &call).unwrap().args);
        let location = json!({ "path": "/p/a", "kind": "read", "first": 10, "last": 13, "said": null });
        let is_done = true;
        assert_eq!(
            asked,
            json!({ "event": "call", "id": "toolu_1", "tool": "Read", "is_done": is_done, "location": location })
        );
        let other = json!({ "event": "call", "id": "toolu_2", "tool": "Bash", "result": "{}" });
        assert_eq!(ask(TOOLS[0], &other).unwrap().args.get("location"), None);
    }

    #[test]
    fn of_the_usage_the_editor_gets_the_nearest_limit() {
        let usage = |limits: Value| {
            let usage = json!({ "context": 33.6, "cost": 0.5, "limits": limits }).to_string();
            ask(TOOLS[0], &json!({ "event": "usage", "usage": usage })).unwrap().args.remove("usage").unwrap()
        };
        let limit = |kind, percent: f64| json!({ "kind": kind, "percentUsed": percent, "resetsAt": "2026-11-29T15:00:00.000Z" });
        let far = usage(json!([limit("five_hour", 79.9)]));
        assert_eq!(far, json!({ "context": 34.0, "cost": 0.5, "limit": null }));
        let near = usage(json!([limit("five_hour", 93.2), limit("seven_day", 85.0)]));
        assert_eq!(near["limit"], json!({ "words": "93% of the 5 hours' limit", "resets": 1_795_964_400_u64 }));
        let reached = usage(json!([{ "kind": "seven_day", "percentUsed": 100 }]));
        assert_eq!(reached["limit"], json!({ "words": "week's limit reached", "resets": null }));
        assert!(ask(TOOLS[0], &json!({ "event": "usage", "usage": r#"{"cost":"x"}"# })).is_err());
    }

    #[test]
    fn what_is_malformed_is_refused() {
        assert!(ask(TOOLS[0], &json!({ "event": "allow" })).is_err());
        assert!(ask(TOOLS[0], &json!({})).is_err());
        assert!(ask(TOOLS[0], &json!({ "event": "call", "result": "{" })).is_err());
    }

    #[test]
    fn an_order_is_passed_on_as_it_is() {
        let order = json!({ "op": "submit", "id": 1, "text": "x" });
        assert_eq!(answer(TOOLS[2], &json!({}), &order), [order.to_string()]);
    }

    #[test]
    fn a_refusal_is_told_whole() {
        let refused = json!({ "id": "toolu_1", "tool": "Bash", "path": "", "input": "{", "reason": "no" });
        assert_eq!(Value::from(ask(TOOLS[1], &refused).unwrap().args), refused);
        assert_eq!(answer(TOOLS[1], &refused, &json!(true)), ["true"]);
        assert!(ask(TOOLS[1], &json!({ "id": "toolu_1", "tool": "Bash" })).is_err());
    }

    #[test]
    fn the_editor_has_them() {
        assert!(["mod_report", "mod_refused", "mod_next"].into_iter().all(has_twin));
    }
}
