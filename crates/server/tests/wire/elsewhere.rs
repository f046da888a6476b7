//! A client that sees the project under another path, beside one that sees it as the editor does.

use claude_ide_server::{
    PathMap, ServerOptions, Workspace,
    testing::{TestClient, TestServer},
};
use serde_json::{Value, json};

const HERE: &str = "/home/me/project";
const THERE: &str = "/workspaces/project";

fn start() -> TestServer {
    let workspace = Workspace { folders: vec![HERE.into()], ide_name: "Editor".to_owned(), announced: None };
    TestServer::start(ServerOptions { workspace, path_map: PathMap::new([(HERE, THERE)]), ..ServerOptions::default() })
}

/// A client that works in this folder.
fn client_in(server: &TestServer, root: &str) -> TestClient {
    let mut client = server.connect();
    client.request("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} } }));
    client.notify("notifications/initialized", &json!({}));
    let asked = client.wait_method("roots/list");
    let roots = json!({ "roots": [{ "uri": format!("file://{root}") }] });
    client.send_text(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots }).to_string());
    client.request("ping", &json!({}));
    client
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn each_client_gets_and_gives_the_paths_that_it_sees() {
    let server = start();
    for (number, (root, mapped)) in [(THERE, true), (HERE, false)].into_iter().enumerate() {
        let mut client = client_in(&server, root);
        let status = server.handle.status();
        let info = status.clients.last().unwrap();
        assert_eq!((info.mapped, info.roots.as_slice()), (mapped, [HERE.into()].as_slice()));

        let path = format!("{root}/a.txt");
        let arguments = json!({ "old_file_path": path, "new_file_contents": path, "tab_name": "tab" });
        let request = client.send("tools/call", &json!({ "name": "openDiff", "arguments": arguments }));
        let call = server.editor.wait_call("open_diff", number + 1);
        assert_eq!(call.args["old_file_path"], format!("{HERE}/a.txt"));
        assert_eq!(call.args["new_file_contents"], path, "the text of a file stays");
        server.editor.answer("open_diff", Ok(json!({ "outcome": "saved", "contents": format!("{HERE}/a.txt") })));
        assert_eq!(client.answer(request)["result"]["content"][1]["text"], format!("{HERE}/a.txt"));

        let uri = format!("file://{path}");
        let arguments = json!({ "uri": uri });
        let request = client.send("tools/call", &json!({ "name": "getDiagnostics", "arguments": arguments }));
        let call = server.editor.wait_call("get_diagnostics", number + 1);
        let found = json!([{ "uri": call.args["uri"], "diagnostics": [] }]);
        assert_eq!(call.args["uri"], format!("file://{HERE}/a.txt"));
        server.editor.answer("get_diagnostics", Ok(found));
        assert_eq!(text(&client.answer(request)), json!([{ "uri": uri, "diagnostics": [] }]).to_string());

        let selection = json!({ "text": format!("{HERE}/x"), "filePath": format!("{HERE}/a.txt") });
        server.notify("selection_changed", &selection, None);
        let notification = client.wait_method("selection_changed");
        assert_eq!(notification["params"], json!({ "text": format!("{HERE}/x"), "filePath": path }));
        let request = client.send("tools/call", &json!({ "name": "getCurrentSelection" }));
        assert!(text(&client.answer(request)).contains(&path));
        let id = info.id;
        server.notify("at_mentioned", &json!({ "filePath": format!("{HERE}/a.txt") }), Some(id));
        assert_eq!(client.wait_method("at_mentioned")["params"], json!({ "filePath": path }));
    }
}

#[test]
fn what_a_hook_shows_and_answers_has_the_paths_of_each_side() {
    let server = start();
    let mut client = client_in(&server, THERE);
    let input = json!({ "file_path": format!("{THERE}/a.txt"), "content": "x" });
    let arguments = json!({ "tool": "Write", "input": input.to_string(), "suggestions": "[]", "agent": "" });
    let request = client.send("tools/call", &json!({ "name": "hook_permission", "arguments": arguments }));
    let call = server.editor.wait_call("permission", 1);
    assert!(call.args["ask"].to_string().contains(&format!("{HERE}/a.txt")), "{:?}", call.args);
    server.editor.answer("permission", Ok(json!({ "allow": { "rules": [], "changes": { "content": "y" } } })));
    let answer = client.answer(request);
    let output: Value = serde_json::from_str(text(&answer)).unwrap();
    let decision = &output["hookSpecificOutput"]["decision"];
    assert_eq!(decision["updatedInput"], json!({ "file_path": format!("{THERE}/a.txt"), "content": "y" }), "{output}");
}
