//! MCP and JSON-RPC from a client's view, over a real socket.

use claude_ide_server::{EditorError, Offers, ServerOptions, testing::TestServer};
use serde_json::{Value, json};

fn start() -> TestServer {
    TestServer::start(ServerOptions { server_name: "the-server".to_owned(), ..ServerOptions::default() })
}

#[test]
fn a_client_initializes_lists_and_calls() {
    let server = start();
    server.editor.reply("close_all_diff_tabs", Ok(json!({ "count": 0 })));
    let mut client = server.connect();
    let result = client.initialize("2025-11-25");
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"], json!({ "name": "the-server", "version": env!("CARGO_PKG_VERSION") }));
    let changes = json!({ "listChanged": true });
    assert_eq!(result["capabilities"], json!({ "tools": changes, "prompts": changes, "resources": changes }));
    assert!(result["instructions"].as_str().is_some_and(|text| text.len() > 40));
    let tools = client.request("tools/list", &json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 14);
    assert_eq!(client.call("closeAllDiffTabs", &json!({})), ["CLOSED_0_DIFF_TABS"]);
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

fn offers() -> (Offers, Value, Value) {
    let resource = json!({
        "uri": "nvim://quickfix", "name": "quickfix", "title": "Quickfix list", "description": "x", "mimeType": "text/plain",
    });
    let prompt = json!({ "name": "fix", "description": "x", "arguments": [{ "name": "path", "description": "y", "required": false }] });
    let offers = json!({ "resources": [resource], "prompts": [prompt] });
    (serde_json::from_value(offers).unwrap(), json!({ "resources": [resource] }), json!({ "prompts": [prompt] }))
}

#[test]
fn resources_and_prompts_are_those_that_the_editor_reported_and_only_changes_are_notified() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.request("resources/list", &json!({})), json!({ "resources": [] }));
    assert_eq!(client.request("resources/templates/list", &json!({})), json!({ "resourceTemplates": [] }));
    assert_eq!(client.request("prompts/list", &json!({})), json!({ "prompts": [] }));
    let (mut both, resources, prompts) = offers();
    assert_eq!(server.handle.set_offers(&both), ["resources", "prompts"]);
    assert_eq!(client.next_message()["method"], "notifications/resources/list_changed");
    assert_eq!(client.next_message()["method"], "notifications/prompts/list_changed");
    assert_eq!(client.request("resources/list", &json!({})), resources);
    assert_eq!(client.request("prompts/list", &json!({})), prompts);
    assert!(server.handle.set_offers(&both).is_empty());
    both.prompts.clear();
    assert_eq!(server.handle.set_offers(&both), ["prompts"]);
    assert_eq!(client.next_message()["method"], "notifications/prompts/list_changed");
    client.request("ping", &json!({}));
    assert!(server.editor.calls().is_empty(), "the lists need no editor");
}

#[test]
fn the_editor_gives_the_contents_of_resources_and_prompts() {
    let server = start();
    let mut client = server.client();
    let text = json!({ "uri": "nvim://diff", "mimeType": "text/plain", "text": "+x" });
    server.editor.reply("nvim.read_resource", Ok(text.clone()));
    assert_eq!(client.request("resources/read", &json!({ "uri": "nvim://diff" })), json!({ "contents": [text] }));
    let block = json!({ "type": "text", "text": "Fix it." });
    server.editor.reply("nvim.prompt", Ok(json!({ "description": "x", "content": [block, block] })));
    let message = json!({ "role": "user", "content": block });
    assert_eq!(
        client.request("prompts/get", &json!({ "name": "fix", "arguments": { "path": "a" } })),
        json!({ "description": "x", "messages": [message, message] })
    );
    assert_eq!(
        Value::from(server.editor.calls().pop().unwrap().args),
        json!({ "name": "fix", "arguments": { "path": "a" } })
    );
    server.editor.reply("nvim.read_resource", Err(EditorError::InvalidParams("there is no resource x://".to_owned())));
    assert_eq!(
        client.error("resources/read", &json!({ "uri": "x://" })),
        (-32602, "there is no resource x://".to_owned())
    );
    for method in ["resources/read", "prompts/get"] {
        assert_eq!(client.error(method, &json!({})).0, -32602);
    }
}

#[test]
fn resources_and_prompts_may_be_switched_off() {
    let server = TestServer::start(ServerOptions { offers: false, ..ServerOptions::default() });
    let mut client = server.connect();
    assert_eq!(client.initialize("2025-11-25")["capabilities"], json!({ "tools": { "listChanged": true } }));
    assert_eq!(client.request("resources/list", &json!({})), json!({ "resources": [] }));
    assert_eq!(client.error("resources/read", &json!({ "uri": "nvim://diff" })).0, -32601);
    assert_eq!(client.error("prompts/get", &json!({ "name": "fix" })).0, -32601);
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
        (json!({ "name": "openFile", "arguments": [] }), "arguments"),
        (json!({ "name": "openFile" }), "filePath"),
    ] {
        let (code, message) = client.error("tools/call", &params);
        assert_eq!(code, -32602, "{message}");
        assert!(message.contains(&format!("{name:?}")), "{params}: {message}");
    }
    let (code, message) = client.error("tools/call", &json!([]));
    assert_eq!((code, message.contains("\"params\"")), (-32602, true), "{message}");
}

/// The CLI cuts strings inside an emoji and sends a lone surrogate; in files that it writes itself U+FFFD replaces it.
#[test]
fn half_a_character_in_a_message_becomes_a_replacement_character() {
    let server = start();
    server.editor.reply("open_diff", Ok(json!({ "outcome": "rejected" })));
    let mut client = server.client();
    client.send_text(
        r#"{"jsonrpc":"2.0","id":"\ud83d","method":"tools/call","params":{"name":"openDiff","arguments":{"old_file_path":"/a","new_file_path":"/a","new_file_contents":"a\ude00","tab_name":"t"}}}"#,
    );
    let answer = client.next_message();
    assert_eq!((&answer["id"], answer.get("error")), (&json!("\u{fffd}"), None), "{answer}");
    assert_eq!(server.editor.wait_call("open_diff", 1).args["new_file_contents"], json!("a\u{fffd}"));
}

#[test]
fn extra_fields_of_a_call_are_ignored() {
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
