//! The folder of discovery files: ours, those of other servers, and those of dead processes.

use std::{
    fs::{self, Permissions},
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use claude_ide_protocol::ide::LockFileContents;
use serde::{Serialize, de::DeserializeOwned};

use claude_ide_system::{
    file::{Access, Whole, create_private_folder, read_regular},
    process::{self, exists},
};

pub(super) const EXTENSION: &str = "lock";
/// The ending of a temporary file: `<port>.lock.<pid>.tmp`.
const TEMPORARY: &str = "tmp";
/// Larger than any lock file.
const MAX_BYTES: u64 = 64 << 10;
/// Time for a local port to answer. A refusal comes at once.
const KNOCK_TIME: Duration = Duration::from_millis(50);
/// After this time the file of a server that cannot be reached or seen is removed. A live one writes it again.
pub(super) const FOREIGN_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Removes only the files of this program's dead processes.
pub(super) fn clean_stale(dir: &Path, server_name: &str) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if writer_of_temporary(&path).is_some_and(|pid| !exists(pid)) {
            remove(&path);
        }
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        if read(&path)
            .is_some_and(|contents: LockFileContents| contents.server == server_name && is_dead(&path, &contents))
        {
            tracing::info!(path = %path.display(), "removing the lock file of a dead process");
            remove(&path);
        }
    }
}

/// The other live servers in a lock file's folder, of any user and program: their files and names.
pub(super) fn others(path: &Path) -> Vec<(PathBuf, String)> {
    let entries = path.parent().and_then(|dir| fs::read_dir(dir).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let others = paths.filter(|other| other != path && other.extension().is_some_and(|ending| ending == EXTENSION));
    let live = others.filter_map(|path| read(&path).filter(|contents| !is_dead(&path, contents)).map(|it| (path, it)));
    live.map(|(path, contents)| (path, contents.ide_name)).collect()
}

/// Whether a lock file's server is gone: its process, and its port does not answer. Of a server in another container,
/// which shares the folder with us, we see neither; the user may have closed it if its file is old.
fn is_dead(path: &Path, contents: &LockFileContents) -> bool {
    let port = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
    let is_visible = contents.processes.is_none() || contents.processes == process::space();
    let may_run = if is_visible { contents.pid.is_some_and(exists) } else { is_recent(path) };
    !may_run && port.is_none_or(refuses)
}

/// Whether it is recent enough to be of a live process that cannot be seen.
pub(super) fn is_recent(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| written.elapsed().unwrap_or_default() < FOREIGN_TIME)
}

fn refuses(port: u16) -> bool {
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].into_iter().all(|ip| {
        match TcpStream::connect_timeout(&SocketAddr::new(ip, port), KNOCK_TIME) {
            Ok(_) => false,
            Err(error) => !matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock),
        }
    })
}

/// The contents of a discovery file; `None` if it has none.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_regular(path, MAX_BYTES).ok()?).ok()
}

pub(super) fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "could not remove a lock file");
    }
}

pub(super) fn private_dir(dir: &Path) -> io::Result<()> {
    create_private_folder(dir)?;
    let mode = fs::metadata(dir)?.permissions().mode();
    // The CLI creates the folder too, readable to others. If we may not change that, the folder is still usable.
    if mode & 0o077 != 0
        && let Err(error) = fs::set_permissions(dir, Permissions::from_mode(0o700))
    {
        tracing::warn!(dir = %dir.display(), %error, "could not make the lock folder private");
    }
    Ok(())
}

/// The process that writes, or wrote, a temporary file; `None` for other files.
fn writer_of_temporary(path: &Path) -> Option<u32> {
    let mut parts = path.file_name()?.to_str()?.split('.');
    parts.next()?.parse::<u16>().ok()?;
    let pid = (parts.next()? == EXTENSION).then(|| parts.next())??;
    (parts.next()? == TEMPORARY && parts.next().is_none()).then(|| pid.parse().ok())?
}

/// Replaces a discovery file, which only the user can read.
pub(super) fn write(path: &Path, contents: &impl Serialize) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.{TEMPORARY}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let mut json = serde_json::to_vec(contents)?;
    json.push(b'\n');
    Whole { path, temporary: &temporary, access: Access::Private, durable: false }.write(&json)
}
