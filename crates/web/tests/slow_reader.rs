//! Readers that accept nothing cost little memory and delay no other reader. In its own program, whose memory is
//! counted.
#![allow(
    unsafe_code,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod lab;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lab::{Lab, names};
use serde_json::json;

/// Allocated bytes.
static HELD: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[tokio::test]
async fn stalled_readers_are_bounded_and_slow_no_other() {
    const LINES: usize = 6000;
    const READERS: usize = 8;
    const MOST: usize = 4 * 1024 * 1024;
    let lab = Lab::new();
    let line = |number: usize| {
        json!({ "type": "user", "uuid": format!("u{number}"), "message": { "content": "x".repeat(10_000) } })
            .to_string()
    };
    // Also one line that is larger than a reader's limit.
    let large = json!({ "type": "user", "uuid": "u0", "message": { "content": "x".repeat(MOST) } }).to_string();
    lab.append("s", &[large]);
    for from in (1..LINES).step_by(500) {
        lab.append("s", &(from..LINES.min(from + 500)).map(line).collect::<Vec<_>>());
    }
    lab.subscribe("s", "?last=1").await.history().await;
    let before = HELD.load(Relaxed);
    let mut slow = Vec::new();
    for _ in 0..READERS {
        slow.push(lab.subscribe("s", "").await);
    }
    let mut quick = lab.subscribe("s", "?last=5000").await;
    assert_eq!(quick.history().await.len(), 5000);
    let bytes = HELD.load(Relaxed).saturating_sub(before);
    assert!(bytes <= READERS * MOST, "{READERS} readers hold {bytes} bytes");
    assert_eq!(slow[3].history().await, names(0..LINES), "who was slow misses nothing");
}
