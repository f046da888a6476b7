//! An agent's process: started in its own group, waited for, ended with all its children.
//!
//! Invariant: no signal reaches another process with a reused id. Reaping and killing hold one lock, and the keeper
//! ends a group that outlives its leader.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use claude_ide_system::group::Keeper;
use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::Deserialize;

/// The program to run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Program and arguments; no shell is involved.
    pub argv: Vec<String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Environment variables in addition to this process's.
    pub env: BTreeMap<String, String>,
}

pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A process, running or ended.
#[derive(Debug)]
pub(crate) struct Process {
    state: Mutex<State>,
    pid: u32,
}

#[derive(Debug)]
struct State {
    /// `None`: it ended, and its id may be reused.
    child: Option<Child>,
    keeper: Option<Keeper>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl Process {
    /// Starts it. It and its keeper inherit this thread's blocked signals, so there must be none.
    pub(crate) fn start(program: &Program) -> io::Result<(Arc<Self>, Pipes)> {
        let Some((path, args)) = program.argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program to run"));
        };
        let mut child = Command::new(path)
            .args(args)
            .current_dir(&program.cwd)
            .envs(&program.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pid = child.id();
        let keeper = Keeper::of(pid);
        let keeper = keeper.inspect_err(|error| tracing::warn!(%error, "an agent runs without its keeper")).ok();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Arc::new(Self { state: Mutex::new(State { child: Some(child), keeper }), pid });
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((process, Pipes { stdin, stdout, stderr })),
            _ => {
                process.kill();
                Err(io::Error::other("its pipes are missing"))
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// The keeper's process id.
    #[cfg(test)]
    pub(crate) fn keeper(&self) -> Option<u32> {
        self.lock().keeper.as_ref().and_then(Keeper::id)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its end; the rest of its group ends soon after.
    pub(crate) fn wait(&self) -> Exit {
        if let Some(pid) = claude_ide_system::process::pid(self.pid) {
            // Without reaping it: until the lock is held, the id must stay its own.
            while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                if error != rustix::io::Errno::INTR {
                    break;
                }
            }
        }
        let mut state = self.lock();
        let Some(mut child) = state.child.take() else { return Exit::default() };
        // The group may outlive its leader, who must be reaped last: its id would be free.
        signal_group(self.pid, Signal::TERM);
        let status = child.wait();
        drop(state.keeper.take());
        status.map_or_else(|_| Exit::default(), |status| Exit { code: status.code(), signal: status.signal() })
    }

    /// Asks it and its children to end.
    pub(crate) fn terminate(&self) {
        let state = self.lock();
        if state.child.is_some() {
            signal_group(self.pid, Signal::TERM);
        }
    }

    /// Kills it and its children.
    pub(crate) fn kill(&self) {
        let state = self.lock();
        if state.child.is_some() {
            signal_group(self.pid, Signal::KILL);
        }
    }
}

fn signal_group(pid: u32, signal: Signal) {
    if let Some(pid) = claude_ide_system::process::pid(pid) {
        // It may have ended.
        let _: rustix::io::Result<()> = kill_process_group(pid, signal);
    }
}
