//! An agent's process: started in a group of its own, waited for, ended with all it started.
//!
//! Invariant: no signal is sent to a number that may be another process's: who reaps and who kills hold one lock, and a group
//! that outlives its leader is ended by its keeper.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use claude_ide_system::group::Keeper;
use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::Deserialize;

/// What is run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Program and arguments; no shell looks at them.
    pub argv: Vec<String>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Variables beside those of this process.
    pub env: BTreeMap<String, String>,
}

/// The ends of its pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A process that runs, or ran.
#[derive(Debug)]
pub(crate) struct Process {
    state: Mutex<State>,
    pid: u32,
}

#[derive(Debug)]
struct State {
    /// None: it ended, and its number may be another's.
    child: Option<Child>,
    keeper: Option<Keeper>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Exit {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl Process {
    /// Starts it. What this thread blocks of signals, it and its keeper would block as well: nothing, then.
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

    /// The number of its keeper.
    #[cfg(test)]
    pub(crate) fn keeper(&self) -> Option<u32> {
        self.lock().keeper.as_ref().and_then(Keeper::id)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its end; what is left of its group ends too, soon after.
    pub(crate) fn wait(&self) -> Exit {
        if let Some(pid) = claude_ide_system::process::pid(self.pid) {
            // Without reaping it: until the lock is held, its number stays its own.
            while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                if error != rustix::io::Errno::INTR {
                    break;
                }
            }
        }
        let mut state = self.lock();
        let Some(mut child) = state.child.take() else { return Exit::default() };
        // The group may outlive its leader, who cannot be reaped before: the number would be free.
        signal_group(self.pid, Signal::TERM);
        let status = child.wait();
        drop(state.keeper.take());
        status.map_or_else(|_| Exit::default(), |status| Exit { code: status.code(), signal: status.signal() })
    }

    /// Asks it and all it started to end.
    pub(crate) fn terminate(&self) {
        let state = self.lock();
        if state.child.is_some() {
            signal_group(self.pid, Signal::TERM);
        }
    }

    /// Ends it and all it started.
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
