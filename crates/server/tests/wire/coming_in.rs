//! A client's handshake, folders and events, over a real socket.

use std::time::Duration;

use claude_ide_server::{ClientEvent, ClientState, ServerOptions, testing::TestServer};
use serde_json::{Value, json};

fn start() -> TestServer {
    TestServer::start(ServerOptions::default())
}

#[test]
fn the_editor_gets_a_clients_events_in_order() {
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
fn a_client_that_does_not_report_its_folders_becomes_ready() {
    let roots_timeout = Duration::from_millis(1);
    let server = TestServer::start(ServerOptions { roots_timeout, ..ServerOptions::default() });
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
