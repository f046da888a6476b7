//! MCP and JSON-RPC as a client sees them, over a real socket.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use claude_ide_server::{
    ClientEvent, ClientState, EditorError, ServerOptions,
    testing::{TestClient, TestServer},
};
use serde_json::{Value, json};

fn start() -> TestServer {
    TestServer::start(ServerOptions { server_name: "the-server".to_owned(), ..ServerOptions::default() })
}

/// The answer to one text, whatever it is.
fn answer_to(client: &mut TestClient, text: &str) -> Value {
    client.send_text(text);
    client.next_message()
}

#[test]
fn a_client_initializes_lists_and_calls() {
    let server = start();
    server.editor.reply("close_all_diff_tabs", Ok(json!({ "count": 0 })));
    let mut client = server.connect();
    let result = client.initialize("2025-11-25");
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"], json!({ "name": "the-server", "version": env!("CARGO_PKG_VERSION") }));
    assert_eq!(result["capabilities"], json!({ "tools": { "listChanged": true } }));
    assert!(result["instructions"].as_str().is_some_and(|text| text.len() > 40));
    let tools = client.request("tools/list", &json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 14);
    assert_eq!(client.call("closeAllDiffTabs", &json!({})), ["CLOSED_0_DIFF_TABS"]);
}

#[test]
fn the_version_is_negotiated() {
    let server = start();
    for (asked, got) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        assert_eq!(server.connect().initialize(asked)["protocolVersion"], got);
    }
}

#[test]
fn rejects_a_second_initialize() {
    let server = start();
    let mut client = server.client();
    let (code, message) = client.error("initialize", &json!({ "protocolVersion": "2025-11-25" }));
    assert_eq!((code, message.contains("initialized already")), (-32600, true), "{message}");
    client.request("ping", &json!({}));
}

#[test]
fn initialize_names_the_bad_argument_and_may_be_tried_again() {
    let server = start();
    let mut client = server.connect();
    for (params, name) in [
        (json!({}), "protocolVersion"),
        (json!({ "protocolVersion": 5 }), "protocolVersion"),
        (json!({ "protocolVersion": "2025-11-25", "capabilities": [] }), "capabilities"),
        (json!({ "protocolVersion": "2025-11-25", "clientInfo": { "name": 5 } }), "name"),
    ] {
        let (code, message) = client.error("initialize", &params);
        assert_eq!(code, -32602);
        assert!(message.contains(&format!("{name:?}")), "{message}");
    }
    client.initialize("2025-11-25");
}

#[test]
fn resources_and_prompts_are_empty_lists() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.request("resources/list", &json!({})), json!({ "resources": [] }));
    assert_eq!(client.request("resources/templates/list", &json!({})), json!({ "resourceTemplates": [] }));
    assert_eq!(client.request("prompts/list", &json!({})), json!({ "prompts": [] }));
}

#[test]
fn ping_is_answered_with_an_empty_object() {
    let server = start();
    assert_eq!(server.client().request("ping", &json!({})), json!({}));
}

#[test]
fn requests_before_initialize_are_served() {
    let server = start();
    server.editor.reply("close_tab", Ok(json!({ "closed": false })));
    let mut client = server.connect();
    assert_eq!(client.request("ping", &json!({})), json!({}));
    assert_eq!(client.call("close_tab", &json!({ "tab_name": "x" })), ["Tab not found"]);
}

#[test]
fn an_id_returns_as_it_came() {
    let server = start();
    let mut client = server.client();
    for id in ["1", "1.0", "-3", "12345678901234567890123", "\"text\"", "\"\\u00e9\""] {
        client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let tokio_tungstenite::tungstenite::Message::Text(text) = client.read() else { panic!("a text") };
        assert_eq!(text.as_str(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[test]
fn what_is_not_json_is_answered_32700() {
    let server = start();
    let mut client = server.client();
    for text in ["", "{", "nonsense", "[1,", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#] {
        let answer = answer_to(&mut client, text);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &Value::Null), "{text}");
    }
    client.request("ping", &json!({}));
}

#[test]
fn what_is_no_request_is_answered_32600_and_breaks_nothing() {
    let server = start();
    let mut client = server.client();
    for text in ["1", "null", "[]", "{}", "\"x\"", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
        let answer = answer_to(&mut client, text);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null), "{text}");
    }
    let answer = answer_to(&mut client, r#"{"jsonrpc":"2.0","id":8}"#);
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &json!(8)));
    client.request("ping", &json!({}));
}

#[test]
fn an_unknown_method_is_answered_32601() {
    let server = start();
    let (code, message) = server.client().error("no/such", &json!({}));
    assert_eq!((code, message.contains("no/such")), (-32601, true));
}

#[test]
fn wrong_arguments_are_answered_32602_with_their_name() {
    let server = start();
    let mut client = server.client();
    for (params, name) in [
        (json!({}), "name"),
        (json!({ "name": 5 }), "name"),
        (json!({ "name": "noSuchTool" }), "name"),
        (json!({ "name": "executeCode", "arguments": { "code": "1" } }), "name"),
        (json!({ "name": "openFile", "arguments": [] }), "arguments"),
        (json!({ "name": "openFile" }), "filePath"),
        (json!({ "name": "openFile", "arguments": { "filePath": 1 } }), "filePath"),
        (json!({ "name": "openDiff", "arguments": { "old_file_path": "/a" } }), "new_file_contents"),
        (json!({ "name": "open_files", "arguments": { "file_paths": "x" } }), "file_paths"),
    ] {
        let (code, message) = client.error("tools/call", &params);
        assert_eq!(code, -32602, "{message}");
        assert!(message.contains(&format!("{name:?}")), "{params}: {message}");
    }
    let (code, message) = client.error("tools/call", &json!([]));
    assert_eq!((code, message.contains("\"params\"")), (-32602, true), "{message}");
}

#[test]
fn what_clients_add_to_a_call_is_ignored() {
    let server = start();
    server.editor.reply("close_tab", Ok(json!({ "closed": true })));
    let mut client = server.client();
    let params = json!({
        "name": "close_tab",
        "arguments": { "tab_name": "x", "unknown": 1 },
        "_meta": { "progressToken": 7 },
    });
    assert_eq!(client.request("tools/call", &params)["content"][0]["text"], "TAB_CLOSED");
    assert_eq!(json!(server.editor.calls()[0].args), json!({ "tab_name": "x" }));
}

#[test]
fn a_tool_that_fails_says_so_in_its_result() {
    let server = start();
    server.editor.reply("save_document", Err(EditorError::Failed("disk full".to_owned())));
    server.editor.reply("open_file", Err(EditorError::InvalidParams("no such file".to_owned())));
    server.editor.reply("close_tab", Ok(json!("nonsense")));
    let mut client = server.client();
    let call = |name, arguments| json!({ "name": name, "arguments": arguments });
    let failed = client.request("tools/call", &call("saveDocument", json!({ "filePath": "/a" })));
    assert_eq!(failed, json!({ "content": [{ "type": "text", "text": "disk full" }], "isError": true }));
    let (code, message) = client.error("tools/call", &call("openFile", json!({ "filePath": "/a" })));
    assert_eq!((code, message.as_str()), (-32602, "no such file"));
    let broken = client.request("tools/call", &call("close_tab", json!({ "tab_name": "x" })));
    assert_eq!(broken["isError"], true);
}

#[test]
fn a_notification_is_never_answered() {
    let server = start();
    let mut client = server.client();
    client.notify("no/such", &json!({}));
    client.notify("tools/call", &json!({ "name": "openFile" }));
    client.notify("notifications/cancelled", &json!({ "requestId": 99 }));
    client.notify("notifications/cancelled", &json!({}));
    client.notify("ide_connected", &json!({ "pid": "x" }));
    client.send_text(r#"{"jsonrpc":"2.0","method":"ping"}"#);
    client.send_text(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    client.send_text(r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}"#);
    assert_eq!(client.unasked(), Vec::<Value>::new());
    assert!(server.editor.calls().is_empty(), "a notification asks for no work");
}

#[test]
fn batches_exist_in_one_version_only() {
    let server = start();
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = server.connect();
        client.initialize(version);
        assert_eq!(answer_to(&mut client, batch)["error"]["code"], -32600, "{version}");
    }
    assert_eq!(answer_to(&mut server.connect(), batch)["error"]["code"], -32600, "before initialize");
}

#[test]
fn a_batch_is_answered_as_a_batch() {
    let server = start();
    let mut client = server.connect();
    client.initialize("2025-03-26");
    client.send_text(
        r#"[{"jsonrpc":"2.0","id":"a","method":"ping"}, {"jsonrpc":"2.0","method":"x"}, 5,
            {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"close_tab","arguments":{"tab_name":"t"}}},
            {"jsonrpc":"2.0","id":"c","method":"initialize","params":{"protocolVersion":"2025-03-26"}}, [1]]"#,
    );
    assert_eq!(client.request("ping", &json!({})), json!({}), "a batch that waits holds nothing up");
    server.editor.answer("close_tab", Ok(json!({ "closed": true })));
    let answers = client.next_message();
    let answers = answers.as_array().unwrap();
    let code =
        |id: &Value| answers.iter().find(|answer| answer["id"] == *id).map(|answer| answer["error"]["code"].clone());
    assert_eq!(answers.len(), 5, "{answers:?}");
    assert_eq!(code(&json!("a")), Some(Value::Null));
    assert_eq!(code(&json!("b")), Some(Value::Null));
    assert_eq!(code(&json!("c")), Some(json!(-32600)));
    assert_eq!(code(&Value::Null), Some(json!(-32600)));
}

#[test]
fn a_batch_of_notifications_or_of_cancelled_requests_is_not_answered() {
    let server = start();
    let mut client = server.connect();
    client.initialize("2025-03-26");
    client.send_text(r#"[{"jsonrpc":"2.0","method":"x"}]"#);
    client.send_text(
        r#"[{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"close_tab","arguments":{"tab_name":"t"}}}]"#,
    );
    client.notify("notifications/cancelled", &json!({ "requestId": "w" }));
    server.editor.wait_cancelled("close_tab");
    assert_eq!(client.unasked(), Vec::<Value>::new());
    assert_eq!(answer_to(&mut client, "[]")["error"]["code"], -32600);
}

#[test]
fn a_cancelled_request_is_cancelled_in_the_editor_and_not_answered() {
    let server = start();
    let mut client = server.client();
    let diff = json!({ "name": "openDiff", "arguments": { "old_file_path": "/a", "new_file_contents": "" } });
    let id = client.send("tools/call", &diff);
    server.editor.wait_call("open_diff", 1);
    client.notify("notifications/cancelled", &json!({ "requestId": id, "reason": "changed my mind" }));
    server.editor.wait_cancelled("open_diff");
    assert_eq!(client.unasked(), Vec::<Value>::new());
}

#[test]
fn only_the_cancelled_request_is_cancelled() {
    let server = start();
    let mut client = server.client();
    let diff = |path| json!({ "name": "openDiff", "arguments": { "old_file_path": path, "new_file_contents": "" } });
    let first = client.send("tools/call", &diff("/a"));
    let second = client.send("tools/call", &diff("/b"));
    server.editor.wait_call("open_diff", 2);
    client.notify("notifications/cancelled", &json!({ "requestId": first }));
    assert_eq!(server.editor.wait_cancelled("open_diff").args["old_file_path"], "/a");
    server.editor.answer("open_diff", Ok(json!({ "outcome": "rejected" })));
    assert_eq!(client.answer(second)["result"]["content"][0]["text"], "DIFF_REJECTED");
}

#[test]
fn a_client_that_leaves_takes_its_requests_along() {
    let server = start();
    let mut client = server.client();
    client.send(
        "tools/call",
        &json!({ "name": "openDiff", "arguments": { "old_file_path": "/a", "new_file_contents": "" } }),
    );
    let call = server.editor.wait_call("open_diff", 1);
    drop(client);
    assert_eq!(server.editor.wait_cancelled("open_diff").client, call.client);
    server.editor.wait_disconnected(1);
}

#[test]
fn answers_come_as_they_are_ready_not_as_they_were_asked() {
    let server = start();
    let mut client = server.client();
    let slow = client.send("tools/call", &json!({ "name": "close_tab", "arguments": { "tab_name": "x" } }));
    assert_eq!(client.request("ping", &json!({})), json!({}));
    server.editor.answer("close_tab", Ok(json!({ "closed": true })));
    assert_eq!(client.answer(slow)["result"]["content"][0]["text"], "TAB_CLOSED");
}

#[test]
fn calls_reach_the_editor_in_the_order_in_which_they_came() {
    let server = start();
    let mut client = server.client();
    let call = |number: u64| {
        let arguments = json!({ "old_file_path": format!("/{number}"), "new_file_contents": "x" });
        let params = json!({ "name": "openDiff", "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params }).to_string()
    };
    client.send_all((1..=500).map(call));
    server.editor.wait_call("open_diff", 500);
    let paths: Vec<_> = server.editor.calls().iter().map(|call| call.args["old_file_path"].clone()).collect();
    assert_eq!(paths, (1..=500).map(|number| json!(format!("/{number}"))).collect::<Vec<_>>());
}

#[test]
fn an_id_cannot_be_used_twice_at_the_same_time() {
    let server = start();
    let mut client = server.client();
    let call = r#"{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"close_tab","arguments":{"tab_name":"x"}}}"#;
    client.send_text(call);
    server.editor.wait_call("close_tab", 1);
    assert_eq!(answer_to(&mut client, call)["error"]["code"], -32600);
    server.editor.answer("close_tab", Ok(json!({ "closed": true })));
    assert_eq!(client.next_message()["result"]["content"][0]["text"], "TAB_CLOSED");
    client.send_text(call);
    server.editor.wait_call("close_tab", 2);
}

#[test]
fn beyond_the_limit_a_request_is_refused_and_pings_are_not() {
    let server = start();
    let mut client = server.client();
    let limit = 16_384;
    let call = |id: usize| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "close_tab", "arguments": { "tab_name": "x" } } })
        .to_string()
    };
    client.send_all((0..=limit).map(call));
    let refused = client.next_message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(limit), &json!(-32000)), "{refused}");
    client.send_text(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    assert_eq!(client.next_message(), json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
}

#[test]
fn what_waits_for_the_editor_is_bounded_in_bytes() {
    let server = TestServer::start(ServerOptions { max_message_bytes: 1 << 20, ..ServerOptions::default() });
    let mut client = server.client();
    let diff = |id: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "openDiff", "arguments":
                { "old_file_path": "/a", "new_file_contents": "x".repeat(900_000) } } })
        .to_string()
    };
    client.send_text(&diff("first"));
    server.editor.wait_call("open_diff", 1);
    let refused = answer_to(&mut client, &diff("second"));
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("second"), &json!(-32000)));
    server.editor.answer("open_diff", Ok(json!({ "outcome": "rejected" })));
    assert_eq!(client.next_message()["id"], "first");
    client.send_text(&diff("third"));
    server.editor.wait_call("open_diff", 2);
}

#[test]
fn the_editor_hears_of_a_client_in_order() {
    let server = start();
    let mut client = server.connect();
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "roots": { "listChanged": true } },
        "clientInfo": { "name": "claude-code", "version": "2.1.329" },
    });
    client.request("initialize", &params);
    client.notify("notifications/initialized", &json!({}));
    client.notify("ide_connected", &json!({ "pid": 4321 }));
    let asked = client.wait_method("roots/list");
    let roots = json!({ "roots": [{ "uri": "file:///with space" }, { "uri": "https://elsewhere" }] });
    client.send_text(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots }).to_string());
    let ready = server.editor.wait_event("the client to be ready", |event| match event {
        ClientEvent::Ready(info) => Some(info.clone()),
        _ => None,
    });
    assert_eq!(ready.state, ClientState::Ready);
    assert_eq!((ready.name.as_deref(), ready.version.as_deref()), (Some("claude-code"), Some("2.1.329")));
    assert_eq!((ready.pid, ready.protocol), (Some(4321), Some("2025-11-25")));
    assert_eq!(ready.roots, [std::path::PathBuf::from("/with space")]);
    drop(client);
    server.editor.wait_disconnected(1);
    assert!(matches!(
        server.editor.events().as_slice(),
        [ClientEvent::Connected(_), ClientEvent::Ready(_), ClientEvent::Disconnected { .. }]
    ));
}

#[test]
fn a_client_that_does_not_tell_its_folders_is_ready_all_the_same() {
    let server = start();
    let mut client = server.connect();
    client.request("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} } }));
    client.notify("notifications/initialized", &json!({}));
    let asked = client.wait_method("roots/list");
    server.editor.wait_event("the client to be ready", |event| matches!(event, ClientEvent::Ready(_)).then_some(()));
    let late = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [{ "uri": "file:///late" }] } });
    client.send_text(&late.to_string());
    let roots = server.editor.wait_event("the folders", |event| match event {
        ClientEvent::Changed(info) => Some(info.roots.clone()),
        _ => None,
    });
    assert_eq!(roots, [std::path::PathBuf::from("/late")]);
}

#[test]
fn changed_folders_are_asked_for_again() {
    let server = start();
    let mut client = server.connect();
    client.request("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} } }));
    client.notify("notifications/initialized", &json!({}));
    let refuse = |asked: &Value| {
        json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32601, "message": "no" } }).to_string()
    };
    let asked = client.wait_method("roots/list");
    client.send_text(&refuse(&asked));
    server.editor.wait_event("the client to be ready", |event| matches!(event, ClientEvent::Ready(_)).then_some(()));
    client.notify("notifications/roots/list_changed", &json!({}));
    let again = client.wait_method("roots/list");
    let moved = json!({ "jsonrpc": "2.0", "id": again["id"], "result": { "roots": [{ "uri": "file:///moved" }] } });
    client.send_text(&moved.to_string());
    let roots = server.editor.wait_event("the new folder", |event| match event {
        ClientEvent::Changed(info) if !info.roots.is_empty() => Some(info.roots.clone()),
        _ => None,
    });
    assert_eq!(roots, [std::path::PathBuf::from("/moved")]);
}

#[test]
fn a_client_may_speak_plainly_first_and_initialize_afterwards() {
    let server = start();
    let mut client = server.connect();
    client.request("tools/list", &json!({}));
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": { "name": "late" } });
    client.request("initialize", &params);
    client.notify("notifications/initialized", &json!({}));
    let asked = client.wait_method("roots/list");
    let roots = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [{ "uri": "file:///r" }] } });
    client.send_text(&roots.to_string());
    server.editor.wait_event("its name and its folder", |event| match event {
        ClientEvent::Changed(info) if info.name.as_deref() == Some("late") && !info.roots.is_empty() => Some(()),
        _ => None,
    });
    let ready = server.editor.events().into_iter().filter(|event| matches!(event, ClientEvent::Ready(_)));
    assert_eq!(ready.count(), 1);
}

#[test]
fn folders_that_change_all_the_time_are_one_question() {
    let server = start();
    let mut client = server.connect();
    client.request("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} } }));
    client.notify("notifications/initialized", &json!({}));
    for _ in 0..100 {
        client.notify("notifications/roots/list_changed", &json!({}));
    }
    let asked: Vec<_> = (0..101).map(|_| client.wait_method("roots/list")["id"].clone()).collect();
    for (number, id) in asked.iter().enumerate().rev() {
        let roots = json!({ "roots": [{ "uri": format!("file:///{number}") }] });
        client.send_text(&json!({ "jsonrpc": "2.0", "id": id, "result": roots }).to_string());
    }
    client.request("ping", &json!({}));
    assert_eq!(server.handle.status().clients[0].roots, [std::path::PathBuf::from("/100")], "the last question counts");
}

#[test]
fn a_plain_client_is_ready_after_its_first_request() {
    let server = start();
    let mut client = server.connect();
    client.request("ping", &json!({}));
    assert!(server.handle.status().clients.iter().all(|client| client.state == ClientState::Connected));
    client.request("tools/list", &json!({}));
    server.wait_status("the client to be ready", |status| {
        status.clients.iter().all(|client| client.state == ClientState::Ready)
    });
}

#[test]
fn two_clients_are_told_apart() {
    let server = start();
    server.editor.reply("close_all_diff_tabs", Ok(json!({ "count": 0 })));
    let (mut one, mut two) = (server.client(), server.client());
    one.call("closeAllDiffTabs", &json!({}));
    two.call("closeAllDiffTabs", &json!({}));
    let calls = server.editor.calls();
    assert_ne!(calls[0].client, calls[1].client);
    let status = server.handle.status();
    assert_eq!(status.clients.iter().map(|client| client.id).collect::<Vec<_>>(), [calls[0].client, calls[1].client]);
}

#[test]
fn a_hidden_tool_is_not_offered() {
    let hidden_tools = ["openDiff".to_owned()].into();
    let server = TestServer::start(ServerOptions { hidden_tools, ..ServerOptions::default() });
    let mut client = server.client();
    let tools = client.request("tools/list", &json!({}));
    assert!(tools["tools"].as_array().unwrap().iter().all(|tool| tool["name"] != "openDiff"));
    let (code, _) = client.error("tools/call", &json!({ "name": "openDiff", "arguments": {} }));
    assert_eq!(code, -32602);
}
