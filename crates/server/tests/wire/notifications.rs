//! Notifications of the editor to its clients, over real sockets.

use claude_ide_server::{ClientId, NotifyError, ServerOptions, testing::TestServer};
use serde_json::{Value, json, value::RawValue};

fn start() -> TestServer {
    TestServer::start(ServerOptions::default())
}

fn selection(text: &str) -> Value {
    json!({
        "text": text, "filePath": "/p/ünï.txt", "fileUrl": "file:///p/ünï.txt",
        "selection": { "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 3 }, "isEmpty": false },
    })
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn ids(server: &TestServer) -> Vec<ClientId> {
    server.handle.status().clients.iter().map(|client| client.id).collect()
}

#[test]
fn a_selection_goes_to_every_client() {
    let server = start();
    let (mut one, mut two) = (server.client(), server.client());
    one.unasked();
    two.unasked();
    server.notify("selection_changed", &selection("abc"), None);
    for client in [&mut one, &mut two] {
        let message = client.wait_method("selection_changed");
        assert_eq!(message, json!({ "jsonrpc": "2.0", "method": "selection_changed", "params": selection("abc") }));
    }
}

#[test]
fn a_client_that_comes_late_gets_the_present_state() {
    let server = start();
    server.notify("selection_changed", &selection("old"), None);
    server.notify("selection_changed", &selection("present"), None);
    let mut client = server.client();
    assert_eq!(client.wait_method("selection_changed")["params"]["text"], "present");
    assert_eq!(client.unasked(), Vec::<Value>::new(), "once, and not the old one");
}

#[test]
fn nothing_is_sent_before_the_handshake_is_over() {
    let server = start();
    server.notify("selection_changed", &selection("x"), None);
    let mut client = server.connect();
    let capabilities = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    client.request("initialize", &capabilities);
    assert_eq!(client.unasked(), Vec::<Value>::new());
    client.notify("notifications/initialized", &json!({}));
    client.wait_method("selection_changed");
}

#[test]
fn a_mention_goes_to_its_client_only() {
    let server = start();
    let (mut one, mut two) = (server.client(), server.client());
    one.unasked();
    two.unasked();
    let [_, second] = ids(&server)[..] else { panic!("two clients") };
    server.notify("at_mentioned", &json!({ "filePath": "/a" }), Some(second));
    assert_eq!(two.wait_method("at_mentioned")["params"], json!({ "filePath": "/a" }));
    assert_eq!(one.unasked(), Vec::<Value>::new());
}

#[test]
fn a_client_that_is_gone_is_an_error() {
    let server = start();
    let gone = ClientId::new(99);
    let outcome = server.handle.notify("at_mentioned", raw(&json!({ "filePath": "/a" })), Some(gone));
    assert_eq!(outcome, Err(NotifyError::UnknownClient(gone)));
}

#[test]
fn a_large_notification_is_refused() {
    let server = start();
    let outcome = server.handle.notify("selection_changed", raw(&selection(&"x".repeat(3 << 20))), None);
    assert!(matches!(outcome, Err(NotifyError::TooLarge { .. })));
}

#[test]
fn a_client_that_does_not_read_cannot_make_the_editor_hold_more() {
    let server = start();
    let _deaf = server.client();
    server.wait_status("it to be ready", |status| {
        status.clients.iter().all(|client| client.state == claude_ide_server::ClientState::Ready)
    });
    let large = json!({ "filePath": "x".repeat(100_000) });
    let full = (0..1000).find_map(|_| server.handle.notify("at_mentioned", raw(&large), None).err());
    assert!(matches!(full, Some(NotifyError::QueueFull(_))), "{full:?}");
    for number in 0..5000 {
        let diagnostics = json!({ "uri": format!("file:///{number}"), "diagnostics": [] });
        server.notify("diagnostics_changed", &diagnostics, None);
        server.notify("selection_changed", &selection(&"x".repeat(1000)), None);
    }
    assert!(server.handle.status().queued_bytes < 24 << 20, "{:?}", server.handle.status());
}

#[test]
fn only_the_latest_diagnostics_of_a_file_are_sent() {
    let server = start();
    let mut client = server.connect();
    client.request("ping", &json!({}));
    let [id] = ids(&server)[..] else { panic!("one client") };
    for (uri, version) in [("file:///a", 1), ("file:///b", 2), ("file:///a", 3)] {
        server.notify("diagnostics_changed", &json!({ "uri": uri, "version": version }), Some(id));
    }
    client.initialize("2025-11-25");
    assert_eq!(client.wait_method("diagnostics_changed")["params"]["version"], 2);
    assert_eq!(client.wait_method("diagnostics_changed")["params"]["version"], 3);
    assert_eq!(client.unasked(), Vec::<Value>::new());
}

#[test]
fn the_selection_is_answered_without_asking_the_editor() {
    let server = start();
    let mut client = server.client();
    let parsed = |texts: Vec<String>| serde_json::from_str::<Value>(&texts[0]).unwrap();
    let none = json!({ "success": false, "message": "No active editor found" });
    assert_eq!(parsed(client.call("getCurrentSelection", &json!({}))), none);
    assert_eq!(parsed(client.call("getLatestSelection", &json!({})))["success"], false);

    server.notify("selection_changed", &selection("abc"), None);
    let mut expected = selection("abc");
    expected["success"] = json!(true);
    assert_eq!(parsed(client.call("getCurrentSelection", &json!({}))), expected);
    assert_eq!(parsed(client.call("getLatestSelection", &json!({}))), expected);

    server.notify("active_editor", &json!({ "filePath": null }), None);
    assert_eq!(parsed(client.call("getCurrentSelection", &json!({}))), none);
    assert_eq!(parsed(client.call("getLatestSelection", &json!({}))), expected);
    assert!(server.editor.calls().is_empty());
    client.wait_method("selection_changed");
    assert_eq!(client.unasked(), Vec::<Value>::new(), "active_editor stays inside");
}
