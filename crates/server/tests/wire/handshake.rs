//! Authentication over real sockets.

use std::{io::Read, time::Duration};

use claude_ide_server::{
    ServerOptions,
    testing::{TestClient, TestServer, dial, http, upgrade_request},
};
use serde_json::json;

fn start() -> TestServer {
    TestServer::start(ServerOptions::default())
}

/// The CLI's request with one line changed; an empty replacement removes it.
fn changed(server: &TestServer, prefix: &str, replacement: &str) -> Vec<String> {
    let mut lines = upgrade_request(server.port());
    lines.push(format!("X-Claude-Code-Ide-Authorization: {}", server.token()));
    lines
        .into_iter()
        .map(|line| if line.starts_with(prefix) { replacement.to_owned() } else { line })
        .filter(|line| !line.is_empty())
        .collect()
}

/// Head and body of the refusal, after which the socket ends.
fn refusal(server: &TestServer, lines: &[String]) -> (String, String) {
    let mut stream = dial(server.port());
    let head = http(&mut stream, lines);
    let mut body = String::new();
    stream.read_to_string(&mut body).unwrap();
    (head.lines().next().unwrap().to_owned(), body)
}

#[test]
fn the_cli_is_let_in_on_both_paths() {
    let server = start();
    for path in ["GET / HTTP/1.1", "GET /mcp HTTP/1.1"] {
        let mut stream = dial(server.port());
        let head = http(&mut stream, &changed(&server, "GET", path));
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        let names = head.to_lowercase();
        assert!(
            head.contains(": s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") && names.contains("sec-websocket-accept: "),
            "{head}"
        );
        assert!(names.contains("sec-websocket-protocol: mcp\r\n"), "{head}");
        assert!(!names.contains("extensions"), "{head}");
        TestClient::over(stream).initialize("2025-11-25");
    }
}

#[test]
fn a_request_that_is_no_local_upgrade_is_refused_with_a_reason() {
    let server = start();
    for (prefix, line, status, reason) in [
        ("GET", "GET /other HTTP/1.1", "404 Not Found", "/mcp"),
        ("GET", "POST / HTTP/1.1", "400 Bad Request", "GET"),
        ("Upgrade", "", "426 Upgrade Required", "ws://"),
        ("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8", "426 Upgrade Required", "13"),
        ("Sec-WebSocket-Key", "Sec-WebSocket-Key: test", "400 Bad Request", "base64"),
        ("Sec-WebSocket-Protocol", "Sec-WebSocket-Protocol: chat", "400 Bad Request", "mcp"),
        ("Host", "Host: evil.example:80", "403 Forbidden", "Host"),
        ("Host", "", "400 Bad Request", "Host"),
        ("User-Agent", "Origin: http://127.0.0.1", "403 Forbidden", "Origin"),
        ("GET", "GET http://evil.example/ HTTP/1.1", "400 Bad Request", "host"),
    ] {
        let (first, body) = refusal(&server, &changed(&server, prefix, line));
        assert_eq!(first, format!("HTTP/1.1 {status}"), "{line}");
        assert!(body.contains(reason) && body.ends_with('\n'), "{line}: {body}");
    }
    assert_eq!(refusal(&server, &["rubbish".to_owned()]).0, "HTTP/1.1 400 Bad Request");
    assert_eq!(refusal(&server, &changed(&server, "GET", "GET / HTTP/1.0")).0, "HTTP/1.0 400 Bad Request");
}

#[test]
fn a_wrong_token_is_closed_with_1008_after_the_upgrade() {
    let server = start();
    let token = server.token();
    for shown in [None, Some(String::new()), Some("guess".to_owned()), Some(token[1..].to_owned() + "x")] {
        let mut lines = upgrade_request(server.port());
        lines.extend(shown.map(|shown| format!("X-Claude-Code-Ide-Authorization: {shown}")));
        let mut stream = dial(server.port());
        assert!(http(&mut stream, &lines).starts_with("HTTP/1.1 101 "));
        let mut client = TestClient::over(stream);
        assert_eq!(client.goodbye(), Some((1008, "Invalid or missing authentication token".to_owned())));
        client.wait_end();
    }
    assert!(server.editor.events().is_empty(), "no client");
}

#[test]
fn nothing_that_an_unauthorized_client_sends_is_served() {
    let server = start();
    let mut stream = dial(server.port());
    assert!(http(&mut stream, &upgrade_request(server.port())).starts_with("HTTP/1.1 101 "));
    let mut client = TestClient::over(stream);
    client.send("tools/call", &json!({ "name": "close_tab", "arguments": { "tab_name": "x" } }));
    assert_eq!(client.goodbye().map(|(code, _)| code), Some(1008));
    assert!(server.editor.calls().is_empty());
}

#[test]
fn a_slow_handshake_is_ended() {
    let handshake_timeout = Duration::from_millis(100);
    let server = TestServer::start(ServerOptions { handshake_timeout, ..ServerOptions::default() });
    for said in ["", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"] {
        use std::io::Write as _;
        let mut stream = dial(server.port());
        stream.write_all(said.as_bytes()).unwrap();
        let mut response = Vec::new();
        // The end is a reset if the server has given up before it got the bytes.
        stream.read_to_end(&mut response).ok();
        let response = String::from_utf8(response).unwrap();
        assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    }
}

#[test]
fn a_handshake_may_come_in_pieces_and_with_the_first_message() {
    use std::io::Write as _;
    let server = start();
    let mut stream = dial(server.port());
    let request = changed(&server, "none", "").join("\r\n") + "\r\n\r\n";
    // {"jsonrpc":"2.0","id":1,"method":"ping"}, masked with zeros
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut bytes = request.into_bytes();
    bytes.extend([0x81, 0x80 | u8::try_from(ping.len()).unwrap(), 0, 0, 0, 0]);
    bytes.extend(ping);
    for piece in bytes.chunks(97) {
        stream.write_all(piece).unwrap();
    }
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert_eq!(TestClient::over(stream).next_message(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
}

#[test]
fn one_client_too_many_is_refused_until_a_place_is_free() {
    let server = TestServer::start(ServerOptions { max_connections: 2, ..ServerOptions::default() });
    let (one, _two) = (server.client(), server.client());
    let (status, body) = refusal(&server, &changed(&server, "none", ""));
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert!(body.contains("too many clients"), "{body}");
    one.wait_for_goodbye();
    server.client().request("ping", &json!({}));
}
