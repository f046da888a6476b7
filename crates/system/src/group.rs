//! Groups of processes that end as a whole: when they are told to, and when this process ends, however it does.
//!
//! A keeper, a shell that waits for the end of a pipe, asks the group to end (SIGTERM) and ends what does not within
//! three seconds (SIGKILL). It does so whether the pipe was closed here or with this process. What leaves the group by itself
//! (`setsid`) is not followed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;

/// The number of a group stays its own while a process is in it, and is not given away again within the tenth of a second
/// that passes between two looks.
const KEEPER: &str = "read -r _; kill -TERM -$1 2>/dev/null || exit 0; n=0; \
    while [ $n -lt 30 ] && kill -0 -$1 2>/dev/null; do sleep 0.1; n=$((n+1)); done; kill -KILL -$1 2>/dev/null";

/// Ends its group when it is dropped.
#[derive(Debug)]
pub struct Keeper(Option<Child>);

impl Keeper {
    /// Of the group that this process leads. What the calling thread blocks of signals, the keeper does, too.
    ///
    /// # Errors
    /// That no process can be started, or that no process of a user leads a group of this number.
    pub fn of(leader: u32) -> io::Result<Self> {
        // To the system `-0` and `-1` mean others.
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

    /// The number of the keeper itself.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(mut keeper) = self.0.take() else { return };
        drop(keeper.stdin.take());
        // Without a thread nobody asks how it ended, and it ends its group all the same.
        let _: io::Result<_> = thread::Builder::new().name("claude-ide-keeper".to_owned()).spawn(move || keeper.wait());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::process::{exists, start_of};

    /// A group whose members ignore what may be ignored: its leader, and another one's number.
    fn stubborn() -> (Child, u32) {
        let script = "trap '' TERM HUP; sleep 1000 & echo $!; wait; wait";
        let mut leader =
            Command::new("/bin/sh").args(["-c", script]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let other = line.trim().parse().unwrap();
        (leader, other)
    }

    /// One that ended and was not asked how has no start; where the system does not show it, its parent asks soon.
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
    fn what_ignores_that_it_is_asked_to_end_is_ended_also_without_its_leader() {
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
    fn nobody_keeps_what_is_no_group() {
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
