//! The protocol as a client sees it, over a real socket.

use claude_ide_server::{
    ServerOptions,
    testing::{TestClient, TestServer},
};
use serde_json::{Value, json};

#[test]
fn a_client_initializes_lists_and_calls() {
    let server = TestServer::start(ServerOptions::default());
    server.editor.reply("close_all_diff_tabs", Ok(json!({ "count": 0 })));
    let mut client = server.connect();
    let result = client.initialize("2025-11-25");
    assert_eq!(result["protocolVersion"], "2025-11-25");
    let tools = client.request("tools/list", &json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 14);
    assert_eq!(client.call("closeAllDiffTabs", &json!({})), ["CLOSED_0_DIFF_TABS"]);
}
