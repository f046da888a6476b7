//! Process groups that end as a whole: on request, and when this process ends, in whatever way.
//!
//! A keeper, a shell that waits for the end of a pipe, sends SIGTERM to the group, and after three seconds SIGKILL. The
//! pipe closes on request, and with this process. A process that leaves the group (`setsid`) is not followed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;

/// A group's number stays its own while a process is in it, and is not reused within the tenth of a second between two
/// checks.
const KEEPER: &str = "read -r _; kill -TERM -$1 2>/dev/null || exit 0; n=0; \
    while [ $n -lt 30 ] && kill -0 -$1 2>/dev/null; do sleep 0.1; n=$((n+1)); done; kill -KILL -$1 2>/dev/null";

/// Ends its group when it is dropped.
#[derive(Debug)]
pub struct Keeper(Option<Child>);

impl Keeper {
    /// Keeps the group that this process leads. The keeper inherits the calling thread's signal mask.
    ///
    /// # Errors
    /// No process could be started, or no process group of the user has this number.
    pub fn of(leader: u32) -> io::Result<Self> {
        // `kill` gives `-0` and `-1` other meanings.
        if leader <= 1 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let keeper = Command::new("/bin/sh")
            .args(["-c", KEEPER, "claude-ide-keeper", &leader.to_string()])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self(Some(keeper)))
    }

    /// The keeper's process id.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(mut keeper) = self.0.take() else { return };
        drop(keeper.stdin.take());
        // Without a thread it is not reaped, but it still ends its group.
        let _: io::Result<_> = thread::Builder::new().name("claude-ide-keeper".to_owned()).spawn(move || keeper.wait());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::process::{exists, start_of};

    /// A group that ignores SIGTERM and SIGHUP: its leader, and the id of another member.
    fn stubborn() -> (Child, u32) {
        let script = "trap '' TERM HUP; sleep 1000 & echo $!; wait; wait";
        let mut leader =
            Command::new("/bin/sh").args(["-c", script]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let other = line.trim().parse().unwrap();
        (leader, other)
    }

    /// A zombie has an empty start time; where the system does not show it, its parent reaps it soon.
    fn runs(number: u32) -> bool {
        exists(number) && start_of(number).is_none_or(|start| !start.is_empty())
    }

    fn wait_for_end(number: u32) {
        let begun = Instant::now();
        while runs(number) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{number} runs");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_group_that_ignores_the_request_to_end_is_killed_also_without_its_leader() {
        let (mut leader, other) = stubborn();
        let keeper = Keeper::of(leader.id()).unwrap();
        leader.kill().unwrap();
        leader.wait().unwrap();
        assert!(runs(other));
        let number = keeper.id().unwrap();
        drop(keeper);
        wait_for_end(other);
        wait_for_end(number);
    }

    #[test]
    fn only_a_group_gets_a_keeper() {
        assert!(Keeper::of(0).is_err() && Keeper::of(1).is_err());
    }

    #[test]
    fn a_keeper_that_loses_its_pipe_ends_the_group() {
        let (mut leader, other) = stubborn();
        let keeper = Keeper::of(leader.id()).unwrap();
        drop(keeper);
        wait_for_end(other);
        assert!(!leader.wait().unwrap().success());
    }
}
