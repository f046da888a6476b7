//! Memory does not grow with the number of connections. In its own file, since the whole process is measured.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests may fail loudly")]

use std::{
    fs,
    io::{Read, Write},
};

use claude_ide_server::{
    ServerOptions,
    testing::{TestServer, dial},
};

#[test]
fn a_thousand_connects_and_drops_leave_nothing_behind() {
    let server = TestServer::start(ServerOptions::default());
    let sockets = open_sockets();
    let mut clients = come_and_go(&server, 100);
    let mut grown = || {
        let memory = resident_kib();
        clients += come_and_go(&server, 1000);
        server.editor.wait_disconnected(clients);
        server.wait_status("every socket to be closed", |status| {
            status.clients.is_empty() && status.queued_bytes == 0 && open_sockets() <= sockets
        });
        resident_kib().saturating_sub(memory)
    };
    // A leak occurs each time, rounding to large pages only once.
    let mut kib = vec![grown()];
    while kib.len() < 4 && kib.last().is_some_and(|kib| *kib >= 4096) {
        kib.push(grown());
    }
    assert!(kib.last().is_some_and(|kib| *kib < 4096), "each thousand took more: {kib:?} KiB");
}

/// Connects and drops in every way; returns how many were clients.
fn come_and_go(server: &TestServer, times: usize) -> usize {
    let mut clients = 0;
    for round in 0..times {
        match round % 4 {
            0 => drop(dial(server.port())),
            1 => dial(server.port()).write_all(b"GET / HTTP/1.1\r\n").unwrap(),
            2 => {
                let mut stream = dial(server.port());
                stream.write_all(b"\x16\x03\x01\x02\x00").unwrap();
                let mut refusal = String::new();
                stream.read_to_string(&mut refusal).unwrap();
                assert!(refusal.starts_with("HTTP/1.1 400 "), "{refusal}");
            }
            _ => {
                clients += 1;
                drop(server.client());
            }
        }
        // The number of clients is limited, so they must leave before the next ones.
        server.wait_status("a free place", |status| status.clients.len() < 8);
    }
    clients
}

fn open_sockets() -> usize {
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
