//! What the looks at a work tree have seen of each file: one state per look that found it changed.
//!
//! Invariant: a state never changes. A checkpoint is the number of a look, so it costs nothing.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::store::Id;

/// A file name in git's form, relative to the top of the work tree.
pub type Name = Vec<u8>;

/// The state of a file that was unknown to git until a checkpoint copied it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// It has been created since the last checkpoint.
    Made,
    /// It has existed unchanged all the time.
    Unchanged,
    /// It existed, or was moved there, and has been changed since.
    Changed,
}

/// The number of a look, from 1.
pub(super) type Look = u64;

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    /// A folder, a pipe, a device.
    Other,
}

/// What tells one content of a file from another, as far as the file system does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) inode: u64,
    /// Its names.
    pub(super) links: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
    pub(super) mode: u32,
}

impl Stamp {
    pub(super) fn of(file: &Metadata) -> Self {
        Self {
            inode: file.ino(),
            links: file.nlink(),
            size: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
            mode: file.mode(),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self.mode & 0o170_000 {
            0o100_000 => Kind::File,
            0o120_000 => Kind::Link,
            _ => Kind::Other,
        }
    }

    /// Whether a file is this one under another name: it was moved.
    pub(super) fn is_moved_to(&self, other: &Self) -> bool {
        self.links == 1 && self.inode == other.inode && self.kind() == other.kind()
    }

    pub(super) fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

/// Where a content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// In the user's object store; the bytes on disk are the blob's, if they have its size.
    Git(Id),
    /// In ours.
    Copy(Id),
    /// Not kept: too large, withheld, unreadable, or without room.
    Unknown,
}

/// A file at a look.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) stamp: Stamp,
    pub(super) content: Content,
    /// Whether it was so new that a later change might not show in its stamp.
    pub(super) is_fresh: bool,
    pub(super) met: Option<Met>,
}

impl State {
    pub(super) fn kind(&self) -> Kind {
        self.stamp.kind()
    }

    /// Whether the content is the same, as far as known.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (Content::Unknown, _) | (_, Content::Unknown) => {
                let tell = |stamp: &Stamp| (stamp.inode, stamp.size, stamp.modified);
                tell(&self.stamp) == tell(&other.stamp)
            }
            (Content::Git(one) | Content::Copy(one), Content::Git(two) | Content::Copy(two)) => {
                // A blob of another size than the file's is not what the file holds.
                one == two && self.stamp.size == other.stamp.size
            }
        }
    }
}

/// The files at the first look, by their names.
#[derive(Debug, Default)]
pub(super) struct Base {
    /// The names, one after the other.
    text: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    states: Vec<State>,
}

impl Base {
    /// Adds a file; the names come in their order.
    pub(super) fn push(&mut self, name: &[u8], state: State) {
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len());
        self.states.push(state);
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    pub(super) fn name(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let end = self.ends.get(index).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn state(&self, index: usize) -> Option<&State> {
        self.states.get(index)
    }

    pub(super) fn state_mut(&mut self, index: usize) -> Option<&mut State> {
        self.states.get_mut(index)
    }

    fn find(&self, name: &[u8]) -> Option<&State> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle).cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.states.get(middle),
            }
        }
        None
    }
}

/// A state since a look; `None`: there is no file.
type Version = (Look, Option<State>);

/// All that was seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) base: Base,
    /// Of the files that changed since, oldest first.
    versions: HashMap<Name, Vec<Version>>,
}

impl Seen {
    /// A file at a look.
    pub(super) fn at(&self, name: &[u8], look: Look) -> Option<&State> {
        match self.versions.get(name).and_then(|all| all.iter().rev().find(|(since, _)| *since <= look)) {
            Some((_, state)) => state.as_ref(),
            None => self.base.find(name),
        }
    }

    /// A file at the last look.
    pub(super) fn now(&self, name: &[u8]) -> Option<&State> {
        self.at(name, Look::MAX)
    }

    /// The same for a file of the base, by its number: faster.
    pub(super) fn now_of_base(&self, index: usize) -> Option<&State> {
        if self.versions.is_empty() {
            return self.base.state(index);
        }
        match self.versions.get(self.base.name(index)) {
            Some(all) => all.last().and_then(|(_, state)| state.as_ref()),
            None => self.base.state(index),
        }
    }

    pub(super) fn set(&mut self, name: Name, look: Look, state: Option<State>) {
        self.versions.entry(name).or_default().push((look, state));
    }

    pub(super) fn is_of_base(&self, name: &[u8]) -> bool {
        self.base.find(name).is_some()
    }

    /// Whether a file was looked at.
    pub(super) fn knows(&self, name: &[u8]) -> bool {
        self.versions.contains_key(name) || self.is_of_base(name)
    }

    /// The files that are not of the base.
    pub(super) fn later_names(&self) -> impl Iterator<Item = &Name> {
        self.versions.keys().filter(|name| !self.is_of_base(name))
    }

    /// The files that changed between two looks, by their names.
    pub(super) fn between(&self, from: Look, to: Look) -> Vec<&Name> {
        let changed = |all: &[Version]| all.iter().any(|(look, _)| *look > from && *look <= to);
        let mut names: Vec<&Name> =
            self.versions.iter().filter(|(_, all)| changed(all)).map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }
}

/// Which folders are no links: what lies below a link is not of the work tree.
#[derive(Debug)]
pub(super) struct Folders<'a> {
    top: &'a Path,
    known: HashSet<Vec<u8>>,
    links: HashSet<Vec<u8>>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(top: &'a Path) -> Self {
        Self { top, known: HashSet::new(), links: HashSet::new() }
    }

    /// Whether all folders above a file are folders.
    pub(super) fn are_real(&mut self, name: &[u8]) -> bool {
        let Some(end) = memchr::memrchr(b'/', name) else { return true };
        let Some(folder) = name.get(..end) else { return true };
        if self.known.contains(folder) {
            return true;
        } else if self.links.contains(folder) {
            return false;
        }
        let is_real = self.are_real(folder) && is_folder(&path(self.top, folder));
        if is_real { &mut self.known } else { &mut self.links }.insert(folder.to_vec());
        is_real
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|folder| folder.is_dir())
}

/// The path of a file.
pub(super) fn path(top: &Path, name: &[u8]) -> PathBuf {
    top.join(OsStr::from_bytes(name))
}
