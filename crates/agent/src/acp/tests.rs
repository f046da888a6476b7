use std::thread;

use serde_json::{Value, json};

use super::*;
use crate::ask::{Ask, ChoiceKind, Form};
use claude_ide_session::Block;

use crate::event::{Abilities, Answer, TurnEnd};

mod calls;

fn options() -> Options {
    serde_json::from_value(json!({
        "key": "robot", "name": "Robot", "cwd": "/p", "patience_ms": 20000, "version": "1",
        "mcp_servers": [{"type": "http", "name": "nvim", "url": "http://127.0.0.1:1/nvim",
            "headers": [{"name": "Authorization", "value": "Bearer t"}]}],
    }))
    .unwrap()
}

fn written(out: &mut Output) -> Vec<Value> {
    out.lines.drain(..).map(|line| serde_json::from_slice(&line).unwrap()).collect()
}

fn hear(acp: &mut Acp, message: &Value) -> (Vec<Value>, Vec<Event>) {
    let mut out = Output::default();
    acp.line(message.to_string().as_bytes(), &mut out);
    (written(&mut out), out.events)
}

fn want(acp: &mut Acp, command: &Value) -> (Vec<Value>, Vec<Event>) {
    let mut out = Output::default();
    acp.command(serde_json::from_value(command.clone()).unwrap(), &mut out);
    (written(&mut out), out.events)
}

fn begun(options: Options, capabilities: &Value) -> (Acp, Vec<Value>, Vec<Event>) {
    let mut acp = Acp::new(options);
    let mut out = Output::default();
    acp.begin(&mut out);
    assert_eq!(written(&mut out)[0]["method"], "initialize");
    let answer = json!({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":capabilities}});
    let (lines, events) = hear(&mut acp, &answer);
    (acp, lines, events)
}

/// An agent with a session named "s".
fn ready() -> Acp {
    let (mut acp, lines, _) = begun(options(), &json!({}));
    assert_eq!(lines[0]["method"], "session/new");
    let (_, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}));
    assert!(matches!(
        &events[..],
        [Event::Session { .. }, Event::Settings { .. }, Event::Commands { .. }, Event::Ready]
    ));
    acp
}

fn prompt(acp: &mut Acp, id: &str) -> Vec<Value> {
    want(acp, &json!({"prompt":{"id":id,"content":[{"type":"text","text":"hello"}]}})).0
}

fn update(update: Value) -> Value {
    json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":update}})
}

fn asks(acp: &mut Acp, id: u64, method: &str, mut params: Value) -> (Vec<Value>, Vec<Event>) {
    params["sessionId"] = json!("s");
    hear(acp, &json!({"jsonrpc":"2.0","id":id,"method":method,"params":params}))
}

fn asks_permission(acp: &mut Acp, id: u64) -> (Vec<Value>, Vec<Event>) {
    let params = json!({"toolCall":{"toolCallId":"c","title":"t"},
        "options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]});
    asks(acp, id, "session/request_permission", params)
}

fn permission(acp: &mut Acp, id: u64) -> String {
    let (lines, events) = asks_permission(acp, id);
    assert!(lines.is_empty());
    let Some(Event::Asks { request, .. }) = events.into_iter().last() else { panic!("nothing is asked") };
    request
}

#[test]
fn tool_servers_are_passed_to_agents_that_accept_them() {
    let (_, lines, _) = begun(options(), &json!({}));
    assert_eq!(lines[0]["params"]["mcpServers"], json!([]));
    let (_, lines, _) = begun(options(), &json!({"mcpCapabilities":{"http":true}}));
    let server = &lines[0]["params"]["mcpServers"][0];
    assert_eq!((&server["type"], &server["name"]), (&json!("http"), &json!("nvim")));
    assert_eq!(server["headers"][0]["value"], "Bearer t");
}

#[test]
fn a_session_is_resumed_or_loaded_as_the_agent_can() {
    let resume = |shown| Options { resume: Some("old".to_owned()), shown, ..options() };
    let can_both = json!({"loadSession":true,"sessionCapabilities":{"resume":{}}});
    assert_eq!(begun(resume(true), &can_both).1[0]["method"], "session/resume");
    assert_eq!(begun(resume(false), &can_both).1[0]["method"], "session/load", "what was said is to be seen");
    let can_load = json!({"loadSession":true});
    for shown in [true, false] {
        let (mut acp, lines, _) = begun(resume(shown), &can_load);
        assert_eq!(lines[0]["method"], "session/load");
        let said = |kind: &str, text: &str| {
            json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"old",
                "update":{"sessionUpdate":kind,"content":{"type":"text","text":text}}}})
        };
        let mut events = hear(&mut acp, &said("user_message_chunk", "what")).1;
        events.extend(hear(&mut acp, &said("user_message_chunk", " now")).1);
        events.extend(hear(&mut acp, &said("agent_message_chunk", "this")).1);
        events.extend(hear(&mut acp, &json!({"jsonrpc":"2.0","id":2,"result":{}})).1);
        let has_prompt = events.iter().any(|one| matches!(one, Event::Said { kind: "prompt", .. }));
        let has_text = events.iter().any(|one| matches!(one, Event::Text { .. }));
        assert_eq!((has_prompt, has_text), (!shown, !shown), "{events:?}");
    }
    let (_, lines, events) = begun(resume(true), &json!({}));
    assert_eq!(lines[0]["method"], "session/new");
    assert!(events.iter().any(|one| matches!(one, Event::Notice { .. })));
}

#[test]
fn geminis_late_replay_of_a_loaded_session_is_no_answer() {
    let resume = Options { resume: Some("s".to_owned()), shown: true, ..options() };
    let mut acp = Acp::new(resume);
    acp.begin(&mut Output::default());
    let result =
        json!({"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"gemini-cli"}});
    hear(&mut acp, &json!({"jsonrpc":"2.0","id":1,"result":result}));
    assert!(prompt(&mut acp, "a").is_empty());
    let (_, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":2,"result":{}}));
    assert!(events.is_empty(), "{events:?}");
    let late = json!({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"what was said"}});
    assert!(hear(&mut acp, &update(late)).1.is_empty());
    let mut out = Output::default();
    acp.overdue(acp.deadline().unwrap() - Duration::from_millis(1), &mut out);
    assert!(out.events.is_empty(), "it may go on");
    acp.overdue(acp.deadline().unwrap(), &mut out);
    assert!(
        matches!(&out.events[..], [Event::Session { .. }, .., Event::Ready, Event::Prompt { .. }]),
        "{:?}",
        out.events
    );
    assert_eq!(written(&mut out)[0]["method"], "session/prompt");
    let answer = json!({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"new"}});
    assert!(matches!(&hear(&mut acp, &update(answer)).1[..], [Event::Text { .. }, ..]));
}

#[test]
fn a_missing_session_is_reported_in_one_sentence_and_a_new_one_begun() {
    let resume = Options { resume: Some("old".to_owned()), ..options() };
    let (mut acp, _, _) = begun(resume, &json!({"loadSession":true}));
    let error = json!({"code":-32603,"message":"Internal error","data":{"details":"No sessions found.\n"}});
    let (lines, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":2,"error":error}));
    assert_eq!(lines[0]["method"], "session/new");
    let [Event::Notice { text }] = &events[..] else { panic!("{events:?}") };
    assert!(text.contains("session: Internal error: No sessions found. This is a new one"), "{text}");
}

#[test]
fn another_version_is_reported_and_no_session_begun() {
    for version in [json!(2), json!("1"), Value::Null] {
        let mut acp = Acp::new(options());
        acp.begin(&mut Output::default());
        let answer = json!({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":version}});
        let (lines, events) = hear(&mut acp, &answer);
        assert!(lines.is_empty());
        assert!(matches!(&events[..], [Event::Failed { .. }]), "{events:?}");
    }
}

#[test]
fn one_prompt_at_a_time_is_with_the_agent() {
    let mut acp = ready();
    assert_eq!(prompt(&mut acp, "a")[0]["method"], "session/prompt");
    assert!(prompt(&mut acp, "b").is_empty() && prompt(&mut acp, "c").is_empty());
    want(&mut acp, &json!({"cancel":{"id":"b"}}));
    let over = json!({"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}});
    let (lines, events) = hear(&mut acp, &over);
    assert_eq!(lines.len(), 1);
    assert!(matches!(&events[..], [Event::Turn { .. }, Event::Prompt { id, .. }] if id == "c"), "{events:?}");
    assert_eq!(hear(&mut acp, &over).1.len(), 0, "an answer counts once");
}

#[test]
fn a_request_is_answered_once_in_the_form_of_its_method() {
    let mut acp = ready();
    prompt(&mut acp, "a");
    let request = permission(&mut acp, 70);
    let allow = json!({"allow":{"request":request,"choice":"option:1"}});
    let (lines, _) = want(&mut acp, &allow);
    assert_eq!(lines[0]["id"], 70);
    assert_eq!(lines[0]["result"]["outcome"]["optionId"], "yes");
    assert!(want(&mut acp, &allow).0.is_empty());
    for (number, command) in [(71, "deny"), (72, "unanswered")] {
        let request = permission(&mut acp, number);
        let (lines, _) = want(&mut acp, &json!({ command: { "request": request } }));
        assert_eq!(lines[0]["result"]["outcome"]["outcome"], "cancelled", "there is no way to refuse");
    }
    let (_, events) = asks(&mut acp, 73, "fs/read_text_file", json!({"path":"/p/a","line":2}));
    let Some(Event::Asks { request, ask: Ask::ReadFile { line: Some(2), .. } }) = events.last() else {
        panic!("{events:?}")
    };
    assert!(want(&mut acp, &json!({"allow":{"request":request}})).0.is_empty(), "a file is no permission");
    let (lines, _) = want(&mut acp, &json!({"reply":{"request":request,"result":{"content":7}}}));
    assert_eq!(lines[0]["error"]["code"], -32603);
}

#[test]
fn a_cancelled_turn_answers_its_open_questions() {
    let mut acp = ready();
    prompt(&mut acp, "a");
    permission(&mut acp, 70);
    asks(&mut acp, 71, "fs/write_text_file", json!({"path":"/p/a","content":"x"}));
    asks(
        &mut acp,
        72,
        "elicitation/create",
        json!({"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}),
    );
    asks(&mut acp, 73, "terminal/wait_for_exit", json!({"terminalId":"t"}));
    let (lines, events) = want(&mut acp, &json!("interrupt"));
    assert_eq!(lines[0]["method"], "session/cancel");
    let answer = |id: u64| lines.iter().find(|line| line["id"] == id).cloned();
    assert_eq!(answer(70).unwrap()["result"]["outcome"]["outcome"], "cancelled");
    assert_eq!(answer(71).unwrap()["error"]["code"], -32800);
    assert_eq!(answer(72).unwrap()["result"]["action"], "cancel");
    assert!(answer(73).is_none(), "a command that runs is the agent's to end");
    assert_eq!(events.iter().filter(|one| matches!(one, Event::Withdrawn { .. })).count(), 3);
    let (_, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}));
    assert!(events.iter().any(|one| matches!(one, Event::Turn { outcome: TurnEnd::Aborted, .. })));
}

#[test]
fn a_request_that_crosses_a_cancel_is_cancelled_until_the_turn_ends() {
    let mut acp = ready();
    prompt(&mut acp, "a");
    want(&mut acp, &json!("interrupt"));
    let (lines, events) = asks_permission(&mut acp, 70);
    assert_eq!((&lines[0]["id"], &lines[0]["result"]["outcome"]["outcome"]), (&json!(70), &json!("cancelled")));
    assert!(!events.iter().any(|one| matches!(one, Event::Asks { .. })), "the user is not asked");
    let (lines, _) = asks(&mut acp, 71, "fs/write_text_file", json!({"path":"/p/a","content":"x"}));
    assert_eq!(lines[0]["error"]["code"], -32800);
    assert!(asks(&mut acp, 72, "terminal/release", json!({"terminalId":"t"})).0.is_empty(), "it tidies up");
    hear(&mut acp, &json!({"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}));
    prompt(&mut acp, "b");
    permission(&mut acp, 73);
}

#[test]
fn a_failed_request_to_the_agent_is_answered_with_its_error() {
    let mut acp = ready();
    // Sign-in requests stay unanswered.
    let sign_in = |number: usize| json!({"sign_in":{"number":number,"method":"m"}});
    for number in 0..MOST_OURS {
        assert_eq!(want(&mut acp, &sign_in(number)).0.len(), 1);
    }
    let (_, events) = want(&mut acp, &sign_in(MOST_OURS));
    assert!(matches!(&events[..], [Event::Answer { error: Some(_), .. }]), "{events:?}");
    for id in ["a", "b"] {
        let (lines, events) = want(&mut acp, &json!({"prompt":{"id":id,"content":[{"type":"text","text":"hello"}]}}));
        let has_failed = |one: &Event| matches!(one, Event::Turn { outcome: TurnEnd::Failed, .. });
        assert!(lines.is_empty() && events.iter().any(has_failed), "{events:?}");
    }
}

#[test]
fn a_withdrawn_request_is_answered_as_cancelled() {
    let mut acp = ready();
    permission(&mut acp, 70);
    let (lines, events) =
        hear(&mut acp, &json!({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":70}}));
    assert_eq!((&lines[0]["id"], &lines[0]["error"]["code"]), (&json!(70), &json!(-32800)));
    assert!(matches!(&events[..], [Event::Withdrawn { .. }]));
    let ask =
        r#"{"jsonrpc":"2.0","id":"\u0061b","method":"terminal/kill","params":{"sessionId":"s","terminalId":"t"}}"#;
    acp.line(ask.as_bytes(), &mut Output::default());
    let (lines, _) = hear(&mut acp, &json!({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"ab"}}));
    assert_eq!((&lines[0]["id"], &lines[0]["error"]["code"]), (&json!("ab"), &json!(-32800)), "the same id");
}

#[test]
fn a_malformed_or_unknown_request_is_refused_at_once() {
    let mut acp = ready();
    let code = |answer: (Vec<Value>, Vec<Event>)| {
        assert!(answer.1.is_empty());
        answer.0[0]["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(code(asks(&mut acp, 1, "fs/delete", json!({}))), -32601);
    assert_eq!(code(asks(&mut acp, 2, "fs/read_text_file", json!({"path":7}))), -32602);
    let other = json!({"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"other","path":"/p"}});
    assert_eq!(code(hear(&mut acp, &other)), -32602);
    permission(&mut acp, 70);
    let again = json!({"jsonrpc":"2.0","id":70,"method":"terminal/kill","params":{"sessionId":"s","terminalId":"t"}});
    assert_eq!(code(hear(&mut acp, &again)), -32600, "the id is in use");
}

#[test]
fn a_request_whose_id_is_null_is_answered() {
    let mut acp = ready();
    let ask = |method: &str| json!({"jsonrpc":"2.0","id":null,"method":method,"params":{"sessionId":"s"}});
    let (lines, _) = hear(&mut acp, &ask("fs/delete"));
    assert_eq!((&lines[0]["id"], &lines[0]["error"]["code"]), (&Value::Null, &json!(-32601)));
    let (_, events) = hear(&mut acp, &ask("fs/read_text_file"));
    assert!(events.is_empty(), "without a path it is refused");
    let read = json!({"jsonrpc":"2.0","id":null,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/p/a"}});
    let (_, events) = hear(&mut acp, &read);
    assert!(matches!(&events[..], [Event::Asks { .. }]), "{events:?}");
}

#[test]
fn an_agent_with_many_open_requests_is_not_read_until_some_are_answered() {
    let mut acp = ready();
    let mut asked = Vec::new();
    for id in 0..200 {
        assert!(!acp.is_full(), "{id}");
        assert!(asks(&mut acp, id, "terminal/wait_for_exit", json!({"terminalId":"t"})).0.is_empty());
    }
    for id in 200.. {
        asked.push(permission(&mut acp, id));
        if acp.is_full() {
            break;
        }
    }
    assert_eq!(asked.len(), MOST_PRESSING);
    // Requests from before the limit are not refused.
    asked.push(permission(&mut acp, 999));
    for request in asked.drain(..2) {
        want(&mut acp, &json!({"unanswered":{"request":request}}));
    }
    assert!(!acp.is_full());
    prompt(&mut acp, "p");
    want(&mut acp, &json!("interrupt"));
    assert!(!acp.is_full() && acp.questions.pressing() == 0, "who breaks the turn off makes room");
}

#[test]
fn a_permission_with_an_answer_of_an_unknown_kind_is_asked_with_the_others() {
    let mut acp = ready();
    let params = |kinds: &[&str]| {
        let options: Vec<Value> = kinds.iter().map(|kind| json!({"optionId":kind,"name":kind,"kind":kind})).collect();
        json!({"toolCall":{"toolCallId":"c","title":"t"},"options":options})
    };
    let (lines, events) = asks(&mut acp, 1, "session/request_permission", params(&["allow_once", "allow_for_a_day"]));
    let Some(Event::Asks { ask: Ask::Permission(ask), .. }) = events.last() else { panic!("{lines:?}") };
    let kinds: Vec<_> = ask.choices.iter().map(|choice| choice.kind).collect();
    assert_eq!(kinds, [ChoiceKind::AllowOnce, ChoiceKind::RejectOnce], "and none of these");
    let (lines, _) = asks(&mut acp, 2, "session/request_permission", params(&["allow_for_a_day"]));
    assert_eq!(lines[0]["error"]["code"], -32602);
    assert_eq!(asks(&mut acp, 3, "session/request_permission", params(&[])).0.len(), 0, "it is asked, as before");
}

#[test]
fn an_unreadable_request_is_answered_and_the_rest_of_an_update_is_used() {
    let mut acp = ready();
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (at, odd) in ["\"\u{1}\"", &deep, "1e999"].into_iter().enumerate() {
        let mut line = format!(
            r#"{{"jsonrpc":"2.0","id":{at},"method":"session/request_permission","params":{{"sessionId":"s",
            "toolCall":{{"toolCallId":"c","title":"t","rawInput":{{"x":{odd}}}}},"options":[]}}}}"#
        )
        .replace('\n', "")
        .into_bytes();
        line.iter_mut().filter(|byte| **byte == 1).for_each(|byte| *byte = 0xff);
        let mut out = Output::default();
        acp.line(&line, &mut out);
        let lines = written(&mut out);
        assert_eq!((&lines[0]["id"], &lines[0]["error"]["code"]), (&json!(at), &json!(-32602)));
        assert!(out.events.is_empty());
    }
    let mut out = Output::default();
    let call = format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"tool_call",
        "toolCallId":"d","title":"Deep","rawInput":{{"command":"ls","x":{deep}}}}}}}}}"#
    );
    acp.line(call.replace('\n', "").as_bytes(), &mut out);
    let [Event::Said { blocks, .. }] = &out.events[..] else { panic!("{:?}", out.events) };
    assert_eq!(serde_json::to_value(blocks).unwrap()[0]["input"]["command"], "ls");
}

#[test]
fn updates_that_are_not_known_are_passed_over() {
    let mut acp = ready();
    for odd in [
        json!({"sessionUpdate":"state_update","state":"idle"}),
        json!({"sessionUpdate":"tool_call","toolCallId":7}),
        json!({"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}),
        json!(null),
        json!([1]),
    ] {
        let (lines, events) = hear(&mut acp, &update(odd.clone()));
        assert!(lines.is_empty() && events.is_empty(), "{odd}: {events:?}");
    }
    let other = json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other",
        "update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}});
    assert!(hear(&mut acp, &other).1.is_empty(), "of another session");
}

#[test]
fn fields_that_are_null_or_empty_hurt_nothing() {
    let mut acp = ready();
    let nulls = json!({"title":null,"kind":null,"content":null,"locations":null,"rawInput":null,"status":null});
    let with_nulls = |kind: &str| {
        let mut fields = nulls.clone();
        (fields["sessionUpdate"], fields["toolCallId"]) = (json!(kind), json!("a"));
        fields
    };
    for odd in [
        with_nulls("tool_call"),
        with_nulls("tool_call_update"),
        json!({"sessionUpdate":"agent_message_chunk","content":null}),
        json!({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":null}}),
        json!({"sessionUpdate":"plan","entries":null}),
        json!({"sessionUpdate":"plan","entries":[]}),
        json!({"sessionUpdate":"usage_update","used":null,"size":null,"cost":null}),
        json!({"sessionUpdate":"available_commands_update","availableCommands":[null,{"name":null},"web"]}),
        json!({"sessionUpdate":"tool_call","toolCallId":"","title":"","status":"completed"}),
        json!({"sessionUpdate":"tool_call_update","toolCallId":"never","status":"completed","content":[{"type":"hologram"}]}),
        json!({"sessionUpdate":"plan"}),
        json!({"sessionUpdate":"current_mode_update"}),
        json!({"sessionUpdate":"config_option_update"}),
        json!({"sessionUpdate":"usage_update"}),
    ] {
        assert!(hear(&mut acp, &update(odd)).0.is_empty());
    }
    let chunk =
        |content: Value| update(json!({"sessionUpdate":"agent_message_chunk","content":content,"messageId":null}));
    for (content, expected) in [
        (json!({"type":"text","text":"some words"}), "some words"),
        (json!({"type":"image","data":"AAAA","mimeType":"image/png"}), "[image image/png]"),
    ] {
        let (_, events) = hear(&mut acp, &chunk(content));
        assert!(matches!(events.last(), Some(Event::Text { text, .. }) if text == expected), "{events:?}");
    }
}

#[test]
fn a_line_without_an_end_is_shown_in_several() {
    let mut acp = ready();
    let mut events_text = String::new();
    for piece in ["ä".repeat(100_000), "b".repeat(1000), "\nc".to_owned()] {
        let chunk = json!({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":piece}});
        for one in hear(&mut acp, &update(chunk)).1 {
            if let Event::Text { text, .. } = one {
                events_text.push_str(&text);
            }
        }
    }
    assert!(events_text.lines().all(|line| line.len() <= 33 * 1024));
    let all = format!("{}{}c", "ä".repeat(100_000), "b".repeat(1000));
    assert_eq!(events_text.replace('\n', ""), all);
}

#[test]
fn garbage_is_reported_once_and_ends_nothing() {
    let mut acp = ready();
    let mut count = 0;
    for line in [b"npm warn: hello".as_slice(), b"{}", b"[1,2]", b"\xff\xfe", b"", b"  ", b"{\"jsonrpc\":\"2.0\"}"] {
        let mut out = Output::default();
        acp.line(line, &mut out);
        count += out.events.len();
    }
    assert_eq!(count, 1);
    assert_eq!(prompt(&mut acp, "a").len(), 1);
}

#[test]
fn half_a_character_becomes_a_replacement_character() {
    let mut acp = ready();
    let line = br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"half \ud83d here"}}}}"#;
    let mut out = Output::default();
    acp.line(line, &mut out);
    assert!(matches!(&out.events[..], [Event::Text { text, .. }] if text == "half \u{fffd} here"), "{:?}", out.events);
}

#[test]
fn a_request_that_times_out_is_reported_and_cancelled() {
    let mut acp = Acp::new(Options { patience_ms: 1, ..options() });
    acp.begin(&mut Output::default());
    thread::sleep(Duration::from_millis(5));
    let mut out = Output::default();
    assert!(acp.deadline().unwrap() <= Instant::now());
    acp.overdue(Instant::now(), &mut out);
    assert!(matches!(&out.events[..], [Event::Notice { .. }]));
    assert!(acp.deadline().is_none(), "told once");
    // A late answer counts.
    let late = json!({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}});
    assert_eq!(hear(&mut acp, &late).0[0]["method"], "session/new");
    hear(&mut acp, &json!({"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}));
    want(&mut acp, &json!({"list_sessions":{"number":9}}));
    thread::sleep(Duration::from_millis(5));
    let mut out = Output::default();
    acp.overdue(Instant::now(), &mut out);
    assert!(matches!(&out.events[..], [Event::Answer { number: 9, error: Some(_), .. }]));
    assert_eq!(written(&mut out)[0]["method"], "$/cancel_request");
}

#[test]
fn prompt_blocks_have_the_types_that_the_agent_accepts() {
    let image = json!({"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}});
    let file = json!({"type":"resource","resource":{"uri":"file:///p/a","text":"content"}});
    let takes = |image, embedded| {
        agent_client_protocol_schema::v1::PromptCapabilities::new().image(image).embedded_context(embedded)
    };
    let as_json = |block: Option<ContentBlock>| serde_json::to_value(block.unwrap()).unwrap();
    let taken = as_json(content::block(image.clone(), &takes(true, true)));
    assert_eq!((&taken["mimeType"], &taken["data"]), (&json!("image/png"), &json!("AA==")));
    assert_eq!(as_json(content::block(image, &takes(false, false)))["type"], "text");
    assert_eq!(as_json(content::block(file.clone(), &takes(true, true)))["resource"]["uri"], "file:///p/a");
    assert_eq!(as_json(content::block(file, &takes(false, false)))["text"], "content");
}

#[test]
fn a_required_sign_in_names_its_methods() {
    let mut acp = Acp::new(options());
    acp.begin(&mut Output::default());
    let methods = json!([{"id":"m","name":"Key","_meta":{"api-key":{}}}, {"id":"t","type":"terminal","args":["login",7],"env":{"A":"b"}}, 7, {}]);
    hear(&mut acp, &json!({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"authMethods":methods}}));
    let error = json!({"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required."}});
    let (_, events) = hear(&mut acp, &error);
    let [Event::SignIn { reason, methods }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((reason.as_str(), methods.len()), ("Authentication required", 2));
    assert!(methods[0].takes_key && methods[0].args.is_none());
    assert_eq!((methods[1].name.as_str(), methods[1].args.as_deref()), ("t", Some(&["login".to_owned()][..])));
    let (lines, _) = want(&mut acp, &json!({"sign_in":{"number":1,"method":"m","key":"k"}}));
    assert_eq!(lines[0]["params"], json!({"methodId":"m","_meta":{"api-key":"k"}}));
    let (lines, _) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":3,"result":{}}));
    assert_eq!(lines[0]["method"], "session/new");
}

#[test]
fn an_agent_says_what_it_can() {
    let capabilities =
        json!({"promptCapabilities":{"embeddedContext":true},"sessionCapabilities":{"list":{},"fork":{}}});
    let (_, _, events) = begun(options(), &capabilities);
    let Some(Event::Greeted { text, can }) = events.first() else { panic!("{events:?}") };
    assert!(text.starts_with("Robot, by the Agent Client Protocol."));
    assert_eq!(*can, Abilities { list: true, fork: true, close: false, embeds: true });
}

#[test]
fn sessions_are_listed_page_by_page() {
    let mut acp = ready();
    let (lines, _) = want(&mut acp, &json!({"list_sessions":{"number":4}}));
    assert_eq!((&lines[0]["method"], &lines[0]["params"]), (&json!("session/list"), &json!({"cwd":"/p"})));
    let page = json!({"sessions":[{"sessionId":"a","title":"A"},{"sessionId":""},7],"nextCursor":"2"});
    let (lines, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":lines[0]["id"],"result":page}));
    assert!(events.is_empty());
    assert_eq!(lines[0]["params"], json!({"cwd":"/p","cursor":"2"}));
    let page = json!({"sessions":[{"sessionId":"b","updatedAt":"2026"}]});
    let (_, events) = hear(&mut acp, &json!({"jsonrpc":"2.0","id":lines[0]["id"],"result":page}));
    let [Event::Answer { number: 4, answer: Some(Answer::Sessions(sessions)), .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(sessions.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn reports_beside_the_answer_are_typed() {
    let mut acp = ready();
    let mut says = |fields: Value| hear(&mut acp, &update(fields)).1;
    let events =
        says(json!({"sessionUpdate":"usage_update","size":200,"used":50,"cost":{"amount":0.5,"currency":"USD"}}));
    let [Event::Usage { cost: Some(cost), window: Some(200), used: Some(used) }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((*cost, used.input), (0.5, 50));
    let cost = json!({"amount":1e308,"currency":"USD"});
    for (used, size, expected) in [
        (json!(10), json!(0), 0),
        (json!(1e300), json!(200), 200),
        (json!("x"), json!("y"), 0),
        (json!(-5), json!(1e308), 0),
    ] {
        let events = says(json!({"sessionUpdate":"usage_update","size":size,"used":used,"cost":cost}));
        let [Event::Usage { cost: None, window, used: read }] = &events[..] else { panic!("{events:?}") };
        assert_eq!((*window, read.is_some()), (Some(expected), used == json!(10)));
    }
    assert!(matches!(&says(json!({"sessionUpdate":"session_info_update","title":"T"}))[..], [Event::Title { .. }]));
    assert!(says(json!({"sessionUpdate":"session_info_update","title":null})).is_empty());
    let compaction = |status: &str| json!({"sessionUpdate":"compaction_update","status":status});
    assert!(matches!(&says(compaction("in_progress"))[..], [Event::Doing { doing: Some("compacting") }]));
    assert!(matches!(&says(compaction("completed"))[..], [Event::Doing { doing: None }, Event::Compacted]));
    let command = json!({"name":"web","description":"Looks"});
    let events = says(json!({"sessionUpdate":"available_commands_update","availableCommands":[command, {}, 7]}));
    assert!(matches!(&events[..], [Event::Commands { commands }] if commands.len() == 1), "{events:?}");
    let events = says(json!({"sessionUpdate":"notice","title":"One","description":"two"}));
    assert!(matches!(&events[..], [Event::Notice { text }] if text == "One\ntwo"), "{events:?}");
}

#[test]
fn a_form_is_asked_in_its_order_and_answered_as_a_form() {
    let mut acp = ready();
    let schema = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["a"]}"#;
    let line = |id: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"sessionId":"s","mode":"form","message":"m","requestedSchema":{schema}}}}}"#
        )
    };
    for (id, command, expected) in [
        (70, json!({"allow":{"request":"acp-1","changes":{"a":1}}}), json!({"action":"accept","content":{"a":1}})),
        (71, json!({"allow":{"request":"acp-2"}}), json!({"action":"accept"})),
        (72, json!({"deny":{"request":"acp-3"}}), json!({"action":"decline"})),
        (73, json!({"unanswered":{"request":"acp-4"}}), json!({"action":"cancel"})),
    ] {
        let mut out = Output::default();
        acp.line(line(id).as_bytes(), &mut out);
        let Some(Event::Asks { ask: Ask::Form(form), .. }) = out.events.last() else { panic!("{:?}", out.events) };
        assert_eq!(form.fields.iter().map(|field| field.key.as_str()).collect::<Vec<_>>(), ["z", "a"]);
        assert_eq!(want(&mut acp, &command).0[0]["result"], expected);
    }
    let page = |url: &str| json!({"mode":"url","message":"m","url":url,"elicitationId":"e"});
    for (at, url) in ["file:///etc/passwd", "-aCalculator", "javascript:alert(1)", "https:///x"].into_iter().enumerate()
    {
        let id = u64::try_from(at).unwrap() + 90;
        assert_eq!(asks(&mut acp, id, "elicitation/create", page(url)).0[0]["error"]["code"], -32602, "{url}");
    }
    let (_, events) = asks(&mut acp, 81, "elicitation/create", page("https://a.b"));
    assert!(matches!(events.last(), Some(Event::Asks { ask: Ask::Form(Form { url: Some(_), .. }), .. })), "{events:?}");
}

#[test]
fn a_turn_that_the_agent_breaks_off_is_not_the_users_interruption() {
    let mut acp = ready();
    prompt(&mut acp, "a");
    let over = json!({"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}});
    let (_, events) = hear(&mut acp, &over);
    assert!(!events.iter().any(|one| matches!(one, Event::Said { kind: "interrupted", .. })), "{events:?}");
    assert!(events.iter().any(|one| matches!(one, Event::Turn { outcome: TurnEnd::Failed, words: Some(words) }
        if words == "Robot broke its turn off. You did not interrupt it.")));
}

#[test]
fn what_is_no_text_is_a_block_of_its_own() {
    let mut acp = ready();
    prompt(&mut acp, "a");
    let mut blocks = Vec::new();
    for content in [
        json!({"type":"text","text":"one "}),
        json!({"type":"text","text":"text"}),
        json!({"type":"resource_link","name":"a","uri":"file:///a"}),
        json!({"type":"image","mimeType":"image/png","data":""}),
        json!({"type":"text","text":"another"}),
    ] {
        let (_, events) = hear(
            &mut acp,
            &json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",
                "update":{"sessionUpdate":"agent_message_chunk","content":content}}}),
        );
        blocks.extend(events.iter().filter_map(|one| match one {
            Event::Text { block, .. } => Some(*block),
            _ => None,
        }));
    }
    assert_eq!(blocks, [1, 1, 2, 3, 4]);
}

#[test]
fn the_blocks_of_a_loaded_prompt_do_not_run_together() {
    let (mut acp, ..) = begun(Options { resume: Some("old".to_owned()), ..options() }, &json!({"loadSession":true}));
    let mut events = Vec::new();
    for (id, content) in [
        ("p1", json!({"type":"text","text":"Look "})),
        ("p1", json!({"type":"text","text":"at"})),
        ("p1", json!({"type":"resource_link","name":"a","uri":"file:///a"})),
        ("p1", json!({"type":"text","text":"and go"})),
        ("p2", json!({"type":"text","text":"More"})),
    ] {
        let update = json!({"sessionUpdate":"user_message_chunk","messageId":id,"content":content});
        let update = json!({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"old","update":update}});
        events.extend(hear(&mut acp, &update).1);
    }
    events.extend(hear(&mut acp, &json!({"jsonrpc":"2.0","id":2,"result":{}})).1);
    let prompts: Vec<_> = events
        .into_iter()
        .filter_map(|one| match one {
            Event::Said { kind: "prompt", mut blocks, .. } => match blocks.remove(0) {
                Block::Text(text) => Some(text.text),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(prompts, ["Look at\n[a](file:///a)\nand go", "More"]);
}
