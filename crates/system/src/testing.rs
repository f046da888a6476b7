//! Helpers for the tests of this crate and its users.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "only tests use it, and they may fail loudly"
)]

use std::env;
use std::process::{self, Command};

const INSIDE: &str = "CLAUDE_IDE_TEST_INSIDE";

/// Runs a test's body in a process that SIGPIPE kills, as it kills an exiting Neovim; Rust's test programs ignore the
/// signal. `test` is the full name of the calling test, which the process runs alone.
pub fn where_sigpipe_ends(test: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        // SAFETY: the default disposition runs no handler.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        body();
        // Skips the harness's output.
        process::exit(0);
    }
    let this = env::current_exe().expect("this program has a path");
    let inside = Command::new(this).args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output();
    let output = inside.expect("it can be run again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("running 1 test"), "there is no test {test}: {said}");
}
