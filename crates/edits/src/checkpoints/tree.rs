//! Parses git's tree entries.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;

use super::git::{Objects, Repository};
use super::{Met, Name, Rest, Stored};

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: Name,
    modes: [String; 2],
    pub(super) blobs: [String; 2],
}

/// The origin of a file that is missing in the first checkpoint. One that existed already must not be removed by an
/// undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Made,
    There,
    Unknown,
}

fn is_file(mode: &str) -> bool {
    mode == "000000" || mode.starts_with("100")
}

impl Entry {
    pub(super) fn is_made(&self) -> bool {
        self.modes[0] == "000000"
    }

    pub(super) fn is_gone(&self) -> bool {
        self.modes[1] == "000000"
    }

    pub(super) fn are_files(&self) -> bool {
        self.modes.iter().all(|mode| is_file(mode))
    }

    pub(super) fn is_other_repository(&self) -> bool {
        self.modes.iter().any(|mode| mode.starts_with("160"))
    }

    /// Whether only the permissions differ.
    pub(super) fn is_mode_change(&self) -> bool {
        self.modes[0].get(..3) == self.modes[1].get(..3) && self.modes[0] != self.modes[1]
    }

    pub(super) fn permissions(&self) -> Option<u32> {
        permissions(&self.modes[0])
    }

    pub(super) fn stored(&self) -> Stored {
        Stored { name: self.name.clone(), blob: self.blobs[0].clone() }
    }

    pub(super) fn rest(&self, mode_only: bool) -> Rest {
        Rest { name: self.name.clone(), modes: self.modes.clone(), blobs: self.blobs.clone(), mode_only }
    }

    pub(super) fn origin(&self, met: &HashMap<Name, Met>, moved: &HashSet<Name>, gone: &HashSet<&str>) -> Origin {
        match met.get(&self.name) {
            _ if !self.is_made() || moved.contains(&self.name) || gone.contains(self.blobs[1].as_str()) => Origin::Made,
            Some(Met::Unchanged) => Origin::There,
            Some(Met::Changed) => Origin::Unknown,
            Some(Met::Made) | None => Origin::Made,
        }
    }
}

fn permissions(mode: &str) -> Option<u32> {
    u32::from_str_radix(mode.get(3..)?, 8).ok()
}

fn text(bytes: &[u8]) -> Option<String> {
    Some(str::from_utf8(bytes).ok()?.to_owned())
}

/// Parses `diff-tree --raw -z`: `:mode mode blob blob status`, then the name.
pub(super) fn entries(out: &[u8]) -> Vec<Entry> {
    let mut fields = out.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(head), Some(name)) = (fields.next(), fields.next()) {
        let mut words = head.strip_prefix(b":").unwrap_or_default().split(|byte| *byte == b' ').map(text);
        let mut word = || words.next().flatten();
        if let (Some(old), Some(new), Some(before), Some(after)) = (word(), word(), word(), word()) {
            found.push(Entry { name: name.to_vec(), modes: [old, new], blobs: [before, after] });
        }
    }
    found
}

/// Files that were renamed and changed.
pub(super) fn moved(repository: &Repository, from: &str, to: &str) -> HashSet<Name> {
    let arguments = ["diff-tree", "-r", "-z", "-M30%", "--diff-filter=R", "--name-status", from, to];
    let out = repository.git(Objects::All, &arguments, b"").unwrap_or_default();
    let mut fields = out.split(|byte| *byte == 0);
    let mut found = HashSet::new();
    while let (Some(_status), Some(_before), Some(name)) = (fields.next(), fields.next(), fields.next()) {
        found.insert(name.to_vec());
    }
    found
}

/// The regular files among `names` in a tree, with their permissions.
pub(super) fn files(repository: &Repository, tree: &str, names: &[&OsStr]) -> Vec<(Stored, Option<u32>)> {
    let mut arguments = ["--literal-pathspecs", "ls-tree", "-z", tree, "--"].map(OsStr::new).to_vec();
    arguments.extend_from_slice(names);
    let out = repository.git(Objects::All, &arguments, b"").unwrap_or_default();
    let of_line = |line: &[u8]| {
        let (head, name) = line.split_at_checked(line.iter().position(|byte| *byte == b'\t')?)?;
        let mut words = str::from_utf8(head).ok()?.split(' ');
        let (mode, kind, blob) = (words.next()?, words.next()?, words.next()?);
        let stored = Stored { name: name.get(1..)?.to_vec(), blob: blob.to_owned() };
        (kind == "blob" && mode.starts_with("100")).then(|| (stored, permissions(mode)))
    };
    out.split(|byte| *byte == 0).filter_map(of_line).collect()
}
