//! For tests of this crate and of its users.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "only tests use it, and they may fail loudly"
)]

use std::env;
use std::process::{self, Command};

const INSIDE: &str = "CLAUDE_IDE_TEST_INSIDE";

/// Runs the body of a test in a process of its own, which SIGPIPE ends as it ends a Neovim that exits. The programs of Rust's
/// tests ignore it. `test` is the whole name of the test that calls this: the process runs it alone.
pub fn where_sigpipe_ends(test: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        // SAFETY: the default is no function that could be called at a bad time.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        body();
        // Without what the harness writes then.
        process::exit(0);
    }
    let this = env::current_exe().expect("this program has a path");
    let inside = Command::new(this).args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output();
    let output = inside.expect("it can be run again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("running 1 test"), "there is no test {test}: {said}");
}
