//! Whether the process behind a session record still runs.

use claude_ide_system::process::{exists, start_of};
use serde::Serialize;

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It does not.
    Dead,
    /// Unknown: it runs on another machine, or in another container that shares the folder.
    Unknown,
}

/// The process named in a session record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessMark<'a> {
    pub(crate) pid: u32,
    /// The process's start time in the system's unit; on Linux field 22 of `/proc/<pid>/stat` (measured).
    pub(crate) start: Option<&'a str>,
    /// `linux:<machine id>:pid:[<namespace>]` (measured).
    pub(crate) domain: Option<&'a str>,
}

/// Whether the marked process runs, and not a later one with the same id.
pub(crate) fn liveness(mark: ProcessMark<'_>) -> Liveness {
    if mark.domain.is_some_and(is_elsewhere) {
        return Liveness::Unknown;
    }
    if !exists(mark.pid) {
        return Liveness::Dead;
    }
    // A different start time belongs to a later process with the same id.
    match mark.start.zip(start_of(mark.pid)) {
        Some((recorded, actual)) if recorded != actual => Liveness::Dead,
        Some(_) | None => Liveness::Alive,
    }
}

/// Whether a domain names another machine or another process namespace.
fn is_elsewhere(domain: &str) -> bool {
    let Some(rest) = domain.strip_prefix("linux:") else { return false };
    let Some((machine, namespace)) = rest.split_once(':') else { return false };
    let differs = |file: Option<String>, theirs: &str| file.is_some_and(|ours| ours.trim() != theirs);
    let our_namespace = std::fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned());
    differs(std::fs::read_to_string("/etc/machine-id").ok(), machine) || differs(our_namespace, namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(pid: u32) -> ProcessMark<'static> {
        ProcessMark { pid, start: None, domain: None }
    }

    #[test]
    fn this_process_is_alive_and_an_impossible_one_is_dead() {
        assert_eq!(liveness(mark(std::process::id())), Liveness::Alive);
        assert_eq!(liveness(mark(u32::MAX)), Liveness::Dead);
        assert_eq!(liveness(mark(0)), Liveness::Dead);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_number_that_was_given_out_again_is_dead() {
        let pid = std::process::id();
        let start = start_of(pid).unwrap();
        assert_eq!(liveness(ProcessMark { start: Some(&start), ..mark(pid) }), Liveness::Alive);
        assert_eq!(liveness(ProcessMark { start: Some("1"), ..mark(pid) }), Liveness::Dead);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_of_another_container_is_unknown() {
        let domain = Some("linux:0123456789abcdef0123456789abcdef:pid:[1]");
        assert_eq!(liveness(ProcessMark { domain, ..mark(std::process::id()) }), Liveness::Unknown);
    }
}
