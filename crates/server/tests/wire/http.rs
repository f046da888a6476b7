//! HTTP clients over real sockets.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use claude_ide_server::{
    ClientState, Keepalive, Places, ServerOptions,
    testing::{TestServer, dial},
};
use serde_json::{Value, json};

const CALL: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"open_buffers","arguments":{}}}"#;
/// The resulting call of the editor.
const ASKED: &str = "nvim.open_buffers";
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const EVENTS: &str = "Accept: application/json, text/event-stream";

fn start(options: ServerOptions) -> TestServer {
    TestServer::start(ServerOptions { serves_agents: true, ..options })
}

struct Response {
    status: u16,
    head: String,
    body: BufReader<TcpStream>,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}: ")))?;
        Some(&line[name.len() + 2..])
    }

    fn text(mut self) -> String {
        let length = self.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.body.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    fn json(self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// The next event line with this prefix.
    fn line(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.body.read_line(&mut line).unwrap() > 0, "the events ended before {start:?}");
            if line.starts_with(start) {
                return line.trim_end().to_owned();
            }
        }
    }
}

/// Sends a request verbatim, and reads the response's head.
fn raw(server: &TestServer, first: &str, headers: &[&str], body: &[u8]) -> Response {
    raw_at(server, ("/nvim", &server.agents_token()), first, headers, body)
}

fn raw_at(server: &TestServer, (path, token): (&str, &str), first: &str, headers: &[&str], body: &[u8]) -> Response {
    let mut stream = dial(server.port());
    let mut head = format!("{first} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n");
    for header in headers {
        head += header;
        head += "\r\n";
    }
    stream.write_all(&[head.as_bytes(), b"\r\n", body].concat()).unwrap();
    let mut body = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(body.read_line(&mut head).unwrap() > 0, "the response ended: {head:?}");
    }
    Response { status: head[9..12].parse().unwrap(), head, body }
}

fn post(server: &TestServer, headers: &[&str], body: &str) -> Response {
    let length = format!("Content-Length: {}", body.len());
    let headers = [headers, &[length.as_str(), "Content-Type: application/json"]].concat();
    raw(server, "POST", &headers, body.as_bytes())
}

/// Starts a session; returns the header with its name.
fn begin(server: &TestServer, version: &str) -> String {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let response = post(server, &[], &initialize.to_string());
    let session = format!("Mcp-Session-Id: {}", response.header("mcp-session-id").unwrap());
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(post(server, &[&session], initialized).status, 202);
    session
}

#[test]
fn a_companion_finds_the_server_and_gets_the_decision_as_a_notification() {
    let home = tempfile::tempdir().unwrap();
    let places = Places { temporary: home.path().to_owned(), home: home.path().to_owned() };
    let server = start(ServerOptions { companions: Some(places), ..ServerOptions::default() });
    let file = home.path().join(format!(".qwen/ide/{}.lock", server.port()));
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(file["port"], server.port());
    let token = file["authToken"].as_str().unwrap();
    let at = |first: &str, headers: &[&str], body: &str| {
        let length = format!("Content-Length: {}", body.len());
        let json = ["Content-Type: application/json", EVENTS, &length];
        raw_at(&server, ("/mcp", token), first, &[headers, &json].concat(), body.as_bytes())
    };
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "streamable" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    let session = at("POST", &[], &initialize);
    let session = format!("Mcp-Session-Id: {}", session.header("mcp-session-id").unwrap());
    assert_eq!(at("POST", &[&session], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).status, 202);
    let mut listening = at("GET", &[&session], "");
    let arguments = json!({ "filePath": "/a.txt", "newContent": "new\n" });
    let params = json!({ "name": "openDiff", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    server.editor.reply("show_diff", Ok(json!({})));
    assert_eq!(at("POST", &[&session], &call).json()["result"], json!({ "content": [] }));
    let client = server.editor.wait_call("show_diff", 1).client;
    let known = server.handle.status().clients;
    assert_eq!((known[0].name.as_deref(), known[0].endpoint), (Some("Qwen Code"), "companion"));
    server.notify("ide/contextUpdate", &json!({ "workspaceState": {} }), Some(client));
    server.notify("ide/diffAccepted", &json!({ "filePath": "/a.txt", "content": "new\n" }), Some(client));
    for method in ["ide/contextUpdate", "ide/diffAccepted"] {
        let sent: Value = serde_json::from_str(&listening.line("data: {")[6..]).unwrap();
        assert_eq!(sent["method"], method);
    }
    // The token opens nothing else, and no other opens this.
    for (path, token) in [("/nvim", token), ("/mcp", &server.agents_token()), ("/mcp", &server.token())] {
        let refused = raw_at(&server, (path, token), "POST", &["Content-Length: 40"], PING.as_bytes());
        assert_eq!(refused.status, 401, "{path}");
    }
}

#[test]
fn only_valid_http_and_mcp_is_served() {
    let server = start(ServerOptions::default());
    let json = "Content-Type: application/json";
    for (headers, body, status) in [
        (vec![json, "Content-Length: 40", "MCP-Protocol-Version: 2025-11-25"], PING.as_bytes(), 200),
        (vec![json, "Content-Length: 40", "MCP-Protocol-Version: 1999-01-01"], PING.as_bytes(), 400),
        (vec![json, "Content-Length: +40"], PING.as_bytes(), 400),
        (vec![json, "Content-Length: 3"], b"\"\xff\"", 400),
        (vec![json, "Content-Length: 99999999999"], b"", 413),
        (vec![json, "Content-Length: 40", "Transfer-Encoding: chunked"], PING.as_bytes(), 400),
        (vec!["Content-Length: 40"], PING.as_bytes(), 415),
    ] {
        assert_eq!(raw(&server, "POST", &headers, body).status, status, "{headers:?}");
    }
    let guess = raw(&server, "POST", &["Authorization: Bearer guess"], PING.as_bytes());
    assert_eq!((guess.status, guess.header("www-authenticate")), (401, Some("Bearer")), "one header, one guess");
    assert_eq!(raw(&server, "POST", &["Origin: http://localhost"], PING.as_bytes()).status, 403);
    assert_eq!(raw(&server, "DELETE", &[], b"").status, 400);
    assert_eq!(raw(&server, "PUT", &[], b"").status, 405);
    assert_eq!(raw(&server, "GET", &[], b"").status, 406);
    assert_eq!(raw(&server, "GET", &["Accept: text/event-stream"], b"").status, 400);
}

#[test]
fn messages_are_answered_one_after_another_on_one_connection() {
    let server = start(ServerOptions::default());
    let mut first = post(&server, &[], PING);
    assert_eq!((first.status, first.header("content-type")), (200, Some("application/json")));
    let no_json =
        format!("POST /nvim HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n", server.agents_token());
    let no_json = no_json + "Content-Type: application/json\r\nContent-Length: 7\r\n\r\nno json";
    first.body.get_mut().write_all(no_json.as_bytes()).unwrap();
    assert!(first.line(r#"{"jsonrpc":"2.0","id":1"#).contains("result"));
}

#[test]
fn a_connection_that_is_cut_cancels_a_call_without_a_session() {
    let server = start(ServerOptions::default());
    let response = post(&server, &[EVENTS], CALL);
    server.editor.wait_call(ASKED, 1);
    drop(response);
    server.editor.wait_cancelled(ASKED);
    server.wait_status("no client to be left", |status| status.clients.is_empty());
}

#[test]
fn a_call_is_cancelled_on_another_connection_of_its_session_alone() {
    let server = start(ServerOptions::default());
    let (session, other) = (begin(&server, "2025-11-25"), begin(&server, "2025-11-25"));
    let mut response = post(&server, &[&session, EVENTS], CALL);
    server.editor.wait_call(ASKED, 1);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    assert_eq!(post(&server, &[&other], cancel).status, 202);
    assert_eq!(server.handle.status().in_flight, 1, "of another session");
    assert_eq!(post(&server, &[&session], cancel).status, 202);
    server.editor.wait_cancelled(ASKED);
    let mut line = String::new();
    while line != "0\r\n" {
        line.clear();
        assert!(response.body.read_line(&mut line).unwrap() > 0, "the events end, and not their connection");
        assert!(!line.contains("\"id\":5"), "it has no answer: {line}");
    }
}

#[test]
fn progress_comes_as_events_to_clients_that_accept_them() {
    let server = start(ServerOptions::default());
    let session = begin(&server, "2025-11-25");
    let call = CALL.replace("\"arguments\":{}", r#""arguments":{},"_meta":{"progressToken":7}"#);
    let mut response = post(&server, &[&session, EVENTS], &call);
    let asked = server.editor.wait_call(ASKED, 1);
    let progress = json!({ "progressToken": 7, "progress": 1, "message": "Waiting" });
    server.notify("notifications/progress", &progress, Some(asked.client));
    let notification: Value = serde_json::from_str(&response.line("data: {")[6..]).unwrap();
    assert_eq!(
        (&notification["method"], &notification["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!(7))
    );
    server.editor.release(ASKED, &Ok(json!({ "text": "3 files" })));
    assert!(response.line("data: {").contains(r#""id":5"#));
    let plain = post(&server, &[&session, EVENTS], PING);
    assert_eq!(plain.header("content-type"), Some("application/json"), "where there is nothing to tell it stays plain");
}

#[test]
fn a_message_may_be_chunked_and_may_expect_100_continue() {
    let server = start(ServerOptions::default());
    let chunked = ["Content-Type: application/json", "Transfer-Encoding: chunked"];
    let body = format!("5\r\n{}\r\n23\r\n{}\r\n0\r\n\r\n", &PING[..5], &PING[5..]);
    assert_eq!(raw(&server, "POST", &chunked, body.as_bytes()).json()["id"], 1);
    let expects = ["Content-Type: application/json", "Content-Length: 40", "Expect: 100-continue"];
    let mut response = raw(&server, "POST", &expects, b"");
    assert_eq!(response.status, 100);
    response.body.get_mut().write_all(PING.as_bytes()).unwrap();
    assert_eq!(response.line("HTTP/1.1"), "HTTP/1.1 200 OK");
}

#[test]
fn a_batch_is_taken_on_any_connection_of_a_session_that_speaks_them() {
    let server = start(ServerOptions::default());
    let batch = format!("[{PING},{}]", PING.replace('1', "2"));
    let session = begin(&server, "2025-03-26");
    assert_eq!(post(&server, &[&session], &batch).json().as_array().unwrap().len(), 2);
    let newer = begin(&server, "2025-06-18");
    assert_eq!(post(&server, &[&newer], &batch).json()["error"]["code"], -32600);
    // MCP: the version of a client that names none.
    assert!(post(&server, &[], &batch).json().is_array());
    let says = "MCP-Protocol-Version: 2025-11-25";
    assert_eq!(post(&server, &[says], &batch).json()["error"]["code"], -32600);
}

#[test]
fn a_call_goes_on_when_its_connection_ends_and_its_answer_is_fetched() {
    let server = start(ServerOptions::default());
    let session = begin(&server, "2025-11-25");
    let version = "MCP-Protocol-Version: 2025-11-25";
    let mut response = post(&server, &[&session, version, EVENTS], CALL);
    assert_eq!(response.header("content-type"), Some("text/event-stream"), "it begins before there is an answer");
    let id = response.line("id: ");
    drop(response);
    server.editor.wait_call(ASKED, 1);
    let last = format!("Last-Event-ID: {}", &id[4..]);
    let mut rest = raw(&server, "GET", &[&session, "Accept: text/event-stream", &last], b"");
    assert_eq!(rest.status, 200);
    server.editor.release(ASKED, &Ok(json!({ "text": "3 files" })));
    let answer: Value = serde_json::from_str(&rest.line("data: ")[6..]).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(5), &json!("3 files")));
    let mut again = raw(&server, "GET", &[&session, "Accept: text/event-stream", &last], b"");
    let repeated: Value = serde_json::from_str(&again.line("data: ")[6..]).unwrap();
    assert_eq!(repeated, answer, "it is there for another try");
    let unknown = "Last-Event-ID: 1.77.0";
    assert_eq!(raw(&server, "GET", &[&session, "Accept: text/event-stream", unknown], b"").status, 404);
}

#[test]
fn a_call_whose_client_stays_away_is_cancelled() {
    let session_timeout = Duration::from_millis(100);
    let server = start(ServerOptions { session_timeout, ..ServerOptions::default() });
    let session = begin(&server, "2025-11-25");
    let response = post(&server, &[&session, EVENTS], CALL);
    server.editor.wait_call(ASKED, 1);
    drop(response);
    server.editor.wait_cancelled(ASKED);
}

#[test]
fn an_ended_session_cancels_its_calls() {
    let server = start(ServerOptions::default());
    let session = begin(&server, "2025-11-25");
    let _response = post(&server, &[&session, EVENTS], CALL);
    server.editor.wait_call(ASKED, 1);
    assert_eq!(raw(&server, "DELETE", &[&session], b"").status, 204);
    server.editor.wait_cancelled(ASKED);
    assert_eq!(raw(&server, "DELETE", &["Mcp-Session-Id: another"], b"").status, 404);
}

#[test]
fn a_listener_gets_tool_changes_and_signs_of_life() {
    let keepalive = Keepalive { interval: Duration::from_millis(20), ..Keepalive::default() };
    let server = start(ServerOptions { keepalive, ..ServerOptions::default() });
    let session = begin(&server, "2025-11-25");
    let mut listening = raw(&server, "GET", &[&session, "Accept: text/event-stream"], b"");
    assert_eq!(listening.status, 200);
    listening.line(": ");
    server.handle.set_available("nvim", ["definition".to_owned()].into());
    let notification: Value = serde_json::from_str(&listening.line("data: ")[6..]).unwrap();
    assert_eq!(notification["method"], "notifications/tools/list_changed");
    // Events without a listener are sent later.
    drop(listening);
    // Its end has come before a connection that is opened later.
    assert_eq!(post(&server, &[&session], PING).status, 200);
    server.handle.set_available("nvim", [].into());
    let mut listening = raw(&server, "GET", &[&session, "Accept: text/event-stream"], b"");
    listening.line("data: ");
}

#[test]
fn a_client_that_comes_back_after_a_restart_is_served_and_notified() {
    let mut first = start(ServerOptions::default());
    let session = begin(&first, "2025-11-25");
    let mut listening = raw(&first, "GET", &[&session, "Accept: text/event-stream"], b"");
    let (identity, editor) = (first.identity.clone(), std::sync::Arc::clone(&first.editor));
    first.stop();
    listening.line("0");
    let options = ServerOptions { serves_agents: true, ..ServerOptions::default() };
    let second = TestServer::start_as(options, identity, editor);
    let mut listening = raw(&second, "GET", &[&session, "Accept: text/event-stream"], b"");
    second.wait_status("the client to be ready", |status| {
        status.clients.iter().any(|client| client.state == ClientState::Ready)
    });
    second.handle.set_available("nvim", ["definition".to_owned()].into());
    listening.line("data: ");
    assert_eq!(post(&second, &[&session], PING).json()["result"], json!({}));
}

#[test]
fn sessions_that_were_left_make_room() {
    let server = start(ServerOptions { max_connections: 2, ..ServerOptions::default() });
    let sessions: Vec<_> = (0..5).map(|_| begin(&server, "2025-11-25")).collect();
    server.wait_status("two clients", |status| status.clients.len() == 2);
    assert_eq!(post(&server, &[&sessions[4]], PING).json()["result"], json!({}));
    let listening = |session: &String| raw(&server, "GET", &[session, "Accept: text/event-stream"], b"");
    let _present = [listening(&sessions[3]), listening(&sessions[4])];
    assert_eq!(post(&server, &[], PING).status, 503);
}

#[test]
fn a_stop_answers_open_requests() {
    let mut server = start(ServerOptions::default());
    let session = begin(&server, "2025-11-25");
    let response = post(&server, &[&session, EVENTS], CALL);
    server.editor.wait_call(ASKED, 1);
    let reader = std::thread::spawn(move || {
        let mut response = response;
        response.line("data: {")
    });
    server.stop();
    assert!(reader.join().unwrap().contains(r#""id":5"#));
}
