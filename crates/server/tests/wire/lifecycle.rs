//! Start, keepalive, stop and restart, over real sockets.

use std::{
    fs,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use claude_ide_server::{
    EditorError, Identity, Keepalive, Server, ServerError, ServerOptions, Workspace,
    testing::{DEADLINE, ScriptedEditor, Shared, TestClient, TestServer, dial, http, upgrade_request},
};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

fn keepalive(interval: u64, timeout: u64) -> ServerOptions {
    let keepalive = Keepalive {
        interval: Duration::from_millis(interval),
        timeout: Duration::from_millis(timeout),
        mcp_ping: true,
    };
    ServerOptions { keepalive, ..ServerOptions::default() }
}

fn identity() -> Identity {
    Identity::generate().unwrap()
}

/// A server on a port outside the range from which systems assign ports (from 32768).
fn start_as(identity: &Identity) -> TestServer {
    let options = ServerOptions { port_range: Some(20_000..=29_999), ..ServerOptions::default() };
    TestServer::start_as(options, identity.clone(), ScriptedEditor::new())
}

#[test]
fn a_quiet_client_is_pinged_in_both_ways() {
    let server = TestServer::start(keepalive(20, 600_000));
    let mut client = server.client();
    let (mut frames, mut requests) = (0, 0);
    while frames < 3 || requests < 1 {
        match client.read() {
            Message::Ping(_) => frames += 1,
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(message["method"], "ping");
                assert!(message["id"].is_u64());
                requests += 1;
            }
            _ => {}
        }
    }
    assert_eq!(requests, 1, "one question at a time");
}

#[test]
fn a_plain_client_is_not_asked_in_words_it_does_not_know() {
    let server = TestServer::start(keepalive(10, 600_000));
    let mut client = server.connect();
    client.request("tools/list", &json!({}));
    for _ in 0..3 {
        assert!(matches!(client.read(), Message::Ping(_)));
    }
}

#[test]
fn a_dead_client_is_dropped() {
    let server = TestServer::start(keepalive(30, 60));
    let mut request = upgrade_request(server.port());
    request.push(format!("X-Claude-Code-Ide-Authorization: {}", server.token()));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": { "name": "close_tab", "arguments": { "tab_name": "x" } } });
    // The call is sent with the handshake, so it arrives in time even on a slow machine.
    let bytes = [(request.join("\r\n") + "\r\n\r\n").into_bytes(), frame(&call.to_string())].concat();
    let mut stream = dial(server.port());
    stream.write_all(&bytes).unwrap();
    // Nothing is read, so no pong is sent.
    server.editor.wait_cancelled("close_tab");
    assert_eq!(server.editor.wait_disconnected(1), ["it gave no sign of life"]);
}

/// A client's text frame, with a zero mask.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0];
    frame.extend(text.bytes());
    frame
}

/// Whether a client stays connected while it runs `signs`, given a keepalive timeout. On a slow machine it may be
/// dropped rightly, so longer timeouts follow.
fn is_kept_by(signs: impl Fn(&mut TcpStream, Duration) -> io::Result<()>) -> bool {
    [400, 2_000, 10_000, 60_000].into_iter().any(|timeout| {
        let server = TestServer::start(keepalive(timeout / 20, timeout));
        let mut stream = dial(server.port());
        let mut request = upgrade_request(server.port());
        request.push(format!("X-Claude-Code-Ide-Authorization: {}", server.token()));
        assert!(http(&mut stream, &request).starts_with("HTTP/1.1 101 "));
        let kept = signs(&mut stream, Duration::from_millis(timeout)).is_ok();
        drop(stream);
        let [reason] = &server.editor.wait_disconnected(1)[..] else { panic!("one client") };
        kept && reason != "it gave no sign of life"
    })
}

#[test]
fn a_client_that_answers_pings_is_kept() {
    let kept = is_kept_by(|stream, timeout| {
        let until = Instant::now() + timeout * 2;
        let mut ping = [0; 2];
        while Instant::now() < until {
            stream.read_exact(&mut ping)?;
            assert_eq!(ping, [0x89, 0], "a ping without a payload");
            stream.write_all(&[0x8A, 0x80, 0, 0, 0, 0])?;
        }
        Ok(())
    });
    assert!(kept);
}

#[test]
fn a_busy_client_is_kept_as_long_as_a_byte_comes_now_and_then() {
    let kept = is_kept_by(|stream, timeout| {
        // One message, a few bytes at a time, for longer than the timeout, without a pong in between.
        for piece in frame(r#"{"jsonrpc":"2.0","id":"slow","method":"ping"}"#).chunks(4) {
            stream.write_all(piece)?;
            thread::sleep(timeout / 5);
        }
        let answer = br#"{"jsonrpc":"2.0","id":"slow","result":{}}"#;
        let mut read = Vec::new();
        while !read.ends_with(answer) {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            read.extend(byte);
        }
        Ok(())
    });
    assert!(kept);
}

#[test]
fn port_and_token_stay_over_a_restart() {
    let identity = identity();
    let mut first = start_as(&identity);
    let (port, token) = (first.port(), first.token());
    let mut client = first.client();
    let id = first.handle.status().clients[0].id;
    first.stop();
    assert_eq!(client.goodbye().map(|(code, _)| code), Some(1001));
    let second = start_as(&identity);
    assert_eq!(second.port(), port);
    let mut again = TestClient::connect(port, &token);
    again.initialize("2025-11-25");
    assert!(second.handle.status().clients[0].id > id, "a client's number is never used again");
}

#[test]
fn a_stopped_server_keeps_its_port() {
    let identity = identity();
    let mut first = start_as(&identity);
    let (port, token) = (first.port(), first.token());
    first.stop();
    for host in ["127.0.0.1", "0.0.0.0"] {
        assert!(TcpListener::bind((host, port)).is_err(), "{host}");
    }
    // Connections meanwhile wait for the next server.
    let mut early = dial(port);
    let mut request = upgrade_request(port);
    request.push(format!("X-Claude-Code-Ide-Authorization: {token}"));
    let _second = start_as(&identity);
    assert!(http(&mut early, &request).starts_with("HTTP/1.1 101 "));
    TestClient::over(early).initialize("2025-11-25");
}

#[test]
fn a_server_on_another_port_has_other_tokens() {
    let identity = identity();
    let mut first = start_as(&identity);
    let (port, tokens) = (first.port(), [first.token(), first.agents_token()]);
    first.stop();
    let range = if port > 40_000 { 30_000..=40_000 } else { 40_001..=50_000 };
    let options = ServerOptions { port_range: Some(range), ..ServerOptions::default() };
    let second = TestServer::start_as(options, identity, ScriptedEditor::new());
    for (old, new) in tokens.into_iter().zip([second.token(), second.agents_token()]) {
        assert_ne!(old, new);
    }
    second.client().request("ping", &json!({}));
    // The old port is free.
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok());
}

/// The system shows processes.
#[cfg(target_os = "linux")]
#[test]
fn the_next_editor_in_the_folder_knows_the_clients_by_their_process() {
    let home = tempfile::tempdir().unwrap();
    let at = |port| {
        let workspace = Workspace { folders: vec!["/project".into()], ..Workspace::default() };
        let handover_dir = Some(home.path().join("handover"));
        TestServer::start(ServerOptions { handover_dir, workspace, port, ..ServerOptions::default() })
    };
    let wait_kept = |port, kept: bool| {
        let path = home.path().join(format!("handover/{port}.json"));
        let until = Instant::now() + DEADLINE;
        while path.exists() != kept {
            assert!(Instant::now() < until, "kept: {kept}");
        }
    };
    let mut first = at(0);
    let (port, token) = (first.port(), first.token());
    let client = first.client();
    let mut stranger = TestClient::connect(port, "another");
    assert_eq!(stranger.goodbye().map(|(code, _)| code), Some(1008));
    wait_kept(port, true);
    first.stop();
    drop((first, client));
    // It holds the token of the first server for good.
    let mut second = at(0);
    assert_eq!(second.port(), port);
    assert_ne!(second.token(), token);
    TestClient::connect(port, &token).initialize("2025-11-25");
    second.stop();
    drop(second);
    let mut third = at(0);
    assert_eq!(third.port(), port);
    let mut client = TestClient::connect(port, &token);
    client.initialize("2025-11-25");
    // Until it is sent away.
    third.handle.disconnect(third.handle.status().clients[0].id).unwrap();
    assert_eq!(client.goodbye().map(|(code, _)| code), Some(4001));
    wait_kept(port, false);
    third.stop();
    drop(third);
    let _fourth = at(port);
    let mut refused = TestClient::connect(port, &token);
    assert_eq!(refused.goodbye().map(|(code, _)| code), Some(1008));
}

#[test]
fn a_port_is_taken_from_the_range() {
    // A free port and its neighbours, of which some are free.
    let probe = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = probe.local_addr().unwrap().port();
    let range = taken.min(65_000)..=taken.min(65_000) + 535;
    let server = TestServer::start(ServerOptions { port_range: Some(range.clone()), ..ServerOptions::default() });
    assert!(range.contains(&server.port()) && server.port() != taken);
}

#[test]
fn a_configured_port_that_is_taken_is_an_error() {
    let thief = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = thief.local_addr().unwrap().port();
    for options in [
        ServerOptions { port, ..ServerOptions::default() },
        ServerOptions { port_range: Some(port..=port), ..ServerOptions::default() },
    ] {
        let outcome = Server::bind(options, identity(), Arc::new(Shared(ScriptedEditor::new())));
        let Err(ServerError::Bind { port: named, .. }) = outcome else { panic!("an error") };
        assert!(named.contains(&port.to_string()));
    }
}

#[test]
fn it_listens_on_loopback_only() {
    let server = TestServer::start(ServerOptions::default());
    assert_eq!(server.handle.info().host, "127.0.0.1");
    let outward = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    if let Ok(address) = outward
        && !address.ip().is_loopback()
    {
        assert!(std::net::TcpStream::connect((address.ip(), server.port())).is_err());
    }
}

#[test]
fn the_lock_file_lives_as_long_as_the_server() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("claude/ide");
    let workspace = Workspace { folders: vec!["/one".into()], ide_name: "Editor".to_owned(), announced: None };
    let options = ServerOptions { lock_dirs: vec![dir.clone()], workspace, ..ServerOptions::default() };
    let mut server = TestServer::start(options);
    let path = dir.join(format!("{}.lock", server.port()));
    assert_eq!(server.handle.info().lock_files, std::slice::from_ref(&path));
    let read = || serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(read()["workspaceFolders"], json!(["/one"]));
    TestClient::connect(server.port(), read()["authToken"].as_str().unwrap()).initialize("2025-11-25");

    let moved =
        Workspace { folders: vec!["/two".into(), "/three".into()], ide_name: "Moved".to_owned(), announced: None };
    server.handle.set_workspace(moved);
    server.wait_status("the lock file to be rewritten", |_| read()["ideName"] == "Moved");
    assert_eq!(read()["workspaceFolders"], json!(["/two", "/three"]));
    server.stop();
    assert!(!path.exists());
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn a_server_that_never_ran_leaves_no_lock_file() {
    let home = tempfile::tempdir().unwrap();
    let options = ServerOptions { lock_dirs: vec![home.path().to_owned()], ..ServerOptions::default() };
    let (server, handle) = Server::bind(options, identity(), Arc::new(Shared(ScriptedEditor::new()))).unwrap();
    assert!(handle.info().lock_files[0].exists());
    drop(server);
    assert!(!handle.info().lock_files[0].exists());
}

#[test]
fn answers_that_are_there_leave_before_the_goodbye() {
    let mut server = TestServer::start(ServerOptions::default());
    let mut client = server.client();
    let ids: Vec<_> = (0..200).map(|_| client.propose("/a")).collect();
    server.editor.wait_call("open_diff", ids.len());
    let (last, answered) = ids.split_last().unwrap();
    for _ in answered {
        server.editor.answer("open_diff", Ok(json!({ "outcome": "rejected" })));
    }
    server.stop();
    for id in answered {
        assert_eq!(client.answer(*id)["result"]["content"][0]["text"], "DIFF_REJECTED");
    }
    assert_eq!(client.answer(*last)["error"]["code"], -32603, "one that was not answered is not left open");
    assert_eq!(client.goodbye(), Some((1001, "the editor is closing".to_owned())));
}

#[test]
fn a_client_that_no_later_server_admits_is_asked_not_to_come_back() {
    let mut server = TestServer::start(ServerOptions::default());
    let mut client = server.client();
    server.handle.exit(DEADLINE);
    assert_eq!(client.goodbye().map(|(code, _)| code), Some(4001));
    server.stop();
}

#[test]
fn a_large_answer_leaves_before_the_goodbye() {
    let mut server = TestServer::start(ServerOptions::default());
    let mut client = server.client();
    let id = client.propose("/a");
    server.editor.wait_call("open_diff", 1);
    let contents = "x".repeat(20 << 20);
    let reader = std::thread::spawn(move || {
        let length = client.answer(id)["result"]["content"][1]["text"].as_str().unwrap().len();
        (length, client.goodbye().map(|(code, _)| code))
    });
    server.editor.answer("open_diff", Ok(json!({ "outcome": "saved", "contents": contents })));
    server.stop();
    assert_eq!(reader.join().unwrap(), (20 << 20, Some(1001)));
}

#[test]
fn no_client_delays_the_end() {
    // All timeouts are far longer than any delay of a busy machine.
    let (handshake_timeout, keepalive) = (Duration::from_secs(3600), keepalive(3_600_000, 3_600_000).keepalive);
    let options = ServerOptions { handshake_timeout, keepalive, ..ServerOptions::default() };
    let mut server = TestServer::start(options);
    let contents = "x".repeat(32 << 20);
    server.editor.reply("open_diff", Ok(json!({ "outcome": "saved", "contents": contents })));
    let mut deaf = server.client();
    deaf.propose("/a");
    server.wait_status("the answer to wait", |status| status.queued_bytes > 0);
    let mut halfway = dial(server.port());
    halfway.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let begun = Instant::now();
    server.stop_within(Duration::from_millis(300));
    assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
}

#[test]
fn stopping_is_quick_without_clients() {
    let mut server = TestServer::start(ServerOptions::default());
    server.client().wait_for_goodbye();
    let begun = Instant::now();
    server.stop_within(DEADLINE * 3);
    assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
}

#[test]
fn an_editor_that_is_busy_or_closing_says_so() {
    let server = TestServer::start(ServerOptions::default());
    let mut client = server.client();
    let call = json!({ "name": "close_tab", "arguments": { "tab_name": "x" } });
    server.editor.reply("close_tab", Err(EditorError::Busy));
    assert_eq!(client.error("tools/call", &call).0, -32000);
    server.editor.reply("close_tab", Err(EditorError::Closed));
    assert_eq!(client.error("tools/call", &call).0, -32603);
}

#[test]
fn a_connection_that_fails_leaves_no_ghost() {
    let server = TestServer::start(ServerOptions::default());
    server.editor.break_on("close_all_diff_tabs");
    let (mut broken, mut other) = (server.client(), server.client());
    broken.propose("/a");
    server.editor.wait_call("open_diff", 1);
    broken.start_call("closeAllDiffTabs", &json!({}));
    assert_eq!(server.editor.wait_disconnected(1), ["its connection failed"]);
    server.editor.wait_cancelled("open_diff");
    server.wait_status("the ghost to be gone", |status| status.clients.len() == 1);
    other.request("ping", &json!({}));
    server.client().request("ping", &json!({}));
}

#[test]
fn a_disconnected_client_is_asked_not_to_come_back() {
    let server = TestServer::start(ServerOptions::default());
    let (mut leaving, mut staying) = (server.client(), server.client());
    leaving.propose("/a");
    server.editor.wait_call("open_diff", 1);
    let id = server.handle.status().clients[0].id;
    server.handle.disconnect(id).unwrap();
    let goodbye = leaving.goodbye();
    assert_eq!(goodbye, Some((4001, "Another Claude Code session connected to this IDE".to_owned())));
    server.editor.wait_cancelled("open_diff");
    server.editor.wait_disconnected(1);
    assert!(server.handle.disconnect(id).is_err());
    staying.request("ping", &json!({}));
    // Allowed on request.
    server.client().request("ping", &json!({}));
}

#[test]
fn a_deleted_lock_file_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ide");
    let mut server = TestServer::start(ServerOptions { lock_dirs: vec![dir.clone()], ..ServerOptions::default() });
    let path = server.handle.info().lock_files[0].clone();
    let contents = fs::read_to_string(&path).unwrap();
    // Repeatedly; with its folder; and by renaming.
    for delete in [
        |path: &Path| fs::remove_file(path).unwrap(),
        // It may be restored while its folder is removed.
        |path: &Path| while fs::remove_dir_all(path.parent().unwrap()).is_err() {},
        |path: &Path| fs::rename(path, path.with_extension("gone")).unwrap(),
        |path: &Path| fs::remove_file(path).unwrap(),
    ] {
        delete(&path);
        server.wait_status("the lock file to be back", |_| path.exists());
        assert_eq!(fs::read_to_string(&path).unwrap(), contents);
    }
    server.stop();
    assert!(!path.exists());
}
