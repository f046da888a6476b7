use serde_json::json;

use super::*;
use crate::told::TextKind;

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
    assert!(matches!(&out.told[..], [Told::Asks { request, .. }] if request == "q"));
}

#[test]
fn what_is_not_changed_of_the_arguments_stays_byte_for_byte() {
    let mut backend = StreamJson::new();
    asks(&mut backend, r#"{"big":12345678901234567890123,"empty":{},"list":[],"nothing":null,"new_string":"a"}"#);
    let mut out = Output::default();
    let allow = json!({"allow":{"request":"q","changes":{"new_string":"b\n\"c\""},"always":[0, 7]}});
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
fn half_a_character_is_told_as_one_that_is_none_and_handed_back_as_it_came() {
    let (mut backend, mut out) = (StreamJson::new(), Output::default());
    let asked = br#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash",
        "input":{"command":"echo \ud83d"},"permission_suggestions":[{"type":"setMode","mode":"\ude00"}]}}"#;
    backend.line(asked, &mut out);
    let [Told::Asks { ask, .. }] = &out.told[..] else { panic!("{:?}", out.told) };
    assert_eq!(ask["input"]["command"], "echo \u{fffd}");
    backend.command(serde_json::from_value(serde_json::json!({"allow":{"request":"r"}})).unwrap(), &mut out);
    let answer = String::from_utf8(out.lines.pop().unwrap()).unwrap();
    assert!(answer.contains(r#"{"command":"echo \ud83d"}"#), "{answer}");
    out.told.clear();
    let delta = br#"{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","index":0,
        "delta":{"type":"text_delta","text":"half \ud83d"}}}"#;
    backend.line(delta, &mut out);
    assert!(matches!(&out.told[..], [Told::Text { text, .. }] if text == "half \u{fffd}"), "{:?}", out.told);
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
fn a_question_that_is_taken_back_gets_no_answer() {
    let mut backend = StreamJson::new();
    asks(&mut backend, "{}");
    let out = hear(&mut backend, &json!({"type":"control_cancel_request","request_id":"q"}));
    assert!(matches!(&out.told[..], [Told::Withdrawn { request }] if request == "q"));
    assert!(want(&mut backend, json!({"allow":{"request":"q"}})).is_empty());
}

#[test]
fn what_nobody_here_serves_is_refused_at_once() {
    let mut backend = StreamJson::new();
    let out =
        hear(&mut backend, &json!({"type":"control_request","request_id":"h","request":{"subtype":"hook_callback"}}));
    let answer: Value = serde_json::from_slice(&out.lines[0]).unwrap();
    assert_eq!(answer["response"]["subtype"], "error");
    assert_eq!(answer["response"]["request_id"], "h");
    assert!(out.told.is_empty());
}

fn before_edit(id: &str, input: &Value) -> Value {
    let ask = json!({"subtype":"hook_callback","callback_id":"before_edit","input":input});
    json!({"type":"control_request","request_id":id,"request":ask})
}

#[test]
fn an_edit_waits_until_what_the_file_held_is_kept() {
    let mut backend = StreamJson::new();
    let mut out = Output::default();
    backend.begin(&mut out);
    let begun: Value = serde_json::from_slice(&out.lines[0]).unwrap();
    assert_eq!(begun["request"]["hooks"]["PreToolUse"][0]["hookCallbackIds"], json!(["before_edit"]));
    let asked = before_edit("h", &json!({"cwd":"/p","tool_input":{"file_path":"a.txt"}}));
    let out = hear(&mut backend, &asked);
    assert!(out.lines.is_empty());
    assert!(matches!(&out.told[..], [Told::BeforeEdit { request, path }] if request == "h" && path == "/p/a.txt"));
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
fn an_edit_that_names_no_file_or_is_taken_back_is_not_waited_for() {
    let mut backend = StreamJson::new();
    let out = hear(&mut backend, &before_edit("h", &json!({"tool_input":{"path":7}})));
    assert_eq!((out.lines.len(), out.told.len()), (1, 0));
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
            let delta = json!({"type":"content_block_delta","index":index,"delta":{"type":"text_delta","text":"é\"x"}});
            let out = hear(&mut backend, &event(delta));
            let [Told::Text { block, kind: TextKind::Text, text, .. }] = &out.told[..] else { panic!("{out:?}") };
            assert_eq!(text, "é\"x");
            blocks.push(*block);
        }
    }
    assert_eq!(blocks, [0, 1, 2, 3]);
}

#[test]
fn a_retry_makes_what_was_streamed_void() {
    let mut backend = StreamJson::new();
    let out = hear(&mut backend, &json!({"type":"system","subtype":"api_retry","attempt":1,"error_status":529}));
    assert!(matches!(&out.told[..], [Told::Void, Told::Status { subject, .. }] if subject == "api_retry"));
}

#[test]
fn rubbish_is_passed_over() {
    let mut backend = StreamJson::new();
    for line in [b"rubbish".as_slice(), b"{}", b"[1]", b"{\"type\":7}", b"{\"type\":\"control_request\"}", b"\xff\xfe"]
    {
        let mut out = Output::default();
        backend.line(line, &mut out);
        assert!(out.told.is_empty() && out.lines.is_empty());
    }
}

#[test]
fn an_answer_reaches_who_asked() {
    let mut backend = StreamJson::new();
    let lines = want(&mut backend, json!({"ask":{"number":7,"subject":"set_model","fields":{"model":"x"}}}));
    assert_eq!(lines[0]["request"], json!({"subtype":"set_model","model":"x"}));
    let id = lines[0]["request_id"].as_str().unwrap();
    let answer =
        json!({"type":"control_response","response":{"subtype":"error","request_id":id,"error":"no such model"}});
    let out = hear(&mut backend, &answer);
    assert!(matches!(&out.told[..], [Told::Answer { number: 7, error: Some(error), .. }] if error == "no such model"));
    assert!(hear(&mut backend, &answer).told.is_empty(), "once");
}

fn problems(backend: &mut StreamJson, now: Instant) -> Vec<String> {
    let mut out = Output::default();
    backend.overdue(now, &mut out);
    let words = out.told.iter().map(|told| match told {
        Told::Status { subject, about } if subject == "problem" => about["text"].as_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    });
    words.collect()
}

#[test]
fn one_that_does_not_begin_or_stop_is_told_of_once() {
    let mut backend = StreamJson::new();
    assert_eq!(backend.deadline(), None);
    backend.begin(&mut Output::default());
    let late = backend.deadline().unwrap();
    assert!(late > Instant::now() + BEGIN_PATIENCE / 2);
    assert!(problems(&mut backend, late - Duration::from_secs(1)).is_empty());
    let told = problems(&mut backend, late);
    assert!(told.len() == 1 && told[0].contains("starting for 30 s"), "{told:?}");
    assert!(problems(&mut backend, late).is_empty());
    assert_eq!(backend.deadline(), None);
    want(&mut backend, json!("interrupt"));
    let late = backend.deadline().unwrap();
    let told = problems(&mut backend, late);
    assert!(told.len() == 1 && told[0].contains("goes on"), "{told:?}");
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
