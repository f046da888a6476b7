//! Protocol violations over real sockets: the connection ends with the right code, and the server continues.

use std::{io::Write, net::Shutdown};

use claude_ide_server::{ServerOptions, Workspace, testing::TestServer};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Bytes, Message};

fn start() -> TestServer {
    TestServer::start(ServerOptions::default())
}

/// A client frame, with a zero mask for readability.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(0x80 | u8::try_from(short).unwrap()),
        medium @ 126..=0xFFFF => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(medium).unwrap().to_be_bytes());
        }
        long => {
            bytes.push(0x80 | 127);
            bytes.extend(u64::try_from(long).unwrap().to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

fn code_after(server: &TestServer, bytes: &[u8]) -> Option<u16> {
    let mut client = server.client();
    client.stream().write_all(bytes).unwrap();
    let code = client.goodbye().map(|(code, _)| code);
    client.wait_end();
    code
}

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[test]
fn a_violation_of_the_protocol_ends_with_its_code() {
    let server = start();
    let unmasked = [&[0x81, u8::try_from(PING.len()).unwrap()], PING].concat();
    let reserved_bits_and_unknown_frames = [0xC1, 0xA1, 0x91, 0x83, 0x87, 0x8B, 0x8F].map(|first| frame(first, PING));
    let broken_fragments = [
        frame(0x80, b"x"),
        [frame(0x01, b"{"), frame(0x81, b"}")].concat(),
        frame(0x09, b"x"),
        frame(0x89, &[b'x'; 126]),
    ];
    let split_wrongly = [frame(0x01, b"\"\xC3"), frame(0x80, b"\x28\"")].concat();
    let no_utf8 = [frame(0x81, b"\"\xFF\""), frame(0x81, b"\"\xC3\""), split_wrongly];
    for (code, all) in [
        (1002, vec![unmasked]),
        (1002, reserved_bits_and_unknown_frames.to_vec()),
        (1002, broken_fragments.to_vec()),
        (1007, no_utf8.to_vec()),
        (1003, vec![frame(0x82, PING)]),
    ] {
        for bytes in all {
            assert_eq!(code_after(&server, &bytes), Some(code), "{bytes:x?}");
        }
    }
    assert!(server.editor.wait_disconnected(1)[0].contains("protocol violation"));
}

#[test]
fn a_frame_of_65_mib_ends_with_1009_before_it_is_stored() {
    let server = start();
    let mut header = vec![0x81, 0x80 | 127];
    header.extend((65_u64 << 20).to_be_bytes());
    header.extend([0; 4]);
    assert_eq!(code_after(&server, &header), Some(1009));
}

#[test]
fn a_message_of_65_mib_that_is_really_sent_ends_with_1009() {
    let server = start();
    let mut client = server.client();
    let sent = client.try_send(Message::text("x".repeat(65 << 20)));
    // The server may stop reading early; its close frame still arrives.
    drop(sent);
    assert_eq!(client.goodbye().map(|(code, _)| code), Some(1009));
}

#[test]
fn fragments_that_grow_beyond_the_limit_end_with_1009() {
    let server = TestServer::start(ServerOptions { max_message_bytes: 1 << 20, ..ServerOptions::default() });
    let piece = vec![b' '; 300_000];
    let mut bytes = frame(0x01, &piece);
    for _ in 0..3 {
        bytes.extend(frame(0x00, &piece));
    }
    assert_eq!(code_after(&server, &bytes), Some(1009));
}

#[test]
fn the_largest_message_that_is_allowed_is_served() {
    let server = TestServer::start(ServerOptions { max_message_bytes: 4 << 20, ..ServerOptions::default() });
    server.editor.reply("open_diff", Ok(json!({ "outcome": "rejected" })));
    let mut client = server.client();
    let contents = "x".repeat((4 << 20) - 300);
    let answer = client.call("openDiff", &json!({ "old_file_path": "/a", "new_file_contents": contents }));
    assert_eq!(answer, ["DIFF_REJECTED"]);
    assert_eq!(server.editor.calls()[0].args["new_file_contents"], contents);
}

#[test]
fn a_large_answer_arrives_whole() {
    let server = start();
    let contents = "zeile ü\r\n".repeat(1_500_000);
    server.editor.reply("open_diff", Ok(json!({ "outcome": "saved", "contents": contents })));
    let answer = server.client().call("openDiff", &json!({ "old_file_path": "/a", "new_file_contents": "" }));
    assert_eq!(answer.len(), 2);
    assert!(answer[0] == "FILE_SAVED" && answer[1] == contents);
}

#[test]
fn a_message_in_fragments_is_one_message() {
    let server = start();
    let mut client = server.client();
    let text = r#"{"jsonrpc":"2.0","id":"ü","method":"ping"}"#.as_bytes();
    let cut = text.iter().position(|byte| *byte == 0xC3).unwrap() + 1;
    // Cut inside a character, with a ping between the fragments.
    let bytes = [frame(0x01, &text[..cut]), frame(0x89, b"between"), frame(0x00, b""), frame(0x80, &text[cut..])];
    for byte in bytes.concat() {
        client.stream().write_all(&[byte]).unwrap();
    }
    assert_eq!(client.read(), Message::Pong(Bytes::from_static(b"between")));
    assert_eq!(client.next_message()["id"], "ü");
}

#[test]
fn a_first_fragment_alone_is_not_a_message() {
    let server = start();
    let mut client = server.client();
    client.stream().write_all(&frame(0x01, PING)).unwrap();
    client.stream().write_all(&frame(0x89, b"")).unwrap();
    assert_eq!(client.read(), Message::Pong(Bytes::new()), "nothing was answered before the pong");
}

#[test]
fn a_close_frame_is_answered_with_its_own_code() {
    let server = start();
    for (body, expected) in [
        (&b""[..], None),
        (&[0x03, 0xE8][..], Some(1000)),
        (&[0x0F, 0xA0, b'x'][..], Some(4000)),
        // 1005 and 1006 must not be sent; they count as a violation.
        (&[0x03, 0xED][..], Some(1002)),
        (&[0x03, 0xEE][..], Some(1002)),
        (&[0x03][..], Some(1002)),
    ] {
        assert_eq!(code_after(&server, &frame(0x88, body)), expected, "{body:x?}");
    }
}

#[test]
fn a_half_closed_socket_is_cleaned_up() {
    let server = start();
    let mut client = server.client();
    client.propose("/a");
    server.editor.wait_call("open_diff", 1);
    client.stream().shutdown(Shutdown::Write).unwrap();
    server.editor.wait_cancelled("open_diff");
    assert_eq!(client.goodbye().map(|(code, _)| code), Some(1000));
    server.wait_status("the client to be gone", |status| status.clients.is_empty());
}

#[test]
fn a_client_that_never_reads_does_not_hold_up_another() {
    let server = start();
    let contents = "x".repeat(1 << 20);
    server.editor.reply("open_diff", Ok(json!({ "outcome": "saved", "contents": contents })));
    let mut deaf = server.client();
    for _ in 0..40 {
        deaf.propose("/a");
    }
    server.wait_status("the answers to pile up", |status| status.queued_bytes > 4 << 20);
    let mut other = server.client();
    for _ in 0..10 {
        other.request("ping", &json!({}));
    }
    // It gets everything once it reads.
    for id in 2..42 {
        assert_eq!(deaf.answer(id)["result"]["content"][0]["text"], "FILE_SAVED");
    }
}

#[test]
fn pipelined_requests_are_all_answered_even_if_nothing_is_read_meanwhile() {
    let server = start();
    server.editor.reply("close_tab", Ok(json!({ "closed": true })));
    let mut client = server.client();
    let call = |id: usize| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "close_tab", "arguments": { "tab_name": "x" } } })
        .to_string()
    };
    client.send_all((100..10_100).map(call));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..10_000 {
        let answer = client.next_message();
        assert_eq!(answer["result"]["content"][0]["text"], "TAB_CLOSED");
        assert!(seen.insert(answer["id"].as_u64().unwrap()));
    }
    assert_eq!((seen.first(), seen.last()), (Some(&100), Some(&10_099)));
}

#[test]
fn each_ping_has_its_pong() {
    let server = start();
    let mut client = server.client();
    let pings: Vec<_> = (0..10).map(|number| format!("ping {number}")).collect();
    let frames: Vec<u8> = pings.iter().flat_map(|ping| frame(0x89, ping.as_bytes())).collect();
    client.stream().write_all(&frames).unwrap();
    for ping in pings {
        assert_eq!(client.read(), Message::Pong(ping.into()));
    }
}

#[test]
fn a_flood_of_pings_is_bounded() {
    let server = start();
    let mut client = server.client();
    // Far more than the sockets hold, so that unread data would have to be stored in the server.
    let pings = 200_000;
    client.stream().write_all(&frame(0x89, &[b'x'; 120]).repeat(pings)).unwrap();
    client.stream().write_all(&frame(0x89, b"last")).unwrap();
    let asked = client.start_call("close_tab", &json!({ "tab_name": "x" }));
    server.editor.wait_call("close_tab", 1);
    assert!(server.handle.status().queued_bytes < 1 << 20, "{:?}", server.handle.status());
    server.editor.answer("close_tab", Ok(json!({ "closed": true })));
    let mut pongs = Vec::new();
    let answer = loop {
        match client.read() {
            Message::Pong(payload) => pongs.push(payload),
            Message::Text(text) => break serde_json::from_str::<Value>(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(answer["id"], asked);
    assert!(pongs.len() < pings, "each of {pings} pings was answered");
    assert_eq!(pongs.last().map(|payload| &payload[..]), Some(&b"last"[..]));
}

#[test]
fn deep_nesting_is_refused_and_breaks_nothing() {
    let server = start();
    let mut client = server.client();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (text, code) in [
        (deep.clone(), -32600),
        (
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"openFile","arguments":{{"x":{deep}}}}}}}"#
            ),
            -32602,
        ),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{deep}}}"#), -32602),
    ] {
        client.send_text(&text);
        assert_eq!(client.next_message()["error"]["code"], code);
    }
    client.request("ping", &json!({}));
}

#[test]
fn odd_texts_are_answered_and_never_end_the_connection() {
    let server = start();
    let mut client = server.client();
    for text in [
        "1",
        "null",
        "\u{0}",
        "\"\\ud800\"",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\udc00","arguments":{"\ud800":"\ud800"}}}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
    ] {
        client.send_text(text);
        let answer: Value = client.next_message();
        assert!(answer["error"]["code"].is_i64(), "{text}: {answer}");
    }
    client.request("ping", &json!({}));
}

/// A workspace with one file of 256 KiB, not open in the editor.
fn large_file() -> (TestServer, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("large"), "x".repeat(256 << 10)).unwrap();
    let workspace = Workspace { folders: vec![home.path().to_owned()], ide_name: "Editor".to_owned(), announced: None };
    let server = TestServer::start(ServerOptions { workspace, ..ServerOptions::default() });
    (server, home)
}

#[test]
fn a_client_that_asks_for_much_and_reads_nothing_makes_only_itself_wait() {
    let (server, _home) = large_file();
    let mut deaf = server.client();
    let asked: Vec<_> = (0..160).map(|_| deaf.send("readFile", &json!({ "path": "large" }))).collect();
    server.wait_status("all of them to be accepted", |status| status.in_flight == asked.len());
    let not_open = Ok(json!({ "loaded": false }));
    server.editor.release("read_file", &not_open);
    server.wait_status("the answers to fill what there is", |status| status.queued_bytes > 8 << 20);
    // A client that reads is served meanwhile; by then all possible responses would exist.
    let mut other = server.client();
    for _ in 0..10 {
        other.request("readFile", &json!({ "path": "large" }));
    }
    let queued = server.handle.status().queued_bytes;
    assert!(queued < 16 << 20, "{queued} bytes wait for a client that does not read");
    let mut answered: Vec<u64> = asked.iter().map(|_| deaf.next_message()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
}

#[test]
fn the_answer_to_a_batch_is_bounded() {
    let (server, _home) = large_file();
    server.editor.reply("read_file", Ok(json!({ "loaded": false })));
    let mut client = server.connect();
    client.initialize("2025-03-26");
    let request = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "readFile", "params": { "path": "large" } });
    client.send_text(&Value::from((0..60).map(request).collect::<Vec<_>>()).to_string());
    let answer = client.next_message();
    let answers = answer.as_array().unwrap();
    let mut ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..60).collect::<Vec<_>>());
    let served = answers.iter().filter(|answer| answer["result"].is_string()).count();
    assert!((32..40).contains(&served), "{served}");
    assert!(answers.iter().all(|answer| answer["result"].is_string() || answer["error"]["code"] == -32000));
}
