//! CLIs that find an editor by the IDE companion specification: their names, and the files by which they find this
//! server.
//!
//! Invariants: a file is replaced atomically, only the user can read it, it does not outlive the server, and the next
//! start removes those of killed processes. A folder that belongs to another user, as one in `/tmp` may, is not used.

use std::{
    env, fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process,
};

use claude_ide_http::Secret;
use claude_ide_protocol::companion::{DiscoveryFile, IdeInfo};
use claude_ide_system::process::exists;

use super::folder::{self, private_dir, remove, write};
use crate::options::{Places, Workspace};

/// A program that speaks it.
pub(crate) struct Companion {
    /// Its name, for the user.
    pub(crate) name: &'static str,
    /// The folder of its discovery files: the base, and the folders below it, each of which must be the user's.
    folder: fn(&Places) -> (&Path, &'static [&'static str]),
    /// The name of the file for a process and a port.
    file: fn(u32, u16) -> String,
}

/// Each has a token of its own, by which the server knows it: both name themselves alike.
pub(crate) const COMPANIONS: [Companion; 2] = [
    Companion {
        name: "Gemini",
        folder: |places| (&places.temporary, &["gemini", "ide"]),
        file: |pid, port| format!("gemini-ide-server-{pid}-{port}.json"),
    },
    Companion {
        name: "Qwen Code",
        folder: |places| (&places.home, &[".qwen", "ide"]),
        file: |_, port| format!("{port}.lock"),
    },
];

/// The discovery files of one server; removed on drop.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: Vec<(PathBuf, Secret)>,
    port: u16,
    server: String,
}

impl Files {
    /// Removes files of dead processes, and writes those of the server on this port.
    pub(crate) fn create(places: &Places, tokens: &[Secret], server: &str, port: u16, workspace: &Workspace) -> Self {
        let mut found = Vec::new();
        for (companion, token) in COMPANIONS.iter().zip(tokens) {
            let (base, below) = (companion.folder)(places);
            match private_dirs(base, below) {
                Ok(dir) => {
                    clean_stale(&dir, server);
                    found.push((dir.join((companion.file)(process::id(), port)), token.clone()));
                }
                Err(error) => tracing::warn!(companion = companion.name, %error, "its discovery file is not written"),
            }
        }
        let files = Self { files: found, port, server: server.to_owned() };
        files.rewrite(workspace);
        files
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().map(|(path, _)| path)
    }

    /// Writes the files again.
    pub(crate) fn rewrite(&self, workspace: &Workspace) {
        for (path, token) in &self.files {
            self.put(path, token, workspace);
        }
    }

    /// Restores deleted files. A deleted folder stays so: another user could have made it since.
    pub(crate) fn restore(&self, workspace: &Workspace) {
        for (path, token) in &self.files {
            if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                self.put(path, token, workspace);
            }
        }
    }

    fn put(&self, path: &Path, token: &Secret, workspace: &Workspace) {
        if let Err(error) = write(path, &self.contents(token, workspace)) {
            tracing::warn!(path = %path.display(), %error, "could not write a discovery file");
        }
    }

    fn contents(&self, token: &Secret, workspace: &Workspace) -> DiscoveryFile {
        // Paths in the list are separated by colons.
        let (listed, others): (Vec<_>, Vec<_>) =
            workspace.announced().iter().partition(|folder| env::join_paths([folder]).is_ok());
        if !others.is_empty() {
            tracing::warn!(folders = ?others, "companions cannot be told of a folder with a colon in its path");
        }
        let folders = env::join_paths(listed).unwrap_or_default();
        DiscoveryFile {
            port: self.port,
            workspace_path: folders.to_string_lossy().into_owned(),
            auth_token: token.reveal().to_owned(),
            ide_info: IdeInfo { name: "neovim".to_owned(), display_name: workspace.ide_name.clone() },
            pid: process::id(),
            server: self.server.clone(),
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for (path, token) in &self.files {
            // Another process may have taken the port since, and with it the file's name.
            if read(path).is_some_and(|contents| token.matches(contents.auth_token.as_bytes())) {
                remove(path);
            }
        }
    }
}

/// Creates the folders one below the other; each must be a real one, and the user's.
fn private_dirs(base: &Path, below: &[&str]) -> io::Result<PathBuf> {
    let (user, mut dir) = (rustix::process::geteuid().as_raw(), base.to_owned());
    for name in below {
        dir.push(name);
        if fs::symlink_metadata(&dir).is_err() {
            private_dir(&dir)?;
        }
        let metadata = fs::symlink_metadata(&dir)?;
        if !metadata.is_dir() || metadata.uid() != user {
            return Err(io::Error::other(format!("{} is not a folder of this user", dir.display())));
        }
    }
    Ok(dir)
}

fn clean_stale(dir: &Path, server: &str) {
    for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if read(&path).is_some_and(|contents| contents.server == server && !exists(contents.pid)) {
            tracing::info!(path = %path.display(), "removing the discovery file of a dead process");
            remove(&path);
        }
    }
}

/// A link could lead to a file that is not a discovery file.
fn read(path: &Path) -> Option<DiscoveryFile> {
    fs::symlink_metadata(path).ok()?.is_file().then(|| folder::read(path))?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn workspace() -> Workspace {
        Workspace {
            folders: vec!["/project".into(), "/other".into()],
            ide_name: "The Editor".to_owned(),
            announced: None,
        }
    }

    fn create(home: &Path) -> Files {
        let places = Places { temporary: home.join("tmp"), home: home.join("home") };
        for place in [&places.temporary, &places.home] {
            fs::create_dir_all(place).unwrap();
        }
        let tokens = [Secret::random::<64>().unwrap(), Secret::random::<64>().unwrap()];
        Files::create(&places, &tokens, "the-server", 41234, &workspace())
    }

    #[test]
    fn each_companion_finds_a_private_file_where_it_looks() {
        let home = tempfile::tempdir().unwrap();
        let files = create(home.path());
        let pid = process::id();
        let expected =
            [format!("tmp/gemini/ide/gemini-ide-server-{pid}-41234.json"), "home/.qwen/ide/41234.lock".into()];
        assert_eq!(files.paths().cloned().collect::<Vec<_>>(), expected.map(|path| home.path().join(path)));
        for (path, token) in &files.files {
            let json: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let info = serde_json::json!({ "name": "neovim", "displayName": "The Editor" });
            assert_eq!(
                json,
                serde_json::json!({
                    "port": 41234, "workspacePath": "/project:/other", "authToken": token.reveal(), "ideInfo": info,
                    "pid": pid, "server": "the-server",
                })
            );
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
        }
        let paths: Vec<PathBuf> = files.paths().cloned().collect();
        fs::remove_file(&paths[0]).unwrap();
        files.restore(&workspace());
        assert!(paths[0].exists());
        drop(files);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn a_folder_with_a_colon_is_left_out() {
        let announced = Some(vec!["/one".into(), "/a:b".into(), "/two".into()]);
        let workspace = Workspace { announced, ..workspace() };
        let contents = Files::default().contents(&Secret::random::<64>().unwrap(), &workspace);
        assert_eq!(contents.workspace_path, "/one:/two");
    }

    #[test]
    fn only_files_of_dead_processes_of_this_program_are_removed() {
        let home = tempfile::tempdir().unwrap();
        drop(create(home.path()));
        let dir = home.path().join("home/.qwen/ide");
        let mut child = process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let leave = |name: &str, pid: u32, server: &str| {
            let contents = DiscoveryFile {
                pid,
                server: server.to_owned(),
                ..Files::default().contents(&Secret::random::<64>().unwrap(), &workspace())
            };
            write(&dir.join(name), &contents).unwrap();
        };
        leave("1.lock", child.id(), "the-server");
        leave("2.lock", child.id(), "another");
        leave("3.lock", process::id(), "the-server");
        fs::write(dir.join("4.lock"), "{").unwrap();
        let _files = create(home.path());
        let exists = ["1.lock", "2.lock", "3.lock", "4.lock", "41234.lock"].map(|name| dir.join(name).exists());
        assert_eq!(exists, [false, true, true, true, true]);
    }

    #[test]
    fn a_folder_that_is_a_link_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = home.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(home.path().join("tmp")).unwrap();
        symlink(&elsewhere, home.path().join("tmp/gemini")).unwrap();
        let files = create(home.path());
        assert_eq!(files.paths().count(), 1);
        assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    }
}
