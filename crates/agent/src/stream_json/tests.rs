use serde_json::json;

use super::*;
use crate::event::TextKind;

fn hear(backend: &mut StreamJson, line: &Value) -> Output {
    let mut out = Output::default();
    backend.line(line.to_string().as_bytes(), &mut out);
    out
}

fn want(backend: &mut StreamJson, command: Value) -> Vec<Value> {
    let mut out = Output::default();
    backend.command(serde_json::from_value(command).unwrap(), &mut out);
    out.lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn asks(backend: &mut StreamJson, input: &str) {
    let line = format!(
        r#"{{"type":"control_request","request_id":"q","request":{{"subtype":"can_use_tool","tool_name":"Edit","input":{input},
        "permission_suggestions":[{{"type":"setMode","mode":"acceptEdits","destination":"session"}}]}}}}"#
    );
    let mut out = Output::default();
    backend.line(line.as_bytes(), &mut out);
    assert!(matches!(&out.events[..], [Event::Asks { request, .. }] if request == "q"));
}

#[test]
fn unchanged_arguments_stay_byte_for_byte() {
    let mut backend = StreamJson::new();
    asks(&mut backend, r#"{"big":12345678901234567890123,"empty":{},"list":[],"nothing":null,"new_string":"a"}"#);
    let mut out = Output::default();
    let allow = json!({"allow":{"request":"q","changes":{"new_string":"b\n\"c\""},"rules":[0, 7]}});
    backend.command(serde_json::from_value(allow).unwrap(), &mut out);
    let line = String::from_utf8(out.lines.pop().unwrap()).unwrap();
    for kept in [r#""big":12345678901234567890123"#, r#""empty":{}"#, r#""list":[]"#, r#""nothing":null"#] {
        assert!(line.contains(kept), "{line}");
    }
    assert!(line.contains(r#""new_string":"b\n\"c\"""#) && line.ends_with('\n') && line.matches('\n').count() == 1);
    let answer: Value = serde_json::from_str(&line).unwrap();
    let response = &answer["response"];
    assert_eq!(response["response"]["behavior"], "allow");
    assert_eq!(response["response"]["updatedPermissions"].as_array().unwrap().len(), 1);
    assert_eq!(response["request_id"], "q");
}

#[test]
fn half_a_character_is_replaced_in_the_text_and_handed_back_verbatim() {
    let (mut backend, mut out) = (StreamJson::new(), Output::default());
    let asked = br#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash",
        "input":{"command":"echo \ud83d"},"permission_suggestions":[{"type":"setMode","mode":"\ude00"}]}}"#;
    backend.line(asked, &mut out);
    let [Event::Asks { ask, .. }] = &out.events[..] else { panic!("{:?}", out.events) };
    assert_eq!(serde_json::to_value(ask).unwrap()["parts"][0]["text"], "echo \u{fffd}");
    backend.command(serde_json::from_value(serde_json::json!({"allow":{"request":"r"}})).unwrap(), &mut out);
    let answer = String::from_utf8(out.lines.pop().unwrap()).unwrap();
    assert!(answer.contains(r#"{"command":"echo \ud83d"}"#), "{answer}");
    out.events.clear();
    let delta = br#"{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","index":0,
        "delta":{"type":"text_delta","text":"half \ud83d"}}}"#;
    backend.line(delta, &mut out);
    assert!(matches!(&out.events[..], [Event::Text { text, .. }] if text == "half \u{fffd}"), "{:?}", out.events);
}

#[test]
fn a_question_is_answered_once() {
    let mut backend = StreamJson::new();
    asks(&mut backend, "{}");
    let deny = json!({"deny":{"request":"q","message":"no"}});
    assert_eq!(want(&mut backend, deny.clone()).len(), 1);
    assert!(want(&mut backend, deny).is_empty());
}

#[test]
fn a_withdrawn_question_gets_no_answer() {
    let mut backend = StreamJson::new();
    asks(&mut backend, "{}");
    let out = hear(&mut backend, &json!({"type":"control_cancel_request","request_id":"q"}));
    assert!(matches!(&out.events[..], [Event::Withdrawn { request }] if request == "q"));
    assert!(want(&mut backend, json!({"allow":{"request":"q"}})).is_empty());
}

#[test]
fn an_unserved_request_is_refused_at_once() {
    let mut backend = StreamJson::new();
    let out =
        hear(&mut backend, &json!({"type":"control_request","request_id":"h","request":{"subtype":"hook_callback"}}));
    let answer: Value = serde_json::from_slice(&out.lines[0]).unwrap();
    assert_eq!(answer["response"]["subtype"], "error");
    assert_eq!(answer["response"]["request_id"], "h");
    assert!(out.events.is_empty());
}

fn before_edit(id: &str, input: &Value) -> Value {
    let ask = json!({"subtype":"hook_callback","callback_id":"before_edit","input":input,"tool_use_id":"c"});
    json!({"type":"control_request","request_id":id,"request":ask})
}

#[test]
fn an_edit_waits_until_the_files_content_is_recorded() {
    let mut backend = StreamJson::new();
    let mut out = Output::default();
    backend.begin(&mut out);
    let begun: Value = serde_json::from_slice(&out.lines[0]).unwrap();
    assert_eq!(begun["request"]["hooks"]["PreToolUse"][0]["hookCallbackIds"], json!(["before_edit"]));
    let asked = before_edit("h", &json!({"cwd":"/p","tool_input":{"file_path":"a.txt"}}));
    let out = hear(&mut backend, &asked);
    assert!(out.lines.is_empty());
    let [Event::BeforeEdit { request, paths, call }] = &out.events[..] else { panic!("{:?}", out.events) };
    assert_eq!((request.as_deref(), call.as_deref()), (Some("h"), Some("c")));
    assert_eq!(*paths, ["/p/a.txt"]);
    let go_on = json!({"go_on":{"request":"h"}});
    let lines = want(&mut backend, go_on.clone());
    assert_eq!(lines[0]["response"], json!({"subtype":"success","request_id":"h","response":{}}));
    assert!(want(&mut backend, go_on).is_empty(), "once");
}

#[test]
fn an_edit_does_not_wait_for_a_neovim_that_is_busy_for_long() {
    let mut backend = StreamJson::new();
    hear(&mut backend, &before_edit("h", &json!({"tool_input":{"notebook_path":"/p/a.ipynb"}})));
    let mut out = Output::default();
    let due = backend.deadline().unwrap();
    backend.overdue(due.checked_sub(Duration::from_millis(1)).unwrap(), &mut out);
    assert!(out.lines.is_empty());
    backend.overdue(due, &mut out);
    assert_eq!(out.lines.len(), 1);
    assert!(backend.deadline().is_none());
    assert!(want(&mut backend, json!({"go_on":{"request":"h"}})).is_empty());
}

#[test]
fn an_edit_without_a_file_or_withdrawn_does_not_wait() {
    let mut backend = StreamJson::new();
    let out = hear(&mut backend, &before_edit("h", &json!({"tool_input":{"path":7}})));
    assert_eq!((out.lines.len(), out.events.len()), (1, 0));
    hear(&mut backend, &before_edit("i", &json!({"tool_input":{"file_path":"/a"}})));
    hear(&mut backend, &json!({"type":"control_cancel_request","request_id":"i"}));
    assert!(backend.deadline().is_none());
}

#[test]
fn pieces_of_a_text_carry_their_block_over_replies() {
    let mut backend = StreamJson::new();
    let event = |event: Value| json!({"type":"stream_event","event":event,"parent_tool_use_id":null});
    let mut blocks = Vec::new();
    for _ in 0..2 {
        hear(&mut backend, &event(json!({"type":"message_start","message":{"model":"m"}})));
        for index in 0..2 {
            hear(
                &mut backend,
                &event(json!({"type":"content_block_start","index":index,"content_block":{"type":"text","text":""}})),
            );
            let delta = match index {
                0 => json!({"type":"thinking_delta","thinking":"é\"x"}),
                _ => json!({"type":"text_delta","text":"é\"x"}),
            };
            let delta = json!({"type":"content_block_delta","index":index,"delta":delta});
            let out = hear(&mut backend, &event(delta));
            let [Event::Text { block, kind, text, .. }] = &out.events[..] else { panic!("{out:?}") };
            assert_eq!((*kind, text.as_str()), ([TextKind::Thinking, TextKind::Text][index], "é\"x"));
            blocks.push(*block);
        }
    }
    assert_eq!(blocks, [0, 1, 2, 3]);
}

#[test]
fn a_retry_voids_the_streamed_text() {
    let mut backend = StreamJson::new();
    let out = hear(&mut backend, &json!({"type":"system","subtype":"api_retry","attempt":1,"error_status":529}));
    assert!(matches!(&out.events[..], [Event::Void, Event::Retry { .. }]));
}

#[test]
fn rubbish_is_passed_over() {
    let mut backend = StreamJson::new();
    for line in [b"rubbish".as_slice(), b"{}", b"[1]", b"{\"type\":7}", b"{\"type\":\"control_request\"}", b"\xff\xfe"]
    {
        let mut out = Output::default();
        backend.line(line, &mut out);
        assert!(out.events.is_empty() && out.lines.is_empty());
    }
}

#[test]
fn an_answer_reaches_its_caller() {
    let mut backend = StreamJson::new();
    let lines = want(&mut backend, json!({"set":{"number":7,"setting":"model","value":"x"}}));
    assert_eq!(lines[0]["request"], json!({"subtype":"set_model","model":"x"}));
    let id = lines[0]["request_id"].as_str().unwrap();
    let answer =
        json!({"type":"control_response","response":{"subtype":"error","request_id":id,"error":"no such model"}});
    let out = hear(&mut backend, &answer);
    assert!(
        matches!(&out.events[..], [Event::Answer { number: 7, error: Some(error), .. }] if error == "no such model")
    );
    assert!(hear(&mut backend, &answer).events.is_empty(), "once");
}

fn problems(backend: &mut StreamJson, now: Instant) -> Vec<String> {
    let mut out = Output::default();
    backend.overdue(now, &mut out);
    let words = out.events.iter().map(|event| match event {
        Event::Notice { text } => text.clone(),
        other => panic!("{other:?}"),
    });
    words.collect()
}

#[test]
fn a_failed_start_or_stop_is_reported_once() {
    let mut backend = StreamJson::new();
    assert_eq!(backend.deadline(), None);
    backend.begin(&mut Output::default());
    let late = backend.deadline().unwrap();
    assert!(late > Instant::now() + BEGIN_PATIENCE / 2);
    assert!(problems(&mut backend, late - Duration::from_secs(1)).is_empty());
    let events = problems(&mut backend, late);
    assert!(events.len() == 1 && events[0].contains("starting for 30 s"), "{events:?}");
    assert!(problems(&mut backend, late).is_empty());
    assert_eq!(backend.deadline(), None);
    want(&mut backend, json!("interrupt"));
    let late = backend.deadline().unwrap();
    let events = problems(&mut backend, late);
    assert!(events.len() == 1 && events[0].contains("goes on"), "{events:?}");
    assert_eq!(backend.deadline(), None);
}

#[test]
fn an_answer_in_time_is_no_problem() {
    let mut backend = StreamJson::new();
    let mut out = Output::default();
    backend.begin(&mut out);
    let begin: Value = serde_json::from_slice(&out.lines[0]).unwrap();
    let interrupt = want(&mut backend, json!("interrupt"));
    for id in [&interrupt[0]["request_id"], &begin["request_id"]] {
        assert!(backend.deadline().is_some());
        let response = json!({"subtype": "success", "request_id": id, "response": {}});
        hear(&mut backend, &json!({"type": "control_response", "response": response}));
    }
    assert_eq!(backend.deadline(), None);
}

/// The answer to a question with these arguments when it is allowed.
fn allowed(input: &str, changes: &Value) -> Value {
    let mut backend = StreamJson::new();
    asks(&mut backend, input);
    let lines = want(&mut backend, json!({"allow":{"request":"q","changes":changes}}));
    let [answer] = &lines[..] else { panic!("{lines:?}") };
    answer["response"]["response"].clone()
}

#[test]
fn arguments_allowed_without_changes_go_back_verbatim() {
    for input in [r#"{"command":"ls","\ud83d":1}"#, r#"["ls","-l"]"#, r#"{"a":1,"a":2}"#] {
        let mut backend = StreamJson::new();
        asks(&mut backend, input);
        let mut out = Output::default();
        backend.command(serde_json::from_value(json!({"allow":{"request":"q"}})).unwrap(), &mut out);
        let line = String::from_utf8(out.lines.pop().unwrap()).unwrap();
        assert!(line.contains(&format!(r#""updatedInput":{input}"#)), "{line}");
    }
}

#[test]
fn arguments_that_cannot_be_changed_are_denied_and_not_emptied() {
    let changes = json!({"new_string":"b"});
    for input in [r#"{"new_string":"a","\ud83d":1}"#, r#"["a"]"#] {
        assert_eq!(allowed(input, &changes)["behavior"], "deny", "{input}");
    }
    assert_eq!(allowed(r#"{"new_string":"a"}"#, &changes)["updatedInput"], changes);
}

/// The immediate answer to a line, and the events.
fn at_once(line: &[u8]) -> (Value, Vec<Event>) {
    let (mut backend, mut out) = (StreamJson::new(), Output::default());
    backend.line(line, &mut out);
    let [answer] = &out.lines[..] else { panic!("{:?}", out.lines) };
    (serde_json::from_slice(answer).unwrap(), out.events)
}

fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

fn tool_request(input: &str) -> Vec<u8> {
    format!(
        r#"{{"type":"control_request","request_id":"q","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{input}}}}}"#
    )
    .into_bytes()
}

#[test]
fn a_question_that_cannot_be_shown_in_full_is_refused_with_a_notice() {
    let mut invalid = tool_request(r#"{"command":"echo @"}"#);
    let at = invalid.iter().position(|byte| *byte == b'@').unwrap();
    invalid[at] = 0xff;
    let infinite = tool_request(r#"{"count":1e999}"#);
    let (deep, deeper) = (tool_request(&nested(60)), tool_request(&nested(200)));
    let no_object = tool_request(r#""ls""#);
    let nothing = tool_request("null");
    for line in [&invalid, &infinite, &deep, &deeper, &no_object, &nothing] {
        let (answer, events) = at_once(line);
        let response = &answer["response"];
        assert_eq!((&response["subtype"], &response["request_id"]), (&json!("error"), &json!("q")));
        let [Event::Notice { text }] = &events[..] else { panic!("{events:?}") };
        assert!(text.contains("Bash"), "{text}");
    }
}

#[test]
fn a_question_of_no_kind_is_answered_with_an_error() {
    for request in ["{}", "7", r#"{"subtype":7}"#, "null"] {
        let line = format!(r#"{{"type":"control_request","request_id":"q","request":{request}}}"#);
        assert_eq!(at_once(line.as_bytes()).0["response"]["subtype"], "error", "{request}");
    }
    assert_eq!(at_once(br#"{"type":"control_request","request_id":"q"}"#).0["response"]["subtype"], "error");
}

#[test]
fn an_edit_whose_arguments_nest_deep_still_has_its_file_kept() {
    let ask = format!(
        r#"{{"type":"control_request","request_id":"h","request":{{"subtype":"hook_callback","callback_id":"before_edit",
        "input":{{"tool_input":{{"file_path":"/p/a","x":{}}}}}}}}}"#,
        nested(200)
    );
    let (mut backend, mut out) = (StreamJson::new(), Output::default());
    backend.line(ask.as_bytes(), &mut out);
    assert!(matches!(&out.events[..], [Event::BeforeEdit { paths, .. }] if *paths == ["/p/a"]), "{:?}", out.events);
}

#[test]
fn a_form_is_answered_as_a_form_whatever_fields_it_has() {
    let mut backend = StreamJson::new();
    let ask = json!({"subtype":"elicitation","message":"Name?","input":{"a":1}});
    hear(&mut backend, &json!({"type":"control_request","request_id":"e","request":ask}));
    let lines = want(&mut backend, json!({"allow":{"request":"e","changes":{"name":"x"}}}));
    assert_eq!(lines[0]["response"]["response"], json!({"action":"accept","content":{"name":"x"}}));
}

#[test]
fn the_readable_rest_of_a_bad_line_is_reported() {
    let (mut backend, mut out) = (StreamJson::new(), Output::default());
    let result = format!(r#"{{"type":"result","subtype":"success","total_cost_usd":1e999,"deep":{}}}"#, nested(200));
    backend.line(result.as_bytes(), &mut out);
    assert!(matches!(&out.events[..], [Event::Usage { cost: None, .. }, Event::Turn { .. }]), "{:?}", out.events);
    out.events.clear();
    let said = b"{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"half \xff\"}]}}";
    backend.line(said, &mut out);
    assert!(matches!(&out.events[..], [Event::Said { .. }]), "{:?}", out.events);
    out.events.clear();
    let lines = want(&mut backend, json!({"find_files":{"number":7,"query":"x"}}));
    let id = lines[0]["request_id"].as_str().unwrap();
    let answer = format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}","response":{}}}}}"#,
        nested(200)
    );
    backend.line(answer.as_bytes(), &mut out);
    assert!(matches!(&out.events[..], [Event::Answer { number: 7, answer: Some(_), .. }]), "{:?}", out.events);
}

#[test]
fn the_cli_reports_its_settings_commands_and_account() {
    let (mut backend, mut out) = (StreamJson::new(), Output::default());
    backend.begin(&mut out);
    let begun: Value = serde_json::from_slice(&out.lines[0]).unwrap();
    let about = json!({"models":[{"value":"haiku","supportedEffortLevels":["low"]}],"commands":[{"name":"init"}]});
    let response = json!({"subtype":"success","request_id":begun["request_id"],"response":about});
    let out = hear(&mut backend, &json!({"type":"control_response","response":response}));
    let [Event::Settings { settings }, Event::Commands { commands }, Event::Account { .. }, Event::Ready] =
        &out.events[..]
    else {
        panic!("{:?}", out.events)
    };
    assert_eq!((settings.len(), commands[0].name.as_str()), (3, "init"));
}

/// Sends the CLI's success to its last request.
fn agree(backend: &mut StreamJson, asked: &Value, response: Value) -> Output {
    let response = json!({"subtype":"success","request_id":asked["request_id"],"response":response});
    hear(backend, &json!({"type":"control_response","response":response}))
}

#[test]
fn an_effort_is_read_back() {
    let mut backend = StreamJson::new();
    let asked = want(&mut backend, json!({"set":{"number":7,"setting":"effort","value":"high"}}));
    let mut out = agree(&mut backend, &asked[0], json!({}));
    assert!(out.events.is_empty());
    let asked: Value = serde_json::from_slice(&out.lines.remove(0)).unwrap();
    assert_eq!(asked["request"], json!({"subtype":"get_settings"}));
    let out = agree(&mut backend, &asked, json!({"applied":{"effort":"low"}}));
    let [Event::Settings { settings }, Event::Answer { number: 7, error: None, .. }] = &out.events[..] else {
        panic!("{:?}", out.events)
    };
    assert_eq!(settings[2].value, Some("low".into()));
}

#[test]
fn going_back_is_tried_first() {
    let mut backend = StreamJson::new();
    let asked = want(&mut backend, json!({"rewind":{"number":7,"prompt":"p","is_dry":true}}));
    assert_eq!(asked[0]["request"], json!({"subtype":"rewind_files","user_message_id":"p","dry_run":true}));
    let out = agree(&mut backend, &asked[0], json!({"canRewind":false}));
    assert!(matches!(&out.events[..], [Event::Answer { number: 7, error: Some(_), .. }]), "{:?}", out.events);
}
