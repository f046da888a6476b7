//! The real CLI's recorded frames, and our responses byte for byte.

use claude_ide_server::{
    ServerOptions,
    testing::{TestClient, TestServer},
};
use serde_json::{Value, json, value::RawValue};
use tokio_tungstenite::tungstenite::Message;

const SESSION: &str = include_str!("../golden/cli_2_1_329.txt");

/// The next text, without the parts that have their own golden files or tests.
fn received(client: &mut TestClient) -> String {
    let text = loop {
        if let Message::Text(text) = client.read() {
            break text.to_string();
        }
    };
    let message: Value = serde_json::from_str(&text).unwrap();
    let result = &message["result"];
    match (&result["instructions"], &result["tools"]) {
        (Value::String(instructions), _) => text.replace(&json!(instructions).to_string(), "\"@instructions\""),
        (_, Value::Array(_)) => {
            let at = text.find("{\"tools\":").unwrap();
            text.split_at(at).0.to_owned() + "@tools_list}"
        }
        _ => text,
    }
}

#[test]
fn a_recorded_session_of_the_real_cli_is_answered_as_it_should() {
    let server = TestServer::start(ServerOptions {
        server_name: "the-server".to_owned(),
        version: "1.2.3".to_owned(),
        ..ServerOptions::default()
    });
    let mut client = server.connect();
    for line in SESSION.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (kind, rest) = line.split_once(' ').unwrap();
        match kind {
            ">" => client.send_text(rest),
            "<" => assert_eq!(received(&mut client), rest),
            "reply" => {
                let (name, reply) = rest.split_once(' ').unwrap();
                let name: &'static str = name.to_owned().leak();
                server.editor.reply(name, Ok(serde_json::from_str(reply).unwrap()));
            }
            "notify" => {
                let (method, params) = rest.split_once(' ').unwrap();
                server.handle.notify(method, RawValue::from_string(params.to_owned()).unwrap(), None).unwrap();
            }
            other => panic!("what is {other}?"),
        }
    }
    let info = server.handle.status().clients.remove(0);
    assert_eq!((info.name.as_deref(), info.roots), (Some("claude-code"), vec!["/project".into()]));
}
