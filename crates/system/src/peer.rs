//! Finds the process at the other end of a local connection, and its ancestors. Works on Linux, for processes that this
//! user may inspect; otherwise the result is `None`.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::process::start_of;

/// At most this many ancestors are returned.
const MAX_ANCESTORS: usize = 64;

/// A process; the start time tells it from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its start time, in the system's unit.
    started: u64,
}

impl Process {
    /// The process that has this id now.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: start_of(pid)?.parse().ok()? })
    }

    /// Whether it has not ended.
    #[must_use]
    pub fn runs(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

/// Whether this system shows the process behind a connection.
#[must_use]
pub fn is_known() -> bool {
    cfg!(target_os = "linux") && Path::new("/proc/self/fd").exists()
}

/// The process at the other end of a connection between `local` (this end) and `peer`. Until it executes a program, a
/// child shares its parent's sockets; the connection then belongs to the parent.
#[must_use]
pub fn of_connection(local: SocketAddr, peer: SocketAddr) -> Option<Process> {
    let target = PathBuf::from(format!("socket:[{}]", socket(local, peer)?));
    let mut pids: Vec<u32> = fs::read_dir("/proc").ok()?.filter_map(|entry| number(&entry.ok()?.path())).collect();
    // The newest are the likeliest.
    pids.sort_unstable_by(|one, other| other.cmp(one));
    let holds = |pid: &u32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
        descriptors.is_ok_and(|mut all| {
            all.any(|one| one.is_ok_and(|one| fs::read_link(one.path()).is_ok_and(|link| link == target)))
        })
    };
    let newest = pids.into_iter().find(holds)?;
    let above = std::iter::successors(Some(newest), |pid| parent(*pid).filter(holds));
    above.take(MAX_ANCESTORS).last().and_then(Process::of)
}

/// A process's ancestors, its parent first.
#[must_use]
pub fn ancestors(pid: u32) -> Vec<Process> {
    let parents = std::iter::successors(parent(pid), |pid| parent(*pid));
    parents.take(MAX_ANCESTORS).map_while(Process::of).collect()
}

/// Binds a secret to the program that it was made for.
///
/// Invariant: the first process to present the secret owns it. Its children (the commands of a model) cannot use it,
/// nor can processes outside its tree that read it somewhere.
#[derive(Debug, Default)]
pub struct Owner(Mutex<Owners>);

#[derive(Debug, Default)]
enum Owners {
    #[default]
    Nobody,
    /// The system does not show processes.
    Unknown,
    These(Vec<Process>),
}

impl Owner {
    fn lock(&self) -> MutexGuard<'_, Owners> {
        // A panic cannot leave this state half-changed, so a poisoned lock is fine.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process presented the secret.
    #[must_use]
    pub fn of(process: Process) -> Self {
        Self(Mutex::new(Owners::These(vec![process])))
    }

    /// The first process that presented the secret.
    pub fn process(&self) -> Option<Process> {
        self.processes().first().copied()
    }

    /// The processes that may use the secret, in the order in which they presented it.
    pub fn processes(&self) -> Vec<Process> {
        match &*self.lock() {
            Owners::These(these) => these.clone(),
            Owners::Nobody | Owners::Unknown => Vec::new(),
        }
    }

    /// Whether a process that presents the secret may use it. A program may start another process of its own for each
    /// session: that one descends from this process, and not from one that has used the secret.
    pub fn admits(&self, process: Option<Process>) -> bool {
        let mut owners = self.lock();
        match (&mut *owners, process) {
            (Owners::Nobody, None) => *owners = Owners::Unknown,
            (Owners::Nobody, Some(process)) => *owners = Owners::These(vec![process]),
            (Owners::Unknown, _) => {}
            (Owners::These(_), None) => return false,
            (Owners::These(these), Some(process)) => {
                if !these.contains(&process) {
                    let above = ancestors(process.pid);
                    let is_ours = above.iter().any(|one| one.pid == process::id());
                    if !is_ours || above.iter().any(|one| these.contains(one)) {
                        return false;
                    }
                    these.push(process);
                }
            }
        }
        true
    }
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything. The state is field 3, the parent field 4.
    let parent = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (parent != 0).then_some(parent)
}

fn number(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.parse().ok()
}

/// The inode of the peer's socket. An IPv6 socket may have an IPv4 connection.
fn socket(local: SocketAddr, peer: SocketAddr) -> Option<String> {
    let find = |table, local, peer| Some(inode(&fs::read_to_string(table).ok()?, peer, local)?.to_owned());
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (local, peer) = (canonical(local), canonical(peer));
    find("/proc/net/tcp", local, peer).or_else(|| find("/proc/net/tcp6", mapped(local), mapped(peer)))
}

/// The address as an IPv6 socket has it.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        SocketAddr::V6(_) => address,
    }
}

/// The inode of the socket bound to `own` and connected to `other`.
fn inode(table: &str, own: SocketAddr, other: SocketAddr) -> Option<&str> {
    let (own, other) = (hex(own), hex(other));
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let found = fields.next()? == own && fields.next()? == other;
        // After the addresses: state, queues, timer, retransmits, user, timeout, inode.
        found.then(|| fields.nth(6)).flatten().filter(|inode| *inode != "0")
    })
}

/// An address as the table spells it: each four bytes as a number in this machine's byte order.
fn hex(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let (words, _) = octets.as_chunks::<4>();
    let words: String = words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect();
    format!("{words}:{:04X}", address.port())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_other_end_is_found_by_both_kinds_of_address() {
        for host in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let found = of_connection(server.local_addr().unwrap(), peer);
            assert_eq!(found, Process::of(std::process::id()), "{host}");
            drop(client);
        }
    }

    #[test]
    fn the_other_end_is_found_if_only_it_is_an_ipv6_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(format!("[::ffff:127.0.0.1]:{port}"));
        let Ok(client) = client else { return }; // no IPv6 here
        let (server, peer) = listener.accept().unwrap();
        assert_eq!(of_connection(server.local_addr().unwrap(), peer), Process::of(std::process::id()));
        drop(client);
    }

    #[test]
    fn a_connection_is_of_the_process_that_opened_it_and_not_of_one_that_inherited_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let inherited = std::os::fd::OwnedFd::from(client.try_clone().unwrap());
        let mut child = Command::new("sleep").arg("60").stdin(inherited).spawn().unwrap();
        let found = of_connection(server.local_addr().unwrap(), peer);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, Process::of(std::process::id()));
        drop(client);
    }

    #[test]
    fn a_process_descends_from_what_started_it() {
        let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        assert_eq!(ancestors(child.id()).first().copied(), Process::of(std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_address_is_written_as_the_table_has_it() {
        if cfg!(target_endian = "little") {
            assert_eq!(hex("127.0.0.1:8080".parse().unwrap()), "0100007F:1F90");
            assert_eq!(hex("[::1]:80".parse().unwrap()), "00000000000000000000000001000000:0050");
        }
    }
}
