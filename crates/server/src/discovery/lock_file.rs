//! The discovery file `<port>.lock`, by which a CLI finds this server and its token.
//!
//! Invariants: the file is replaced atomically; only the user can read it (0600 in a 0700 folder); it does not outlive
//! the server, and the next start removes those of killed processes.

use std::{
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use claude_ide_http::Secret;
use claude_ide_protocol::ide::LockFileContents;
use claude_ide_system::process;

use super::{
    companions,
    folder::{self, EXTENSION, clean_stale, others, private_dir, read, remove, write},
};
use crate::{
    error::ServerError,
    options::{ServerOptions, Workspace},
    path_map::PathMap,
};

/// How often to choose another name when servers choose the same one at the same time.
const MAX_CHOICES: usize = 5;

/// The files of one server, one in each folder; removed on drop.
#[derive(Debug)]
pub(crate) struct LockFile {
    /// Those of other CLIs, which are kept and removed together with ours.
    pub(crate) companions: companions::Files,
    paths: Vec<PathBuf>,
    server_name: String,
    token: Secret,
    name: IdeName,
    map: PathMap,
    pid: Option<u32>,
}

impl LockFile {
    /// Removes files of dead processes and writes the file into every writable folder.
    ///
    /// # Errors
    /// [`ServerError::LockFile`] if it could not be written anywhere.
    pub(crate) fn create(options: &ServerOptions, token: &Secret, port: u16) -> Result<Self, ServerError> {
        let mut lock = Self {
            companions: companions::Files::default(),
            paths: Vec::new(),
            server_name: options.server_name.clone(),
            token: token.clone(),
            name: IdeName::default(),
            map: options.path_map.clone(),
            pid: is_for_this_place(options).then(std::process::id),
        };
        let mut failure = None;
        for dir in &options.lock_dirs {
            clean_stale(dir, &options.server_name);
            let path = dir.join(format!("{port}.{EXTENSION}"));
            match private_dir(dir).and_then(|()| lock.write(&path, &options.workspace)) {
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

    /// The written files for Claude Code.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// All written files, also those for companions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.paths.iter().chain(self.companions.paths())
    }

    /// Writes the files again, restoring deleted ones with their folders.
    pub(crate) fn rewrite(&self, workspace: &Workspace) {
        self.companions.rewrite(workspace);
        for path in &self.paths {
            self.put(path, workspace);
        }
    }

    /// Restores deleted files.
    pub(crate) fn restore(&self, workspace: &Workspace) {
        self.companions.restore(workspace);
        for path in &self.paths {
            if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                tracing::info!(path = %path.display(), "the lock file was removed: writing it again");
                self.put(path, workspace);
            }
        }
    }

    fn put(&self, path: &Path, workspace: &Workspace) {
        if let Err(error) = path.parent().map_or(Ok(()), private_dir).and_then(|()| self.write(path, workspace)) {
            tracing::warn!(path = %path.display(), %error, "could not rewrite the lock file");
        }
    }

    /// Its name for the editor.
    pub(crate) fn name(&self) -> IdeName {
        self.name.clone()
    }

    /// Writes the file with a name that no other server has.
    fn write(&self, path: &Path, workspace: &Workspace) -> io::Result<()> {
        for _ in 0..MAX_CHOICES {
            let others = others(path);
            let taken: Vec<String> = others.iter().map(|(_, name)| name.clone()).collect();
            let name = self.name.choose(&workspace.ide_name, &taken);
            write(path, &self.contents(workspace, name.clone()))?;
            // If two servers chose at the same time, the one whose file comes first in the folder keeps the name.
            let clash = |(other, theirs): &(PathBuf, String)| *theirs == name && other.as_path() < path;
            if !folder::others(path).iter().any(clash) {
                break;
            }
        }
        Ok(())
    }

    fn contents(&self, workspace: &Workspace, ide_name: String) -> LockFileContents {
        let here = workspace.announced().iter().map(|path| path.to_string_lossy().into_owned());
        let there = workspace.announced().iter().filter_map(|path| self.map.there(path));
        LockFileContents {
            workspace_folders: here.chain(there).collect(),
            pid: self.pid,
            ide_name,
            transport: "ws".to_owned(),
            running_in_windows: cfg!(windows),
            auth_token: self.token.reveal().to_owned(),
            server: self.server_name.clone(),
            processes: process::space(),
        }
    }
}

/// Whether clients run where this process runs, as far as the options tell.
fn is_for_this_place(options: &ServerOptions) -> bool {
    options.path_map.is_empty() && options.host.parse().map_or(true, |host: IpAddr| host.is_loopback())
}

impl Drop for LockFile {
    fn drop(&mut self) {
        for path in &self.paths {
            // Another process may have taken the port since, and with it the file's name.
            if read(path).is_some_and(|contents: LockFileContents| self.token.matches(contents.auth_token.as_bytes())) {
                remove(path);
            }
        }
    }
}

/// The editor's current name in the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdeName(Arc<Mutex<Chosen>>);

#[derive(Debug, Clone, Default)]
struct Chosen {
    /// As configured.
    base: String,
    /// With a number if another server has the name.
    name: String,
}

impl IdeName {
    pub(crate) fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).name.clone()
    }

    /// Chooses an unused name. An earlier choice stays: the user has seen it.
    fn choose(&self, base: &str, taken: &[String]) -> String {
        let mut chosen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let keeps = chosen.base == base && !taken.contains(&chosen.name);
        if !keeps {
            let numbered = (2..).map(|number| format!("{base} ({number})"));
            let name = std::iter::once(base.to_owned()).chain(numbered).find(|name| !taken.contains(name));
            *chosen = Chosen { base: base.to_owned(), name: name.unwrap_or_default() };
        }
        chosen.name.clone()
    }
}

#[cfg(test)]
mod tests;
