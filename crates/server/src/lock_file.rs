//! The discovery file `<port>.lock`: how a CLI finds this server and what it must show to be let in.
//!
//! Invariants: whoever reads it sees a whole file (temporary file, then rename); only the user may read it (0600 in a
//! 0700 folder); it does not outlive the server, and what a killed process left is cleaned by the next start.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::{io::Errno, process};

use claude_ide_protocol::ide::LockFileContents;

use crate::{
    error::ServerError,
    options::{ServerOptions, Workspace},
    token::AuthToken,
};

const EXTENSION: &str = "lock";
/// What a file is called until it is whole: `<port>.lock.<pid>.tmp`.
const TEMPORARY: &str = "tmp";
/// More than any lock file has.
const MAX_BYTES: u64 = 64 << 10;

/// The files of one server, one in each folder; removed on drop.
#[derive(Debug)]
pub(crate) struct LockFile {
    paths: Vec<PathBuf>,
    server_name: String,
    token: AuthToken,
}

impl LockFile {
    /// Cleans up after dead processes and writes the file into every folder that can be written to.
    ///
    /// # Errors
    /// [`ServerError::LockFile`] if it could be written nowhere.
    pub(crate) fn create(options: &ServerOptions, token: &AuthToken, port: u16) -> Result<Self, ServerError> {
        let mut lock = Self { paths: Vec::new(), server_name: options.server_name.clone(), token: token.clone() };
        let mut failure = None;
        for dir in &options.lock_dirs {
            clean_stale(dir, &options.server_name);
            let path = dir.join(format!("{port}.{EXTENSION}"));
            match private_dir(dir).and_then(|()| write(&path, &lock.contents(&options.workspace))) {
                Ok(()) => lock.paths.push(path),
                Err(source) => {
                    tracing::warn!(path = %path.display(), %source, "could not write the lock file");
                    failure.get_or_insert(ServerError::LockFile { path, source });
                }
            }
        }
        match failure {
            Some(failure) if lock.paths.is_empty() => Err(failure),
            Some(_) | None => Ok(lock),
        }
    }

    /// Where it was written.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Writes it anew. A file that somebody removed comes back, with its folder.
    pub(crate) fn rewrite(&self, workspace: &Workspace) {
        let contents = self.contents(workspace);
        for path in &self.paths {
            if let Err(error) = path.parent().map_or(Ok(()), private_dir).and_then(|()| write(path, &contents)) {
                tracing::warn!(path = %path.display(), %error, "could not rewrite the lock file");
            }
        }
    }

    fn contents(&self, workspace: &Workspace) -> LockFileContents {
        LockFileContents {
            workspace_folders: workspace.folders.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            pid: std::process::id(),
            ide_name: workspace.ide_name.clone(),
            transport: "ws".to_owned(),
            running_in_windows: cfg!(windows),
            auth_token: self.token.reveal().to_owned(),
            server: self.server_name.clone(),
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        for path in &self.paths {
            // Another process may have taken the port, and with it the name, since.
            if read(path).is_some_and(|contents| self.token.matches(contents.auth_token.as_bytes())) {
                remove(path);
            }
        }
    }
}

/// Removes what dead processes of this program left in a folder, and nothing else.
fn clean_stale(dir: &Path, server_name: &str) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if writer_of_temporary(&path).is_some_and(|pid| !is_alive(pid)) {
            remove(&path);
        }
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        if read(&path).is_some_and(|contents| contents.server == server_name && !is_alive(contents.pid)) {
            tracing::info!(path = %path.display(), "removing the lock file of a dead process");
            remove(&path);
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(process::Pid::from_raw) else {
        return false;
    };
    match process::test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error != Errno::SRCH,
    }
}

fn read(path: &Path) -> Option<LockFileContents> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "could not remove a lock file");
    }
}

fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mode = fs::metadata(dir)?.permissions().mode();
    // The CLI makes the folder too, open to readers. Whoever may not change it may still use it.
    if mode & 0o077 != 0
        && let Err(error) = fs::set_permissions(dir, Permissions::from_mode(0o700))
    {
        tracing::warn!(dir = %dir.display(), %error, "could not make the lock folder private");
    }
    Ok(())
}

/// The process that writes, or wrote, this file to rename it to a lock file; `None` if it is no such file.
fn writer_of_temporary(path: &Path) -> Option<u32> {
    let mut parts = path.file_name()?.to_str()?.split('.');
    parts.next()?.parse::<u16>().ok()?;
    let pid = (parts.next()? == EXTENSION).then(|| parts.next())??;
    (parts.next()? == TEMPORARY && parts.next().is_none()).then(|| pid.parse().ok())?
}

fn write(path: &Path, contents: &LockFileContents) -> io::Result<()> {
    let temporary = path.with_extension(format!("{EXTENSION}.{}.{TEMPORARY}", std::process::id()));
    // One that a killed process left would fail `create_new`, or keep a mode that is too open.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|file| fill(file, contents))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        remove(&temporary);
    }
    written
}

fn fill(mut file: File, contents: &LockFileContents) -> io::Result<()> {
    let mut json = serde_json::to_vec(contents)?;
    json.push(b'\n');
    file.write_all(&json)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const SERVER: &str = "the-server";

    fn options(dir: &Path) -> ServerOptions {
        ServerOptions {
            lock_dirs: vec![dir.to_owned()],
            server_name: SERVER.to_owned(),
            workspace: Workspace { folders: vec!["/project".into()], ide_name: "The Editor".to_owned() },
            ..ServerOptions::default()
        }
    }

    fn create(dir: &Path) -> LockFile {
        LockFile::create(&options(dir), &AuthToken::generate().unwrap(), 41234).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn dead_pid() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    fn leave(dir: &Path, port: u16, server: &str, pid: u32) -> PathBuf {
        let contents = LockFileContents {
            workspace_folders: vec![],
            pid,
            ide_name: "Left".to_owned(),
            transport: "ws".to_owned(),
            running_in_windows: false,
            auth_token: "left".to_owned(),
            server: server.to_owned(),
        };
        let path = dir.join(format!("{port}.lock"));
        write(&path, &contents).unwrap();
        path
    }

    #[test]
    fn has_every_field_of_the_seeds() {
        let home = tempfile::tempdir().unwrap();
        let lock = create(&home.path().join("claude/ide"));
        let [path] = lock.paths() else { panic!("one file") };
        assert_eq!(path, &home.path().join("claude/ide/41234.lock"));
        let json: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "workspaceFolders": ["/project"],
                "pid": std::process::id(),
                "ideName": "The Editor",
                "transport": "ws",
                "runningInWindows": false,
                "authToken": lock.token.reveal(),
                "server": SERVER,
            })
        );
    }

    #[test]
    fn is_private_and_leaves_no_temporary_file() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("ide");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        let lock = create(&dir);
        assert_eq!(mode(&lock.paths()[0]), 0o600);
        assert_eq!(mode(&dir), 0o700);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    fn is_rewritten_in_place_even_if_it_was_removed() {
        let home = tempfile::tempdir().unwrap();
        let lock = create(home.path());
        fs::remove_file(&lock.paths()[0]).unwrap();
        lock.rewrite(&Workspace { folders: vec!["/other".into()], ide_name: "Other".to_owned() });
        let contents = read(&lock.paths()[0]).unwrap();
        assert_eq!(contents.workspace_folders, ["/other"]);
        assert_eq!(contents.ide_name, "Other");
        assert_eq!(mode(&lock.paths()[0]), 0o600);
    }

    #[test]
    fn comes_back_with_its_folder() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("ide");
        let lock = create(&dir);
        fs::remove_dir_all(&dir).unwrap();
        lock.rewrite(&Workspace { folders: vec!["/other".into()], ide_name: "Other".to_owned() });
        assert_eq!(read(&lock.paths()[0]).unwrap().ide_name, "Other");
        assert_eq!(mode(&dir), 0o700);
    }

    #[test]
    fn cleans_up_what_a_process_left_that_was_killed_while_it_wrote() {
        let home = tempfile::tempdir().unwrap();
        let dead = home.path().join(format!("7.lock.{}.tmp", dead_pid()));
        let alive = home.path().join("7.lock.1.tmp");
        let others =
            ["7.tmp", "notes.lock.7.tmp", "7.lock.7.tmp.old", "7.lock.x.tmp"].map(|name| home.path().join(name));
        for path in others.iter().chain([&dead, &alive]) {
            fs::write(path, "{").unwrap();
        }
        let lock = create(home.path());
        assert!(!dead.exists());
        assert!(alive.exists() && others.iter().all(|path| path.exists()));
        drop(lock);
    }

    #[test]
    fn is_removed_on_drop() {
        let home = tempfile::tempdir().unwrap();
        let lock = create(home.path());
        let path = lock.paths()[0].clone();
        drop(lock);
        assert!(!path.exists());
    }

    #[test]
    fn leaves_the_file_of_a_process_that_took_the_port_since() {
        let home = tempfile::tempdir().unwrap();
        let lock = create(home.path());
        let theirs = leave(home.path(), 41234, "another", std::process::id());
        drop(lock);
        assert!(theirs.exists());
    }

    #[test]
    fn cleans_up_after_dead_processes_of_its_own_only() {
        let home = tempfile::tempdir().unwrap();
        let ours_dead = leave(home.path(), 1, SERVER, dead_pid());
        let ours_alive = leave(home.path(), 2, SERVER, std::process::id());
        let theirs_dead = leave(home.path(), 3, "another", dead_pid());
        let broken = home.path().join("4.lock");
        fs::write(&broken, "{").unwrap();
        let lock = create(home.path());
        assert!(!ours_dead.exists());
        assert!(ours_alive.exists() && theirs_dead.exists() && broken.exists());
        drop(lock);
    }

    #[test]
    fn is_written_where_it_can_be_and_fails_only_if_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let blocked = home.path().join("file");
        fs::write(&blocked, "").unwrap();
        let mut options = options(&blocked.join("ide"));
        let token = AuthToken::generate().unwrap();
        assert!(matches!(LockFile::create(&options, &token, 1), Err(ServerError::LockFile { .. })));
        options.lock_dirs.push(home.path().join("ide"));
        assert_eq!(LockFile::create(&options, &token, 1).unwrap().paths().len(), 1);
    }

    #[test]
    fn a_process_that_may_not_be_signalled_is_alive() {
        assert!(is_alive(1));
        assert!(!is_alive(0));
    }
}
