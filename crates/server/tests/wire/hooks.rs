//! The tools that a CLI's hooks call, over a real socket.

use claude_ide_server::{
    EditorError, ServerOptions,
    testing::{TestClient, TestServer},
};
use serde_json::{Value, json};

fn start() -> TestServer {
    TestServer::start(ServerOptions::default())
}

fn ask(input: &str, agent: &str) -> Value {
    let arguments = json!({ "tool": "Bash", "input": input, "suggestions": "[]", "agent": agent });
    json!({ "name": "hook_permission", "arguments": arguments })
}

/// The output of the hook.
fn output(client: &mut TestClient, request: u64) -> Value {
    let answer = client.answer(request);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_editor_is_asked_and_its_decision_is_the_output() {
    let server = start();
    let mut client = server.client();
    let input = r#"{"command":"ls"}"#;
    let allow = json!({ "behavior": "allow" });
    let deny = json!({ "behavior": "deny", "message": "no" });
    let replies = [
        (json!({ "allow": { "rules": [], "changes": {} } }), Some(allow)),
        (json!({ "deny": { "message": "no" } }), Some(deny)),
        (Value::Null, None),
    ];
    for (number, (reply, decision)) in replies.into_iter().enumerate() {
        let request = client.send("tools/call", &ask(input, ""));
        let call = server.editor.wait_call("permission", number + 1);
        assert_eq!(call.args["ask"]["title"], "Claude wants to use Bash");
        server.editor.answer("permission", Ok(reply));
        let expected = decision.map_or_else(
            || json!({}),
            |decision| json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } }),
        );
        assert_eq!(output(&mut client, request), expected);
    }
    let request = client.send("tools/call", &ask(input, ""));
    server.editor.answer("permission", Err(EditorError::Failed("no window".to_owned())));
    assert_eq!(client.answer(request)["result"]["isError"], true, "a failed hook leaves it to the dialog");
}

#[test]
fn a_subagent_is_known_by_its_task() {
    let server = start();
    let mut client = server.client();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("s/subagents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("agent-a1.meta.json"), r#"{"description":"Mend the file"}"#).unwrap();
    let transcript = home.path().join("s.jsonl");
    for (number, (agent, task)) in [("a1", Some("The subagent's task: Mend the file")), ("a2", None)].iter().enumerate()
    {
        let mut call = ask(r#"{"command":"ls"}"#, agent);
        call["arguments"]["transcript"] = json!(transcript);
        call["arguments"]["wait"] = json!("60");
        let request = client.send("tools/call", &call);
        let asked = server.editor.wait_call("permission", number + 1);
        assert_eq!(asked.args["ask"]["parts"][1]["text"].as_str(), *task, "{agent}");
        server.editor.answer("permission", Ok(Value::Null));
        assert_eq!(output(&mut client, request), json!({}));
    }
}

#[test]
fn requests_that_need_no_user_are_answered_without_the_editor() {
    let server = start();
    let mut client = server.client();
    for call in [ask(r#"{"command":"ls"}"#, "a1"), ask("[", ""), json!({ "name": "hook_permission" })] {
        let request = client.send("tools/call", &call);
        assert_eq!(output(&mut client, request), json!({}), "{call}");
    }
    for agent in ["a1", ""] {
        let shown =
            json!({ "session": "s", "agent": agent, "message": "m", "index": "0", "final": "true", "delta": "hello" });
        assert_eq!(client.call("hook_display", &shown), ["{}"]);
    }
    let displayed = server.editor.displayed();
    assert_eq!(displayed.len(), 1);
    assert!(displayed[0].contains(r#"is_final: true, delta: "hello""#), "{displayed:?}");
}
