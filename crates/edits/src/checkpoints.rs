//! Compares checkpoints of a git work tree, and reads files from them. Everything waits for git, so not for Neovim's
//! thread.
//!
//! Invariant: the output is limited; files beyond the limit are only reported as changed.

mod contents;
mod git;
mod tree;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use contents::{contents_of, unfiltered};
use tree::{Entry, Origin};

pub use git::Repository;

/// Larger files cannot be undone.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// A file name in git's form, relative to the top of the work tree.
pub type Name = Vec<u8>;

/// The state of a file that was unknown to git until the first checkpoint copied it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// It has existed unchanged all the time.
    Unchanged,
    /// It existed, or was moved there, and has been changed since.
    Changed,
}

/// The input of a comparison.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The trees of the two checkpoints.
    pub trees: [String; 2],
    /// Names that were not copied by at least one of them.
    pub ignored: HashSet<Name>,
    /// The state of files when they were first copied.
    pub met: HashMap<Name, Met>,
    /// Paths, with links resolved, written by the user.
    pub unwanted: HashSet<PathBuf>,
    /// Limit of changed files; more are no edit but a checkout or a build. Changed and deleted ones come first.
    pub max_files: usize,
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

/// The files that differ between two checkpoints, with their content at the first.
#[must_use]
pub fn compare(repository: &Repository, of: &Comparison) -> Differences {
    let [from, to] = &of.trees;
    let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to];
    let entries = tree::entries(&repository.git(&arguments, b"").unwrap_or_default());
    let moved = if entries.iter().any(|entry| entry.is_made() && of.met.get(&entry.name) == Some(&Met::Changed)) {
        tree::moved(repository, from, to)
    } else {
        HashSet::new()
    };
    let (mut changed, mut made, mut differences) = (Vec::new(), Vec::new(), Differences::default());
    let gone: HashSet<&str> =
        entries.iter().filter(|entry| entry.is_gone()).map(|entry| entry.blobs[0].as_str()).collect();
    for entry in &entries {
        if of.ignored.contains(&entry.name) || is_unwanted(repository, of, &entry.name) {
            continue;
        }
        match entry.origin(&of.met, &moved, &gone) {
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
    differences.too_many = (changed.len() > of.max_files).then_some(changed.len());
    differences.rest.extend(changed.iter().skip(of.max_files).map(|entry| entry.rest(false)));
    changed.truncate(of.max_files);
    read(repository, &changed, &mut differences);
    differences
}

fn is_unwanted(repository: &Repository, of: &Comparison, name: &[u8]) -> bool {
    if of.unwanted.is_empty() {
        return false;
    }
    let path = repository.path(name);
    of.unwanted.contains(&path.canonicalize().unwrap_or(path))
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

/// Reads files from a checkpoint; missing ones are left out.
#[must_use]
pub fn held(repository: &Repository, tree: &str, names: &[Name]) -> Vec<FoundFile> {
    let paths: Vec<&OsStr> = names.iter().map(|name| OsStr::from_bytes(name)).collect();
    let files = tree::files(repository, tree, &paths);
    let stored: Vec<Stored> = files.iter().map(|(stored, _)| stored.clone()).collect();
    let mut contents = read_stored(repository, &stored);
    let found = files.into_iter().filter_map(|(stored, mode)| {
        let before = as_on_disk(&repository.path(&stored.name), contents.remove(&stored.name)?);
        Some(FoundFile { name: stored.name, before: Some(before), mode })
    });
    found.collect()
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

/// Reads stored copies that still exist, except of files that a filter changes.
#[must_use]
pub fn read_stored(repository: &Repository, files: &[Stored]) -> HashMap<Name, Vec<u8>> {
    let names: Vec<&[u8]> = files.iter().map(|file| file.name.as_slice()).collect();
    let kept = unfiltered(repository, &names);
    let asked: Vec<Stored> = files.iter().filter(|file| kept.contains(file.name.as_slice())).cloned().collect();
    contents_of(repository, &asked)
}

#[cfg(test)]
mod tests;
