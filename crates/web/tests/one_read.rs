//! With any number of readers, a session's file is read once. In its own program, whose reads are counted.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod lab;

use std::fs;

use lab::{Lab, names};
use serde_json::json;

/// Bytes that this program has read from files, not from sockets.
fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[tokio::test]
async fn sixty_four_subscribers_cost_one_read_of_the_file() {
    const LINES: usize = 1500;
    let lab = Lab::new();
    // More than a transcript's cache.
    let line = |number: usize| {
        json!({ "type": "user", "uuid": format!("u{number}"), "message": { "content": "x".repeat(8000) } }).to_string()
    };
    lab.append("s", &(0..LINES).map(line).collect::<Vec<_>>());
    let size = fs::metadata(lab.transcript("s")).unwrap().len();
    let mut sockets = Vec::new();
    let before = bytes_read();
    for _ in 0..64 {
        sockets.push(lab.subscribe("s", "").await);
    }
    let mut readers = tokio::task::JoinSet::new();
    for mut socket in sockets {
        readers.spawn(async move {
            assert_eq!(socket.history().await, names(0..LINES));
            socket
        });
    }
    let mut sockets = readers.join_all().await;
    let read = bytes_read() - before;
    assert!(read < size * 3 / 2, "{read} bytes of a file of {size} were read");

    let before = bytes_read();
    lab.append("s", &[line(LINES)]);
    for socket in &mut sockets {
        assert_eq!(socket.uuids(1).await, names(LINES..LINES + 1));
    }
    let read = bytes_read() - before;
    assert!(read < 64 * 1024, "{read} bytes were read for one line");
}
