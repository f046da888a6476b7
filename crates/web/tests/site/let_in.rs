//! Authentication with real sockets, case by case.

use std::time::Duration;

use crate::lab::{LONG, Lab, body, line, status};
use claude_ide_web::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const LIST: &str = "GET /api/claude/sessions";
const SUBSCRIBE: &str = "/api/claude/sessions/s/subscribe";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.append("s", &[line(0)]);
    lab
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

#[tokio::test]
async fn listens_on_the_loopback_and_takes_the_next_port_where_one_is_taken() {
    let first = lab();
    assert!(first.at.ip().is_loopback());
    let options = claude_ide_web::WebOptions { port: first.at.port(), ..Default::default() };
    let (_web, handle) = claude_ide_web::Web::bind(options, &first.service).unwrap();
    assert_ne!(handle.address().port(), first.at.port());
}

#[tokio::test]
async fn a_host_of_another_name_is_refused_everywhere() {
    let lab = lab();
    for path in ["GET /", LIST, "POST /api/login"] {
        for host in ["Host: evil.example", "Host: evil.example:80", "Host: 192.168.7.7", "X-No: host"] {
            let answer = lab.ask(path, &[host, &lab.bearer()], "").await;
            assert!([400, 403].contains(&status(&answer)), "{path} {host}: {answer}");
        }
    }
    let socket = lab.knock(SUBSCRIBE, &["Host: evil.example", &lab.bearer()]).await;
    assert_eq!(socket.err(), Some(403));
    let answer = lab.ask("GET http://evil.example/api/claude/sessions", &[&lab.host(), &lab.bearer()], "").await;
    assert_eq!(status(&answer), 400, "a name in the request line is none of its names either");
    assert_eq!(status(&lab.ask(LIST, &["Host: box.tail.ts.net", &lab.bearer()], "").await), 200);
}

#[tokio::test]
async fn another_origin_is_refused_over_http_and_before_the_upgrade() {
    let lab = lab();
    let port = lab.at.port();
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", &format!("http://localhost:{port}")] {
        let origin = format!("Origin: {origin}");
        let answer = lab.ask(LIST, &[&lab.host(), &lab.bearer(), &origin], "").await;
        assert_eq!(status(&answer), 403, "{origin}");
        assert_eq!(lab.knock(SUBSCRIBE, &[&lab.host(), &lab.bearer(), &origin]).await.err(), Some(403), "{origin}");
    }
    assert_eq!(status(&lab.ask(LIST, &[&lab.host(), &lab.bearer(), &lab.origin()], "").await), 200);
    assert!(lab.knock(SUBSCRIBE, &[&lab.host(), &lab.bearer(), &lab.origin()]).await.is_ok());
    let sent_by_another_site = lab.ask(LIST, &[&lab.host(), &lab.bearer(), "Sec-Fetch-Site: same-site"], "").await;
    assert_eq!(status(&sent_by_another_site), 403);
}

#[tokio::test]
async fn no_answer_has_a_cors_header_and_each_has_the_guarding_ones() {
    let lab = lab();
    let requests = [
        lab.ask("GET /", &[&lab.host()], "").await,
        lab.ask("GET /", &[&lab.host(), "Accept-Encoding: gzip, deflate"], "").await,
        lab.ask(LIST, &[&lab.host(), &lab.bearer(), &lab.origin()], "").await,
        lab.ask("OPTIONS /api/claude/sessions", &[&lab.host(), "Origin: http://evil.example"], "").await,
        lab.ask(LIST, &[&lab.host()], "").await,
        lab.ask("GET /nowhere", &[&lab.host()], "").await,
    ];
    for answer in requests {
        assert!(!answer.to_ascii_lowercase().contains("access-control-"), "{answer}");
        let csp = header(&answer, "content-security-policy").unwrap();
        assert!(csp.starts_with("default-src 'self'") && csp.contains("frame-ancestors 'none'"));
        assert!(!csp.contains("unsafe"), "{csp}");
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
        assert_eq!(header(&answer, "x-frame-options"), Some("DENY"));
        assert_eq!(header(&answer, "cache-control"), Some("no-store"));
        assert_eq!(header(&answer, "referrer-policy"), Some("no-referrer"));
    }
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_and_a_wrong_one_is_refused_before_the_upgrade() {
    let lab = lab();
    for lines in [vec![], vec!["Authorization: Bearer wrong"], vec!["Authorization: Basic eDp5"]] {
        let lines: Vec<_> = [lab.host()].into_iter().chain(lines.into_iter().map(str::to_owned)).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let answer = lab.ask(LIST, &lines, "").await;
        assert_eq!((status(&answer), body(&answer)), (401, json!({ "error": "Unauthorized" })));
    }
    assert_eq!(lab.knock(SUBSCRIBE, &[&lab.host(), "Authorization: Bearer wrong"]).await.err(), Some(401));
    let in_the_address = format!("{LIST}?token={}", lab.handle.token().reveal());
    assert_eq!(status(&lab.ask(&in_the_address, &[&lab.host()], "").await), 401, "a token in an address is none");
    let mut page = lab.knock(SUBSCRIBE, &[&lab.host(), &lab.origin()]).await.unwrap();
    page.say(json!({ "type": "auth", "token": "wrong" })).await;
    assert_eq!(page.next().await, None, "a page without a key");
}

#[tokio::test]
async fn a_code_is_exchanged_once_by_post_for_a_key_that_no_other_port_is_sent() {
    let lab = lab();
    let code = lab.handle.code().unwrap();
    let login = json!({ "code": code.reveal() }).to_string();
    let by_get = lab.ask(&format!("GET /api/login?code={}", code.reveal()), &[&lab.host()], "").await;
    assert_eq!(status(&by_get), 405);
    let foreign = lab.ask("POST /api/login", &[&lab.host(), "Origin: http://evil.example"], &login).await;
    assert_eq!(status(&foreign), 403, "and the code is not used up by that");
    let answer = lab.ask("POST /api/login", &[&lab.host(), &lab.origin()], &login).await;
    assert_eq!(status(&answer), 200);
    assert_eq!(header(&answer, "set-cookie"), None, "browsers send cookies to every port of the host");
    let answer = body(&answer);
    let key = answer["key"].as_str().unwrap();
    assert_ne!(key, lab.handle.token().reveal());
    let shown = format!("X-Claude-Ide-Key: {key}");
    assert_eq!(status(&lab.ask(LIST, &[&lab.host(), &shown], "").await), 200);
    let of_a_proxy = [&lab.host(), "Authorization: Basic eDp5", "Cookie: claude_ide=1", &shown];
    assert_eq!(status(&lab.ask(LIST, &of_a_proxy, "").await), 200, "a proxy has a password of its own");
    let mut page = lab.knock(SUBSCRIBE, &[&lab.host(), &lab.origin(), "Authorization: Basic eDp5"]).await.unwrap();
    page.say(json!({ "type": "auth", "token": key })).await;
    assert_eq!(page.history().await, ["u0"]);
    let again = lab.ask("POST /api/login", &[&lab.host()], &login).await;
    let why = "This address was used already, or is older than ten minutes";
    assert_eq!((status(&again), body(&again)), (401, json!({ "error": why })));
}

#[tokio::test]
async fn a_client_may_authenticate_in_its_first_frame() {
    let lab = lab();
    let open = async || lab.knock(SUBSCRIBE, &[&lab.host()]).await.unwrap();
    let mut good = open().await;
    good.say(json!({ "type": "auth", "token": lab.handle.token().reveal() })).await;
    assert_eq!(good.history().await, ["u0"]);
    for frame in [json!({ "type": "auth", "token": "wrong" }), json!({ "type": "subscribe" }), json!(1)] {
        let mut bad = open().await;
        bad.say(frame).await;
        assert_eq!(bad.next().await, None, "not a line");
    }
}

#[tokio::test]
async fn a_client_that_does_not_authenticate_in_time_is_dropped() {
    let lab = Lab::with(Limits { handshake: Duration::from_millis(100), ..Limits::default() });
    lab.append("s", &[line(0)]);
    let mut silent = lab.knock(SUBSCRIBE, &[&lab.host()]).await.unwrap();
    assert_eq!(silent.next().await, None);
}

#[tokio::test]
async fn wrong_secrets_lock_no_user_out() {
    let lab = lab();
    for wrong in ["Authorization: Bearer no", "X-Claude-Ide-Key: no"] {
        for _ in 0..10 {
            assert_eq!(status(&lab.ask(LIST, &[&lab.host(), wrong], "").await), 401);
        }
    }
    assert_eq!(status(&lab.ask(LIST, &[&lab.host(), &lab.bearer()], "").await), 200);
    let login = json!({ "code": lab.handle.code().unwrap().reveal() }).to_string();
    assert_eq!(status(&lab.ask("POST /api/login", &[&lab.host()], &login).await), 200);
}

#[tokio::test]
async fn unknown_and_malformed_ids_are_distinguished_from_none() {
    let lab = lab();
    for id in ["unknown", "..", "a.b", "%2e%2e", &"x".repeat(200)] {
        for rest in ["", "/messages"] {
            let (status, body) = lab.get(&format!("/api/claude/sessions/{id}{rest}")).await;
            assert_eq!((status, body), (404, json!({ "error": "Session not found" })), "{id}{rest}");
        }
        let path = format!("/api/claude/sessions/{id}/subscribe");
        assert_eq!(lab.knock(&path, &[&lab.host(), &lab.bearer()]).await.err(), Some(404), "before the upgrade");
        assert_eq!(
            lab.knock(&path, &[&lab.host(), "Authorization: Bearer no"]).await.err().map(|s| s == 404),
            Some(false)
        );
    }
}

#[tokio::test]
async fn only_get_reads_and_no_path_leads_to_a_file() {
    let lab = lab();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = lab.ask(&format!("{method} /api/claude/sessions"), &[&lab.host(), &lab.bearer()], "").await;
        assert_eq!(status(&answer), 405, "{method}");
        assert_eq!(status(&lab.ask(&format!("{method} /"), &[&lab.host()], "").await), 405, "{method}");
    }
    for path in ["/../Cargo.toml", "/etc/passwd", "//etc/passwd", "/web/app.js", "/app.js/../../x", "/s.jsonl"] {
        assert_eq!(status(&lab.ask(&format!("GET {path}"), &[&lab.host(), &lab.bearer()], "").await), 404, "{path}");
    }
    let answer = lab.ask("GET /api/claude/sessions/s", &[&lab.host(), &lab.bearer()], "").await;
    assert!(!answer.contains(".jsonl"), "no file is named: {answer}");
}

#[tokio::test]
async fn a_frame_of_more_than_a_mebibyte_ends_its_socket_alone() {
    let lab = lab();
    let (mut big, mut other) = (lab.subscribe("s", "").await, lab.subscribe("s", "").await);
    big.history().await;
    other.history().await;
    big.say(json!({ "type": "subscribe", "fill": "x".repeat(1024 * 1024) })).await;
    assert_eq!(big.next().await, None);
    lab.append("s", &[line(1)]);
    assert_eq!(other.uuids(1).await, ["u1"]);
}

#[tokio::test]
async fn a_slow_request_is_dropped() {
    let lab = Lab::with(Limits { handshake: Duration::from_millis(150), ..Limits::default() });
    for piece in ["", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "] {
        let mut stream = TcpStream::connect(lab.at).await.unwrap();
        stream.write_all(piece.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(LONG, stream.read_to_end(&mut answer)).await.expect("it is dropped").ok();
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
    let mut stream = TcpStream::connect(lab.at).await.unwrap();
    let login = "POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{";
    stream.write_all(login.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let count = timeout(LONG, stream.read(&mut answer)).await.expect("an answer").unwrap();
    assert!(answer[..count].starts_with(b"HTTP/1.1 400"));
}

#[tokio::test]
async fn an_unresponsive_reader_is_dropped() {
    // On a slow machine also a responsive one may be dropped rightly, so longer times follow.
    for silence in [300, 2_000, 10_000].map(Duration::from_millis) {
        let lab = Lab::with(Limits { ping: silence / 10, silence, ..Limits::default() });
        lab.append("s", &[line(0)]);
        let mut alive = lab.subscribe("s", "").await;
        alive.history().await;
        // Reads nothing, so it answers no ping.
        let mut dead = lab.subscribe("s", "").await;
        let stays = timeout(silence * 3, alive.next()).await.is_err();
        while dead.next().await.is_some() {}
        if stays {
            return;
        }
    }
    panic!("one that answers pings stays");
}
