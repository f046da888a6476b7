//! Checkpoints of git work trees, which reveal the changes that shell commands make in a turn: takes and compares them,
//! and reads files from them. Everything waits for git, so not for Neovim's thread.
//!
//! Invariant: the output is limited; files beyond the limit are only reported as changed.

mod contents;
mod git;
mod take;
mod tree;
mod uncommitted;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contents::{contents_of, unfiltered};
use git::{Objects, Repository};
use tree::{Entry, Origin};

pub use take::{Checkpoints, Limits, Place};
pub use uncommitted::{NoDiff, Uncommitted, uncommitted};

/// Larger files cannot be undone.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// A file name in git's form, relative to the top of the work tree.
pub type Name = Vec<u8>;

/// What tells one content of a file from another; `None`: there is no file.
type State = Option<(u64, u64, i64, i64)>;

/// The state of a file that was unknown to git until a checkpoint copied it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// It has been created since the last checkpoint.
    Made,
    /// It has existed unchanged all the time.
    Unchanged,
    /// It existed, or was moved there, and has been changed since.
    Changed,
}

/// A checkpoint of a work tree. Its copies exist as long as it does.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    repository: Arc<Repository>,
    tree: String,
    /// Files that differ from the commit, but were not copied.
    skipped: Arc<HashMap<Name, State>>,
    met: Arc<HashMap<Name, Met>>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its name.
    pub name: Name,
    /// Its content at the first checkpoint; `None`: created since.
    pub before: Option<Vec<u8>>,
    /// Its permissions then.
    pub mode: Option<u32>,
}

/// A change that can be undone without the journal: a link, permissions, a file beyond the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// Its name.
    pub name: Name,
    /// Git's modes, before and after; `000000`: it did not exist.
    pub modes: [String; 2],
    /// Its blobs, before and after.
    pub blobs: [String; 2],
    /// Whether only the mode changed here; the journal handles the content, or it is the same.
    pub mode_only: bool,
}

/// The differences between two checkpoints.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Changed and deleted files first.
    pub found: Vec<FoundFile>,
    /// Nested repositories, and files that cannot be restored.
    pub left_out: Vec<Name>,
    /// Changes that the journal does not handle.
    pub rest: Vec<Rest>,
    /// The number of changed files, if it exceeds the limit.
    pub too_many: Option<usize>,
}

/// A file of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: Name,
    /// Its blob.
    pub blob: String,
}

impl Checkpoint {
    /// The top of the work tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.repository.top
    }

    /// Whether both have copies in one place.
    #[must_use]
    pub fn is_comparable(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.repository, &other.repository)
    }

    /// The files that differ from those at a later checkpoint, with their content at this one.
    ///
    /// `unwanted` are paths, with links resolved, written by the user. More than `max_files` changed files are no edit
    /// but a checkout or a build; changed and deleted ones come first.
    #[must_use]
    pub fn compare(&self, later: &Self, unwanted: &HashSet<PathBuf>, max_files: usize) -> Differences {
        let mut differences = Differences::default();
        if !self.is_comparable(later) {
            return differences;
        }
        let repository = &*self.repository;
        let ignored: HashSet<&Name> = self.skipped.keys().chain(later.skipped.keys()).collect();
        let differs = |name: &&&Name| self.skipped.get(**name) != later.skipped.get(**name);
        let is_wanted = |name: &&&Name| !is_unwanted(repository, unwanted, name);
        differences.left_out = ignored.iter().filter(differs).filter(is_wanted).map(|name| name.to_vec()).collect();
        if self.tree == later.tree {
            return differences;
        }
        let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-renames", &self.tree, &later.tree];
        let entries = tree::entries(&repository.git(Objects::All, &arguments, b"").unwrap_or_default());
        let met = &later.met;
        let moved = if entries.iter().any(|entry| entry.is_made() && met.get(&entry.name) == Some(&Met::Changed)) {
            tree::moved(repository, &self.tree, &later.tree)
        } else {
            HashSet::new()
        };
        let (mut changed, mut made) = (Vec::new(), Vec::new());
        let gone: HashSet<&str> =
            entries.iter().filter(|entry| entry.is_gone()).map(|entry| entry.blobs[0].as_str()).collect();
        for entry in &entries {
            if ignored.contains(&entry.name) || is_unwanted(repository, unwanted, &entry.name) {
                continue;
            }
            match entry.origin(met, &moved, &gone) {
                Origin::There => continue,
                Origin::Unknown => {
                    differences.left_out.push(entry.name.clone());
                    continue;
                }
                Origin::Made => {}
            }
            if entry.is_other_repository() {
                differences.left_out.push(entry.name.clone());
            } else if !entry.are_files() {
                differences.rest.push(entry.rest(false));
            } else {
                if entry.blobs[0] != entry.blobs[1] {
                    (if entry.is_made() { &mut made } else { &mut changed }).push(entry);
                }
                if entry.is_mode_change() {
                    differences.rest.push(entry.rest(true));
                }
            }
        }
        changed.append(&mut made);
        differences.too_many = (changed.len() > max_files).then_some(changed.len());
        differences.rest.extend(changed.iter().skip(max_files).map(|entry| entry.rest(false)));
        changed.truncate(max_files);
        read(repository, &changed, &mut differences);
        differences
    }

    /// Reads files by their paths, with links resolved; those that are not in it are left out.
    #[must_use]
    pub fn contained(&self, paths: &[PathBuf]) -> Vec<FoundFile> {
        let name = |path: &PathBuf| Some(path.strip_prefix(&self.repository.top).ok()?.as_os_str().to_owned());
        let names: Vec<_> = paths.iter().filter_map(name).filter(|name| !name.is_empty()).collect();
        let names: Vec<&OsStr> = names
            .iter()
            .map(|name| name.as_os_str())
            .filter(|name| !self.skipped.contains_key(name.as_bytes()))
            .collect();
        if names.is_empty() {
            return Vec::new();
        }
        let files = tree::files(&self.repository, &self.tree, &names);
        let stored: Vec<Stored> = files.iter().map(|(stored, _)| stored.clone()).collect();
        let mut contents = self.read(&stored);
        let found = files.into_iter().filter_map(|(stored, mode)| {
            let before = as_on_disk(&self.repository.path(&stored.name), contents.remove(&stored.name)?);
            Some(FoundFile { name: stored.name, before: Some(before), mode })
        });
        found.collect()
    }

    /// Reads stored copies that still exist, except of files that a filter changes.
    #[must_use]
    pub fn read(&self, files: &[Stored]) -> HashMap<Name, Vec<u8>> {
        let names: Vec<&[u8]> = files.iter().map(|file| file.name.as_slice()).collect();
        let kept = unfiltered(&self.repository, &names);
        let asked: Vec<Stored> = files.iter().filter(|file| kept.contains(file.name.as_slice())).cloned().collect();
        contents_of(&self.repository, &asked)
    }
}

fn is_unwanted(repository: &Repository, unwanted: &HashSet<PathBuf>, name: &[u8]) -> bool {
    if unwanted.is_empty() {
        return false;
    }
    let path = repository.path(name);
    unwanted.contains(&path.canonicalize().unwrap_or(path))
}

fn read(repository: &Repository, changed: &[&Entry], differences: &mut Differences) {
    let names: Vec<&[u8]> = changed.iter().map(|entry| entry.name.as_slice()).collect();
    let kept = unfiltered(repository, &names);
    let is_kept = |entry: &&&Entry| kept.contains(entry.name.as_slice());
    let asked: Vec<Stored> =
        changed.iter().filter(is_kept).filter(|entry| !entry.is_made()).map(|entry| entry.stored()).collect();
    let mut contents = contents_of(repository, &asked);
    for entry in changed {
        let before = contents.remove(&entry.name);
        if !kept.contains(entry.name.as_slice()) || (before.is_none() && !entry.is_made()) {
            differences.left_out.push(entry.name.clone());
        } else {
            let mode = if entry.is_made() { None } else { entry.permissions() };
            differences.found.push(FoundFile { name: entry.name.clone(), before, mode });
        }
    }
}

/// The content of a file that git considers unchanged, with its line endings on disk, which git may convert.
fn as_on_disk(path: &Path, contents: Vec<u8>) -> Vec<u8> {
    let is_small = path.metadata().is_ok_and(|found| found.is_file() && found.len() <= 4 * 1024 * 1024);
    match std::fs::read(path) {
        Ok(bytes) if is_small && without_returns(&bytes) == without_returns(&contents) => bytes,
        _ => contents,
    }
}

fn without_returns(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => out.extend([line, b"\n"].concat()),
            None => out.extend_from_slice(line),
        }
    }
    out
}

#[cfg(test)]
mod tests;
