//! Looks up processes by their id.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A valid process id.
#[must_use]
pub fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Whether a process has this id: any user's, zombies included.
#[must_use]
pub fn exists(number: u32) -> bool {
    pid(number).is_some_and(|pid| match test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error != Errno::SRCH,
    })
}

/// Where process ids are valid, if the system has several such places: a container has its own.
#[must_use]
pub fn space() -> Option<String> {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", machine.trim(), namespace.display()))
}

/// The like for process ids with start times, which a machine counts from its boot.
#[must_use]
pub fn space_of_this_boot() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{} {}", space()?, boot.trim()))
}

/// A process's start time in the system's unit, if the system shows it; empty for a zombie.
#[must_use]
pub fn start_of(number: u32) -> Option<String> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(number.to_string()).join("stat")).ok()?;
    // The name in parentheses may contain anything. The state is field 3, the start time field 22.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return Some(String::new());
    }
    fields.nth(18).map(str::to_owned)
}

/// Limit of a process's environment.
const MAX_ENVIRONMENT: u64 = 4 * 1024 * 1024;

/// The variables that a process of this user was started with, if the system shows them; those that are text.
#[must_use]
pub fn environment_of(number: u32) -> Option<Vec<(String, String)>> {
    let file = File::open(Path::new("/proc").join(number.to_string()).join("environ")).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_ENVIRONMENT).read_to_end(&mut bytes).ok()?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let variable = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        Some((text(line.get(..at)?)?, text(line.get(at + 1..)?)?))
    };
    // A process that has ended and was not waited for shows none.
    (!bytes.is_empty()).then(|| bytes.split(|byte| *byte == 0).filter_map(variable).collect())
}

/// How many descriptors this process may have; `None`: any number.
#[must_use]
pub fn max_descriptors() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_one_that_may_not_be_signalled_run() {
        assert!(exists(std::process::id()));
        assert!(exists(1));
    }

    #[test]
    fn a_number_that_no_process_can_have_runs_nowhere() {
        assert!(!exists(0));
        assert!(!exists(u32::MAX));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_ended_has_no_start() {
        let own = start_of(std::process::id()).unwrap();
        assert!(own.parse::<u64>().is_ok(), "{own}");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while start_of(child.id()).is_some_and(|start| !start.is_empty()) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(exists(child.id()), "its parent has not asked");
        child.wait().unwrap();
        assert_eq!(start_of(child.id()), None);
    }
}
