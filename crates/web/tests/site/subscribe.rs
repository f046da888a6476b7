//! A socket's lines: the history and then each new line, once, in order.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::lab::{LONG, Lab, line, lines, names};
use serde_json::{Value as Json, json};

#[tokio::test]
async fn tells_all_there_is_and_then_each_line_as_it_is_written() {
    let lab = Lab::new();
    lab.append("s", &lines(0..100));
    let mut socket = lab.subscribe("s", "").await;
    assert_eq!(socket.history().await, names(0..100));
    for number in 100..120 {
        lab.append("s", &[line(number)]);
        assert_eq!(socket.uuids(1).await, names(number..number + 1));
    }
}

#[tokio::test]
async fn history_and_new_lines_join_without_a_gap() {
    let lab = Lab::new();
    lab.append("s", &lines(0..2000));
    let mut sockets = Vec::new();
    for number in 0..30 {
        sockets.push(lab.subscribe("s", "").await);
        lab.append("s", &lines(2000 + number * 10..2010 + number * 10));
    }
    for mut socket in sockets {
        assert_eq!(socket.uuids(2300).await, names(0..2300));
    }
}

#[tokio::test]
async fn a_half_line_waits_for_its_rest() {
    use std::io::Write as _;
    let lab = Lab::new();
    lab.append("s", &lines(0..1));
    let mut socket = lab.subscribe("s", "").await;
    socket.history().await;
    let text = line(1) + "\n";
    let (head, tail) = text.split_at(20);
    let mut file = fs::File::options().append(true).open(lab.transcript("s")).unwrap();
    file.write_all(head.as_bytes()).unwrap();
    file.sync_all().unwrap();
    let mut other = lab.subscribe("s", "").await;
    assert_eq!(other.history().await, ["u0"]);
    file.write_all(tail.as_bytes()).unwrap();
    assert_eq!((socket.uuids(1).await, other.uuids(1).await), (names(1..2), names(1..2)));
}

#[tokio::test]
async fn sends_the_last_lines_or_those_after_a_given_one() {
    let lab = Lab::new();
    lab.append("s", &lines(0..50));
    assert_eq!(lab.subscribe("s", "?last=3").await.history().await, names(47..50));
    assert_eq!(lab.subscribe("s", "?last=0").await.history().await, [""; 0]);
    let mut after = lab.subscribe("s", "?fromUuid=u46").await;
    assert_eq!(after.frame("subscribed").await["found"], true);
    assert_eq!(after.history().await, names(47..50));
    let mut unknown = lab.subscribe("s", "?fromUuid=nobody").await;
    let said = unknown.frame("subscribed").await;
    assert_eq!(said, json!({ "type": "subscribed", "fromUuid": "nobody", "found": false }));
    assert_eq!(unknown.history().await, names(0..50), "all of it");
}

#[tokio::test]
async fn a_frame_says_from_where_on_as_well_as_the_address() {
    let lab = Lab::new();
    lab.append("s", &lines(0..50));
    let mut socket = lab.subscribe("s", "").await;
    socket.say(json!({ "type": "subscribe", "fromUuid": "u46" })).await;
    socket.frame("subscribed").await;
    assert_eq!(socket.history().await, names(47..50));
    lab.append("s", &[line(50)]);
    assert_eq!(socket.uuids(1).await, ["u50"]);
}

#[tokio::test]
async fn unlisted_lines_never_leave_and_leave_no_hole() {
    let lab = Lab::new();
    let secret = |kind: &str, uuid: &str, parent: &str| {
        json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "secret": "s3cr3t" }).to_string()
    };
    lab.append("s", &[line(0), secret("attachment", "a", "u0"), secret("api-request-blob", "b", "a")]);
    lab.append("s", &[json!({ "type": "user", "uuid": "u1", "parentUuid": "b", "message": {} }).to_string()]);
    let mut socket = lab.subscribe("s", "").await;
    let mut seen = vec![socket.next().await.unwrap()];
    while seen.last().unwrap()["type"] != "caught_up" {
        seen.push(socket.next().await.unwrap());
    }
    lab.append("s", &[secret("mode", "c", "u1"), line(2)]);
    seen.push(socket.frame("user").await);
    assert!(!json!(seen).to_string().contains("s3cr3t"));
    let messages: Vec<_> = seen.iter().filter(|frame| frame["type"] == "user").collect();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[1]["parentUuid"], "u0");
    let (_, page) = lab.get("/api/claude/sessions/s/messages").await;
    assert!(!page.to_string().contains("s3cr3t"));
}

#[tokio::test]
async fn only_listed_lines_of_a_real_transcript_leave_and_they_stay_one_tree() {
    const SHOWN: [&str; 6] = ["user", "assistant", "system", "progress", "queue-operation", "summary"];
    let lab = Lab::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sessions/fixtures");
    for name in ["terminal", "forked", "cleared", "headless"] {
        let text = fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
        let mut lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_shown = |line: &Json| SHOWN.contains(&line["type"].as_str().unwrap());
        // A prompt typed while Claude worked is an attachment, of which only the prompt is sent.
        let is_prompt = |line: &Json| line["attachment"]["humanTurn"] == true;
        let sent = lines.iter().filter(|line| is_shown(line) || is_prompt(line));
        let shown: Vec<_> = sent.map(|line| line["uuid"].clone()).collect();
        // Their contents were removed from the fixtures; this stands in for them.
        lines.iter_mut().filter(|line| !is_shown(line)).for_each(|line| line["secret"] = json!("s3cr3t"));
        assert!(lines.iter().any(|line| line["type"].as_str().unwrap().starts_with("api-request")), "{name}");
        lab.append(name, &lines.iter().map(Json::to_string).collect::<Vec<_>>());
        let mut socket = lab.subscribe(name, "").await;
        let mut sent = Vec::new();
        loop {
            let frame = socket.next().await.unwrap();
            match frame["type"].as_str().unwrap() {
                "caught_up" => break,
                "state" | "typing" => {}
                _ => sent.push(frame),
            }
        }
        assert_eq!(sent.iter().map(|line| line["uuid"].clone()).collect::<Vec<_>>(), shown, "{name}");
        let text = json!(sent).to_string();
        assert!(
            !text.contains("s3cr3t") && !text.contains("api-request") && !text.contains("\"attachment\""),
            "{name}"
        );
        let known: HashSet<_> = sent.iter().filter_map(|line| line["uuid"].as_str()).collect();
        for line in sent.iter().filter(|line| line["parentUuid"].is_string()) {
            assert!(known.contains(line["parentUuid"].as_str().unwrap()), "{name}: no hole above {}", line["uuid"]);
        }
    }
}

#[tokio::test]
async fn a_replaced_file_continues_after_the_lines_sent() {
    let lab = Lab::new();
    lab.append("s", &lines(0..5));
    let mut socket = lab.subscribe("s", "").await;
    assert_eq!(socket.history().await, names(0..5));
    lab.append("other", &lines(2..8));
    fs::rename(lab.transcript("other"), lab.transcript("s")).unwrap();
    assert_eq!(socket.uuids(3).await, names(5..8), "each once, though the file is another one");
    lab.append("other", &lines(20..22));
    fs::rename(lab.transcript("other"), lab.transcript("s")).unwrap();
    socket.frame("reset").await;
    assert_eq!(socket.uuids(2).await, names(20..22));
}

#[tokio::test]
async fn goes_along_with_the_process_over_clear() {
    let lab = Lab::new();
    lab.append("s", &lines(0..3));
    lab.run("s", "idle").await;
    let mut socket = lab.subscribe("s", "").await;
    socket.history().await;
    lab.append("s", &lines(3..4));
    lab.record("t", "idle", "");
    let moved = loop {
        let frame = socket.next().await.unwrap();
        if frame["type"] == "session" {
            break frame;
        }
    };
    assert_eq!(moved, json!({ "type": "session", "sessionId": "t", "previous": "s" }));
    lab.append("t", &lines(7..9));
    assert_eq!(socket.uuids(2).await, names(7..9));
    lab.record("t", "busy", "");
    let state = socket.frame("state").await;
    assert_eq!(state["state"], "working", "of the session it is now");
}

#[tokio::test]
async fn sends_the_state_of_the_session() {
    let lab = Lab::new();
    lab.append("s", &lines(0..1));
    let mut socket = lab.subscribe("s", "").await;
    assert_eq!(
        socket.frame("state").await,
        json!({ "type": "state", "state": "gone", "waitingFor": null, "canWrite": false })
    );
    lab.record("s", "busy", "");
    assert_eq!(socket.frame("state").await["state"], "working");
    assert_eq!(socket.frame("typing").await["isTyping"], true);
    lab.record("s", "waiting", r#","waitingFor":"permission prompt""#);
    assert_eq!(
        socket.frame("state").await,
        json!({ "type": "state", "state": "waiting", "waitingFor": "permission", "canWrite": false })
    );
    assert_eq!(socket.frame("typing").await["isTyping"], false);
}

#[tokio::test]
async fn lists_sessions_with_their_states() {
    let lab = Lab::new();
    lab.append("s", &lines(0..2));
    let folder = lab.transcript("t").parent().unwrap().with_file_name("-q");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("t.jsonl"), line(0).replace("/p", "/q") + "\n").unwrap();
    lab.record("s", "waiting", r#","waitingFor":"input needed""#);
    let deadline = Instant::now() + LONG;
    let listed = loop {
        let (status, list) = lab.get("/api/claude/sessions").await;
        assert_eq!(status, 200);
        let listed = list["sessions"].as_array().unwrap().iter().find(|one| one["id"] == "s").unwrap().clone();
        if listed["state"] == "waiting" {
            break listed;
        }
        assert!(Instant::now() < deadline, "{listed}");
    };
    assert_eq!((&listed["waitingFor"], &listed["cwd"]), (&json!("input"), &json!("/p")));
    assert_eq!(listed["title"], "prompt 0");
    let (_, list) = lab.get("/api/claude/sessions?project=%2Fq").await;
    let ids: Vec<_> = list["sessions"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["t"]);
    let (status, one) = lab.get("/api/claude/sessions/s").await;
    assert_eq!((status, &one["id"], &one["state"]), (200, &json!("s"), &json!("waiting")));
}

#[tokio::test]
async fn pages_of_messages_lead_back_to_the_first_one() {
    let lab = Lab::new();
    lab.append("s", &lines(0..120));
    lab.append("s", &[r#"{"type":"queue-operation","operation":"dequeue"}"#.to_owned()]);
    lab.append("s", &lines(120..125));
    let (mut seen, mut before) = (Vec::<Json>::new(), String::new());
    loop {
        let (status, page) = lab.get(&format!("/api/claude/sessions/s/messages?limit=7{before}")).await;
        assert_eq!(status, 200);
        let messages = page["messages"].as_array().unwrap();
        assert!((1..=9).contains(&messages.len()));
        seen.splice(0..0, messages.iter().cloned());
        if page["hasMore"] == false {
            break;
        }
        before = format!("&before={}", messages[0]["uuid"].as_str().unwrap());
    }
    let uuids: Vec<_> = seen.iter().filter_map(|line| line["uuid"].as_str().map(str::to_owned)).collect();
    assert_eq!(uuids, names(0..125));
    assert_eq!(seen.len(), 126, "what has no name comes once, too");
    let (status, body) = lab.get("/api/claude/sessions/s/messages?before=nobody").await;
    assert_eq!((status, body), (404, json!({ "error": "Message not found" })));
}

#[tokio::test]
async fn over_two_hundred_drops_no_line_is_lost_or_repeated() {
    let lab = Lab::new();
    lab.append("s", &lines(0..20));
    let (mut seen, mut written) = (Vec::<String>::new(), 20);
    for drop_number in 0..200_usize {
        let query = seen.last().map(|last| format!("?fromUuid={last}")).unwrap_or_default();
        let mut socket = lab.subscribe("s", &query).await;
        let more = drop_number % 4;
        lab.append("s", &lines(written..written + more));
        written += more;
        // Reads some existing and new lines, then drops.
        let some = (written - seen.len()).min(1 + drop_number % 5);
        seen.extend(socket.uuids(some).await);
    }
    let query = format!("?fromUuid={}", seen.last().unwrap());
    let mut socket = lab.subscribe("s", &query).await;
    seen.extend(socket.uuids(written - seen.len()).await);
    assert_eq!(seen, names(0..written));
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), written);
}

#[tokio::test]
async fn a_line_larger_than_a_frame_arrives_whole() {
    let lab = Lab::new();
    let big = json!({ "type": "user", "uuid": "big", "message": { "content": "x".repeat(3 * 1024 * 1024) } });
    lab.append("s", &[line(0), big.to_string(), line(2)]);
    let mut socket = lab.subscribe("s", "").await;
    assert_eq!(socket.next().await.unwrap()["type"], "state");
    assert_eq!(socket.next().await.unwrap()["uuid"], "u0");
    assert_eq!(socket.next().await.unwrap(), big);
    assert_eq!(socket.uuids(1).await, ["u2"]);
}

#[tokio::test]
async fn a_subagent_in_a_file_of_its_own_is_listed_and_read_as_it_is_written() {
    let lab = Lab::new();
    lab.append("s", &lines(0..2));
    let folder = lab.transcript("s").with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("agent-a1.meta.json"), r#"{"agentType":"Explore","toolUseId":"t1","description":"Look"}"#)
        .unwrap();
    let secret = json!({ "type": "attachment", "uuid": "x", "secret": "s3cr3t" }).to_string();
    let write = |lines: &[String]| {
        use std::io::Write as _;
        let mut file = fs::File::options().append(true).create(true).open(folder.join("agent-a1.jsonl")).unwrap();
        lines.iter().for_each(|line| file.write_all(format!("{line}\n").as_bytes()).unwrap());
    };
    write(&[line(10), secret, line(11)]);
    let (status, listed) = lab.get("/api/claude/sessions/s/agents").await;
    assert_eq!(status, 200);
    assert_eq!((&listed["agents"][0]["id"], &listed["agents"][0]["toolUseId"]), (&json!("a1"), &json!("t1")));
    assert!(!listed.to_string().contains("jsonl"), "no file is named");
    let mut socket = lab.subscribe("s/agents/a1", "").await;
    let history = socket.history().await;
    assert_eq!(history, names(10..12), "and nothing that is not let out");
    write(&lines(12..13));
    assert_eq!(socket.uuids(1).await, names(12..13));
    for path in ["s/agents/a2", "s/agents/..%2F..%2Fs", "s/agents/", "other/agents/a1", "other/agents"] {
        let (status, body) = lab.get(&format!("/api/claude/sessions/{path}")).await;
        assert_eq!((status, body), (404, json!({ "error": "Session not found" })), "{path}");
        let refused = lab.knock(&format!("/api/claude/sessions/{path}/subscribe"), &[&lab.host(), &lab.bearer()]).await;
        assert_eq!(refused.err(), Some(404), "{path}");
    }
}
