//! Concurrent requests: batches, cancellation, order and limits, over a real socket.

use claude_ide_server::{ClientEvent, ServerOptions, testing::TestServer};
use serde_json::{Value, json};

fn start() -> TestServer {
    TestServer::start(ServerOptions::default())
}

#[test]
fn batches_exist_in_one_version_only() {
    let server = start();
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = server.connect();
        client.initialize(version);
        assert_eq!(client.answer_to(batch)["error"]["code"], -32600, "{version}");
    }
    assert_eq!(server.connect().answer_to(batch)["error"]["code"], -32600, "before initialize");
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
    assert_eq!(client.answer_to("[]")["error"]["code"], -32600);
}

#[test]
fn only_the_cancelled_request_is_cancelled_and_not_answered() {
    let server = start();
    let mut client = server.client();
    let (first, second) = (client.propose("/a"), client.propose("/b"));
    server.editor.wait_call("open_diff", 2);
    client.notify("notifications/cancelled", &json!({ "requestId": first, "reason": "changed my mind" }));
    assert_eq!(server.editor.wait_cancelled("open_diff").args["old_file_path"], "/a");
    server.editor.answer("open_diff", Ok(json!({ "outcome": "rejected" })));
    assert_eq!(client.answer(second)["result"]["content"][0]["text"], "DIFF_REJECTED");
    assert_eq!(client.unasked(), Vec::<Value>::new());
}

#[test]
fn the_editor_knows_that_a_client_is_gone_before_its_requests_are_cancelled() {
    let server = start();
    let mut client = server.client();
    client.propose("/a");
    let call = server.editor.wait_call("open_diff", 1);
    drop(client);
    let earlier = server.editor.wait_events_before_cancelled("open_diff");
    assert_eq!(server.editor.wait_cancelled("open_diff").client, call.client);
    assert!(matches!(earlier.last(), Some(ClientEvent::Disconnected { .. })), "{earlier:?}");
}

#[test]
fn answers_come_in_order_of_completion() {
    let server = start();
    let mut client = server.client();
    let slow = client.start_call("close_tab", &json!({ "tab_name": "x" }));
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
    assert_eq!(client.answer_to(call)["error"]["code"], -32600);
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
fn pending_calls_to_the_editor_are_bounded_in_bytes() {
    let server = TestServer::start(ServerOptions { max_message_bytes: 1 << 20, ..ServerOptions::default() });
    let mut client = server.client();
    let diff = |id: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "openDiff", "arguments":
                { "old_file_path": "/a", "new_file_contents": "x".repeat(900_000) } } })
        .to_string()
    };
    client.send_text(&diff("first"));
    server.editor.wait_call("open_diff", 1);
    let refused = client.answer_to(&diff("second"));
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("second"), &json!(-32000)));
    server.editor.answer("open_diff", Ok(json!({ "outcome": "rejected" })));
    assert_eq!(client.next_message()["id"], "first");
    client.send_text(&diff("third"));
    server.editor.wait_call("open_diff", 2);
}
