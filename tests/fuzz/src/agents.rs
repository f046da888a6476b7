//! Lines of agents, and what a user wants between them: a line that begins with "> " is a command.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use claude_ide_agent::{Backend, Output, acp::Acp, stream_json::StreamJson};
use claude_ide_protocol::jsonrpc::{Incoming, Malformed, is_batch, parse_with_null_ids};
use serde_json::{Value, json};

/// What the backend has written: each line one message. Events are whole, too.
fn tell(backend: &mut impl Backend, bytes: &[u8]) -> Vec<Value> {
    let mut out = Output::default();
    backend.begin(&mut out);
    for line in bytes.split(|byte| *byte == b'\n') {
        match line.strip_prefix(b"> ").and_then(|command| serde_json::from_slice(command).ok()) {
            Some(command) => backend.command(command, &mut out),
            None => backend.line(line, &mut out),
        }
    }
    for _ in 0..3 {
        if backend.deadline().is_some() {
            backend.overdue(Instant::now() + Duration::from_secs(3600), &mut out);
        }
    }
    for event in &out.events {
        serde_json::to_value(event).unwrap();
    }
    let parse = |line: &Vec<u8>| {
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1), "one line each");
        serde_json::from_slice(line).unwrap()
    };
    out.lines.iter().map(parse).collect()
}

/// No question is answered twice.
pub(crate) fn stream_json(bytes: &[u8]) {
    let asked = bytes.windows(10).filter(|part| *part == b"request_id").count();
    let answers = tell(&mut StreamJson::new(), bytes);
    assert!(answers.iter().filter(|line| line["type"] == "control_response").count() <= asked);
}

/// No request is answered twice.
pub(crate) fn acp(bytes: &[u8]) {
    let options = json!({"key": "robot", "name": "Robot", "cwd": "/p", "patience_ms": 20000, "version": "1"});
    let written = tell(&mut Acp::new(serde_json::from_value(options).unwrap()), bytes);
    let mut open: BTreeMap<String, i64> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if is_batch(&text) {
            return;
        }
        if let Ok(Incoming::Request { id, .. }) | Err(Malformed { id: Some(id), .. }) = parse_with_null_ids(&text) {
            *open.entry(serde_json::from_str::<Value>(id.as_json()).unwrap_or_default().to_string()).or_default() += 1;
        }
    }
    for answer in written.iter().filter(|line| line.get("method").is_none() && !line["id"].is_null()) {
        let left = open.entry(answer["id"].to_string()).or_default();
        *left -= 1;
        assert!(*left >= 0, "answered too often: {answer}");
    }
}
