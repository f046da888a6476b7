//! The file `<port>.json`, by which clients that outlive this Neovim find the next one in the same folder.
//!
//! A CLI that lost its editor tries the same port with the same token for 13 s, and reads no discovery file meanwhile.
//! So the next server takes that port if it is free and a client still runs, and admits these processes whatever token
//! they show.
//!
//! Invariants: no token is kept. Between the two Neovims any user may bind the port and receive the old one, which is
//! worth nothing: a client is known by its process, which the system shows only if this user may inspect it.

use std::{
    cmp::Reverse,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    time::SystemTime,
};

use claude_ide_http as http;
use claude_ide_system::process;
use serde::{Deserialize, Serialize};

use super::folder::{is_recent, private_dir, read, remove, write};
use crate::{
    identity::{Identity, Known},
    options::{ServerOptions, Workspace},
};

const EXTENSION: &str = "json";

/// What a server leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Left {
    host: String,
    /// The main workspace folder.
    folder: PathBuf,
    clients: Vec<Known>,
    /// Where these processes are.
    space: String,
}

/// The file of a running server. It outlives it.
#[derive(Debug)]
pub(crate) struct Handover {
    path: Option<PathBuf>,
    host: String,
    identity: Identity,
}

impl Handover {
    pub(crate) fn new(options: &ServerOptions, identity: Identity, port: u16) -> Self {
        let path = options.handover_dir.as_ref().map(|dir| dir.join(format!("{port}.{EXTENSION}")));
        Self { path, host: options.host.clone(), identity }
    }

    /// Waits until the file should be written.
    pub(crate) async fn changed(&self) {
        self.identity.known_changed().await;
    }

    /// Writes the file, or removes it if there is no client to know.
    pub(crate) fn write(&self, workspace: &Workspace) {
        let (Some(path), Some(space)) = (&self.path, process::space_of_this_boot()) else { return };
        let clients = self.identity.known();
        let Some(folder) = workspace.folders.first().filter(|_| !clients.is_empty()) else { return remove(path) };
        let left = Left { host: self.host.clone(), folder: folder.clone(), clients, space };
        if let Err(error) = path.parent().map_or(Ok(()), private_dir).and_then(|()| write(path, &left)) {
            tracing::warn!(path = %path.display(), %error, "could not write the file for the next Neovim");
        }
    }
}

/// The port of an ended server in the same folder, with its clients; the one that was used last. One whose Neovim lives
/// is not free. Removes files without a living client.
pub(crate) fn take(options: &ServerOptions, is_configured: impl Fn(u16) -> bool) -> Option<(TcpListener, Vec<Known>)> {
    let (dir, folder) = (options.handover_dir.as_ref()?, options.workspace.folders.first()?);
    let space = process::space_of_this_boot()?;
    let paths = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let mut all: Vec<_> = paths.filter_map(|path| left_in(&path, &space)).collect();
    all.retain(|(_, port, left)| left.folder == *folder && left.host == options.host && is_configured(*port));
    all.sort_unstable_by_key(|(written, ..)| Reverse(*written));
    all.into_iter().find_map(|(_, port, left)| {
        let listener = http::bind(&options.host, [port]).ok()?;
        tracing::info!(port, clients = ?left.clients, "the port of the last Neovim: its clients may come back");
        Some((listener, left.clients))
    })
}

/// A file with a living client, when it was written, and its port.
fn left_in(path: &Path, space: &str) -> Option<(SystemTime, u16, Left)> {
    let port = path.file_stem()?.to_str()?.parse().ok()?;
    if path.extension()? != EXTENSION {
        return None;
    }
    let left = read::<Left>(path).map(|mut left| {
        left.clients.retain(|client| left.space == space && client.process.runs());
        left
    });
    match left {
        Some(left) if !left.clients.is_empty() => Some((fs::metadata(path).ok()?.modified().ok()?, port, left)),
        Some(left) if left.space != space && is_recent(path) => None,
        Some(_) | None => {
            remove(path);
            None
        }
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::PermissionsExt,
        process::{Child, Command},
    };

    use super::*;
    use claude_ide_system::peer::Process;

    use crate::endpoint_name::{IDE, NVIM};

    /// A client that lives as long as the test.
    struct Living(Child, Process);

    impl Living {
        fn start() -> Self {
            let child = Command::new("sleep").arg("60").spawn().unwrap();
            let process = Process::of(child.id()).unwrap();
            Self(child, process)
        }
    }

    impl Drop for Living {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn options(dir: &Path, folder: &str) -> ServerOptions {
        let workspace = Workspace { folders: vec![folder.into()], ..Workspace::default() };
        ServerOptions { handover_dir: Some(dir.join("handover")), workspace, ..ServerOptions::default() }
    }

    /// A port that is free by now.
    fn port() -> u16 {
        http::bind("127.0.0.1", [0]).unwrap().local_addr().unwrap().port()
    }

    fn at_ide(process: Process) -> Known {
        Known { process, endpoint: IDE.into(), run: None }
    }

    fn leave(options: &ServerOptions, port: u16, clients: &[Process]) -> PathBuf {
        let identity = Identity::generate().unwrap();
        clients.iter().for_each(|client| identity.remember(at_ide(*client)));
        let handover = Handover::new(options, identity, port);
        handover.write(&options.workspace);
        handover.path.unwrap()
    }

    fn taken(options: &ServerOptions) -> Option<(u16, Vec<Process>)> {
        let (listener, clients) = take(options, |_| true)?;
        Some((listener.local_addr().unwrap().port(), clients.into_iter().map(|known| known.process).collect()))
    }

    #[test]
    fn the_next_in_the_folder_takes_the_port_while_a_client_lives() {
        let home = tempfile::tempdir().unwrap();
        let (options, other) = (options(home.path(), "/p"), options(home.path(), "/q"));
        let (port, client) = (port(), Living::start());
        let path = leave(&options, port, &[client.1]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(taken(&other), None);
        assert!(take(&options, |_| false).is_none());
        assert!(take(&ServerOptions { host: "::1".to_owned(), ..options.clone() }, |_| true).is_none());
        assert_eq!(taken(&options), Some((port, vec![client.1])));
        drop(client);
        assert_eq!(taken(&other), None);
        assert!(!path.exists());
    }

    #[test]
    fn a_port_that_is_bound_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let options = options(home.path(), "/p");
        let (listener, client) = (http::bind("127.0.0.1", [0]).unwrap(), Living::start());
        let path = leave(&options, listener.local_addr().unwrap().port(), &[client.1]);
        assert_eq!(taken(&options), None);
        assert!(path.exists());
        let free = port();
        leave(&options, free, &[client.1]);
        assert_eq!(taken(&options), Some((free, vec![client.1])));
    }

    #[test]
    fn without_a_client_that_may_come_back_nothing_is_left() {
        let home = tempfile::tempdir().unwrap();
        let options = options(home.path(), "/p");
        let (port, client) = (port(), Living::start());
        let identity = Identity::generate().unwrap();
        let handover = Handover::new(&options, identity.clone(), port);
        identity.remember(at_ide(client.1));
        handover.write(&options.workspace);
        identity.forget(client.1);
        handover.write(&options.workspace);
        assert_eq!(fs::read_dir(options.handover_dir.as_ref().unwrap()).unwrap().count(), 0);
        assert!(!leave(&options, port, &[]).exists());
    }

    #[test]
    fn a_file_that_says_nothing_is_removed_and_one_of_another_place_when_it_is_old() {
        let home = tempfile::tempdir().unwrap();
        let options = options(home.path(), "/p");
        let (number, client) = (port(), Living::start());
        let path = leave(&options, number, &[client.1]);
        let left = Left { space: "another machine".to_owned(), ..read::<Left>(&path).unwrap() };
        write(&path, &left).unwrap();
        assert_eq!(taken(&options), None);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(taken(&options), None);
        assert!(!path.exists());
        for garbage in ["", "{", r#"{"host":1}"#] {
            fs::write(&path, garbage).unwrap();
            assert_eq!(taken(&options), None);
            assert!(!path.exists());
        }
        let notes = path.with_file_name("notes.json");
        fs::write(&notes, "{").unwrap();
        assert_eq!(taken(&options), None);
        assert!(notes.exists());
    }

    #[test]
    fn each_client_is_admitted_where_it_was_and_as_what_it_was() {
        let (client, other) = (Living::start(), Living::start());
        let at_nvim = Known { process: client.1, endpoint: NVIM.into(), run: Some("terminal:1".into()) };
        let identity = Identity::generate().unwrap();
        assert!(!identity.has_inherited());
        identity.inherit(vec![at_ide(client.1), at_nvim, at_ide(other.1)]);
        let run = |process, endpoint| {
            let access = identity.access_of(process, endpoint)?;
            Some(access.run.map(|run| (run.name.to_string(), run.owner.admits(Some(process)))))
        };
        assert_eq!(run(client.1, IDE), Some(None));
        assert_eq!(run(client.1, NVIM), Some(Some(("terminal:1 of the last Neovim".to_owned(), true))));
        assert_eq!(run(other.1, IDE), Some(None));
        assert_eq!(run(other.1, NVIM), None);
        // Its children may use no token that they read somewhere.
        assert_eq!(identity.processes(), [client.1]);
        // It is left to the next one as what it was.
        let renamed = Known { process: client.1, endpoint: NVIM.into(), run: Some("renamed".into()) };
        identity.remember(renamed);
        assert_eq!(identity.known()[1].run.as_deref(), Some("terminal:1"));
        identity.forget(client.1);
        assert_eq!(identity.known(), [at_ide(other.1)]);
        assert_eq!(run(client.1, NVIM), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_or_read_does_no_harm() {
        let home = tempfile::tempdir().unwrap();
        let options = options(home.path(), "/p");
        fs::write(home.path().join("handover"), "a file").unwrap();
        let client = Living::start();
        assert!(!leave(&options, port(), &[client.1]).exists());
        assert_eq!(taken(&options), None);
    }
}
