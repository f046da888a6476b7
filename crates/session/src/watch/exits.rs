//! Reports the end of processes: a CLI that is killed leaves its record unchanged.
//!
//! Linux reports it through a descriptor of the process (`pidfd_open`, Linux 5.3). Elsewhere the watcher has to poll.

use std::sync::Arc;

use super::inbox::Inbox;

/// Wakes an inbox when a watched process ends.
#[derive(Debug)]
pub(super) struct Exits(Option<system::Exits>);

impl Exits {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Self(system::Exits::start(inbox))
    }

    /// Watches these processes instead of the previous ones. Returns whether the end of all will be reported.
    pub(super) fn watch(&mut self, pids: &[u32]) -> bool {
        match &mut self.0 {
            Some(exits) => exits.watch(pids),
            None => pids.is_empty(),
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::{BTreeMap, BTreeSet};
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
    use std::thread::JoinHandle;

    use claude_ide_system::process;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    use super::Inbox;

    #[derive(Debug, Default)]
    struct Watched {
        processes: BTreeMap<u32, Arc<OwnedFd>>,
        /// Ended, but perhaps still zombies, which their parents have not reaped.
        ended: BTreeSet<u32>,
        over: bool,
    }

    #[derive(Debug)]
    pub(super) struct Exits {
        watched: Arc<Mutex<Watched>>,
        wake: UnixStream,
        inbox: Arc<Inbox>,
        /// Started by the first process to watch.
        thread: Option<JoinHandle<()>>,
        waiting: Option<UnixStream>,
    }

    fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
        watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Exits {
        pub(super) fn start(inbox: Arc<Inbox>) -> Option<Self> {
            let (wake, waiting) = UnixStream::pair().ok()?;
            Some(Self { watched: Arc::default(), wake, inbox, thread: None, waiting: Some(waiting) })
        }

        pub(super) fn watch(&mut self, pids: &[u32]) -> bool {
            let (mut all, mut changed) = (true, false);
            let mut watched = lock(&self.watched);
            let before = watched.processes.len();
            watched.processes.retain(|pid, _| pids.contains(pid));
            watched.ended.retain(|pid| pids.contains(pid));
            changed |= watched.processes.len() != before;
            for pid in pids {
                if watched.processes.contains_key(pid) {
                    continue;
                }
                let id = process::pid(*pid).filter(|_| !watched.ended.contains(pid));
                match id.map(|id| pidfd_open(id, PidfdFlags::empty())) {
                    Some(Ok(process)) => {
                        watched.processes.insert(*pid, Arc::new(process));
                        changed = true;
                    }
                    Some(Err(_)) | None => all = false,
                }
            }
            drop(watched);
            if changed {
                all &= self.ensure_thread();
                self.wake.write_all(&[1]).ok();
            }
            all
        }

        fn ensure_thread(&mut self) -> bool {
            if let Some(waiting) = self.waiting.take() {
                let (watched, inbox) = (Arc::clone(&self.watched), Arc::clone(&self.inbox));
                let thread = std::thread::Builder::new().name("claude-ide-exits".into());
                self.thread = thread.spawn(move || run(&watched, waiting, &inbox)).ok();
            }
            self.thread.is_some()
        }
    }

    impl Drop for Exits {
        fn drop(&mut self) {
            lock(&self.watched).over = true;
            self.wake.write_all(&[1]).ok();
            if let Some(thread) = self.thread.take() {
                thread.join().ok();
            }
        }
    }

    fn run(watched: &Mutex<Watched>, mut waiting: UnixStream, inbox: &Inbox) {
        waiting.set_nonblocking(true).ok();
        loop {
            let processes: Vec<_> = {
                let watched = lock(watched);
                if watched.over {
                    return;
                }
                watched.processes.iter().map(|(pid, process)| (*pid, Arc::clone(process))).collect()
            };
            let wake = std::iter::once(PollFd::new(&waiting, PollFlags::IN));
            let mut all: Vec<_> =
                wake.chain(processes.iter().map(|(_, process)| PollFd::new(&**process, PollFlags::IN))).collect();
            match poll(&mut all, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::warn!(%error, "the ends of processes are no longer reported");
                    return;
                }
            }
            let ended: Vec<_> = all.iter().skip(1).map(|process| !process.revents().is_empty()).collect();
            drop(all);
            while waiting.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
            let ended: Vec<_> =
                processes.iter().zip(ended).filter(|(_, ended)| *ended).map(|((pid, _), _)| *pid).collect();
            if !ended.is_empty() {
                let mut watched = lock(watched);
                watched.processes.retain(|pid, _| !ended.contains(pid));
                watched.ended.extend(ended);
                drop(watched);
                inbox.process_ended();
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::sync::Arc;

    use super::Inbox;

    #[derive(Debug)]
    pub(super) enum Exits {}

    impl Exits {
        pub(super) fn start(_: Arc<Inbox>) -> Option<Self> {
            None
        }

        pub(super) fn watch(&mut self, _: &[u32]) -> bool {
            match *self {}
        }
    }
}
