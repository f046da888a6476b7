//! Checkpoints of git work trees, which reveal the changes that shell commands make in a turn: takes and compares them,
//! and reads files from them. Everything waits for git, so not for Neovim's thread.
//!
//! Invariants: what a checkpoint tells of a file are its bytes on disk, whatever git makes of them, or it tells that it
//! does not know them. The output is limited; files beyond the limit are only reported as changed.

mod content;
mod git;
mod index;
mod seen;
mod store;
mod take;
mod uncommitted;

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use content::{Place as ContentPlace, contents};
use git::Repository;
use seen::{Content, Kind, Look, Met, State};

pub use seen::Name;
pub use take::{Checkpoints, Limits, NoCheckpoint, Place};
pub use uncommitted::{NoDiff, Uncommitted, uncommitted};

/// A checkpoint of a work tree. Its copies exist as long as it does.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    repository: Arc<Repository>,
    look: Look,
    early: Arc<[Name]>,
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

/// A file at two checkpoints.
struct Pair {
    name: Name,
    states: [Option<State>; 2],
}

impl Pair {
    /// What the path was and is: a folder or a pipe is no file.
    fn kinds(&self) -> [Option<Kind>; 2] {
        self.states.each_ref().map(|state| state.as_ref().map(State::kind).filter(|kind| *kind != Kind::Other))
    }

    fn is_made(&self) -> bool {
        self.kinds()[0].is_none()
    }

    fn is_gone(&self) -> bool {
        self.kinds()[1].is_none()
    }

    /// Whether another file has the name.
    fn is_another(&self) -> bool {
        matches!(&self.states, [Some(one), Some(two)] if one.stamp.inode != two.stamp.inode)
    }

    fn is_same(&self) -> bool {
        match &self.states {
            [Some(one), Some(two)] if self.kinds() != [None, None] => {
                one.kind() == two.kind() && one.is_like(two) && !self.is_mode_change()
            }
            _ => self.kinds() == [None, None],
        }
    }

    /// Whether it changed, but a content is not known.
    fn is_unknown(&self) -> bool {
        let is_unknown = |state: &State| state.kind() != Kind::Other && state.content == Content::Unknown;
        self.has_other_content() && self.states.iter().flatten().any(is_unknown)
    }

    fn are_files(&self) -> bool {
        self.kinds().iter().flatten().all(|kind| *kind == Kind::File)
    }

    /// Whether a program has become a text, or the other way round.
    fn is_mode_change(&self) -> bool {
        let [Some(one), Some(two)] = &self.states else { return false };
        self.kinds() == [Some(Kind::File); 2] && one.stamp.is_executable() != two.stamp.is_executable()
    }

    fn has_other_content(&self) -> bool {
        match &self.states {
            [Some(one), Some(two)] => one.kind() != two.kind() || !one.is_like(two),
            _ => true,
        }
    }

    fn place(&self, index: usize) -> Option<ContentPlace> {
        ContentPlace::of(self.states.get(index)?.as_ref()?)
    }

    fn rest(&self, mode_only: bool) -> Rest {
        let mode = |state: &Option<State>| match state {
            Some(state) if state.kind() == Kind::File => format!("100{:03o}", state.stamp.permissions() & 0o777),
            Some(state) if state.kind() == Kind::Link => "120000".to_owned(),
            _ => "000000".to_owned(),
        };
        let blob = |index| self.place(index).map(|place| place.to_string()).unwrap_or_default();
        Rest { name: self.name.clone(), modes: self.states.each_ref().map(mode), blobs: [0, 1].map(blob), mode_only }
    }
}

impl Checkpoint {
    /// The top of the work tree.
    #[must_use]
    pub fn top(&self) -> &Path {
        &self.repository.top
    }

    /// The files that changed after [`Place::since`], before this checkpoint saw them.
    #[must_use]
    pub fn early(&self) -> &[Name] {
        &self.early
    }

    /// Whether both have copies in one place.
    #[must_use]
    pub fn is_comparable(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.repository, &other.repository)
    }

    fn pairs(&self, later: &Self, unwanted: &HashSet<PathBuf>) -> Vec<Pair> {
        let seen = self.repository.seen();
        let pair = |name: &Name| {
            let states = [self.look, later.look].map(|look| seen.at(name, look).cloned());
            Pair { name: name.clone(), states }
        };
        let pairs: Vec<Pair> = seen.between(self.look, later.look).into_iter().map(pair).collect();
        drop(seen);
        let is_wanted = |pair: &Pair| !pair.is_same() && !is_among(&self.repository, unwanted, &pair.name);
        pairs.into_iter().filter(is_wanted).collect()
    }

    /// The files that differ from those at a later checkpoint, with their content at this one.
    ///
    /// All paths have links resolved: `unwanted` were written by the user, `known` changed by edits that the journal has. More than
    /// `max_files` others are no edit but a checkout or a build; changed and deleted ones come first.
    #[must_use]
    pub fn compare(
        &self,
        later: &Self,
        unwanted: &HashSet<PathBuf>,
        known: &HashSet<PathBuf>,
        max_files: usize,
    ) -> Differences {
        let mut differences = Differences::default();
        if !self.is_comparable(later) {
            return differences;
        }
        let repository = &*self.repository;
        let pairs = self.pairs(later, unwanted);
        let gone: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_gone() || pair.is_another()).collect();
        let (mut changed, mut made) = (Vec::new(), Vec::new());
        for pair in &pairs {
            if pair.is_unknown() {
                differences.left_out.push(pair.name.clone());
                continue;
            }
            match origin(pair, &gone) {
                Origin::There => continue,
                Origin::Unknown => {
                    differences.left_out.push(pair.name.clone());
                    continue;
                }
                Origin::Made => {}
            }
            if !pair.are_files() {
                differences.rest.push(pair.rest(false));
                continue;
            }
            if pair.has_other_content() {
                (if pair.is_made() { &mut made } else { &mut changed }).push(pair);
            }
            if pair.is_mode_change() {
                differences.rest.push(pair.rest(true));
            }
        }
        changed.append(&mut made);
        let (mut found, mut others): (Vec<&Pair>, Vec<&Pair>) =
            changed.into_iter().partition(|pair| is_among(repository, known, &pair.name));
        differences.too_many = (others.len() > max_files).then_some(others.len());
        differences.rest.extend(others.iter().skip(max_files).map(|pair| pair.rest(false)));
        others.truncate(max_files);
        found.append(&mut others);
        read(repository, &found, &mut differences);
        differences
    }

    /// Reads files by their paths, with links resolved; those that are not in it are left out.
    #[must_use]
    pub fn contained(&self, paths: &[PathBuf]) -> Vec<FoundFile> {
        let name = |path: &PathBuf| Some(path.strip_prefix(&self.repository.top).ok()?.as_os_str().as_bytes().to_vec());
        let mut names: Vec<Name> = paths.iter().filter_map(name).collect();
        names.sort_unstable();
        let state = |name: Name| {
            let state = self.repository.seen().at(&name, self.look).filter(|state| state.kind() == Kind::File).cloned();
            Some((name, state?))
        };
        let files: Vec<(Name, State)> = names.into_iter().filter_map(state).collect();
        let places: Vec<ContentPlace> = files.iter().filter_map(|(_, state)| ContentPlace::of(state)).collect();
        let contents = contents(&self.repository, &places);
        let found = |(name, state): (Name, State)| {
            let before = contents.get(&ContentPlace::of(&state)?)?.clone();
            Some(FoundFile { name, before: Some(before), mode: Some(state.stamp.permissions()) })
        };
        files.into_iter().filter_map(found).collect()
    }

    /// Reads stored copies that still exist.
    #[must_use]
    pub fn read(&self, files: &[Stored]) -> HashMap<Name, Vec<u8>> {
        let place = |file: &Stored| Some((file.name.clone(), ContentPlace::parse(&file.blob)?));
        let places: Vec<(Name, ContentPlace)> = files.iter().filter_map(place).collect();
        let wanted: Vec<ContentPlace> = places.iter().map(|(_, place)| place.clone()).collect();
        let contents = contents(&self.repository, &wanted);
        places.into_iter().filter_map(|(name, place)| Some((name, contents.get(&place)?.clone()))).collect()
    }
}

/// The origin of a file that is missing in the first checkpoint. One that existed already must not be removed by an
/// undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Made,
    There,
    Unknown,
}

fn origin(pair: &Pair, gone: &[&Pair]) -> Origin {
    let place = pair.place(1);
    // A file that is moved keeps its number, also with its folder, or if it is changed then.
    let is_it = |other: &&&Pair| {
        let states = other.states[0].as_ref().zip(pair.states[1].as_ref());
        states.is_some_and(|(old, new)| old.stamp.is_moved_to(&new.stamp))
            || other.is_gone() && other.place(0).zip(place.as_ref()).is_some_and(|(old, new)| old.is_like(new))
    };
    match pair.states[1].as_ref().and_then(|state| state.met) {
        _ if !pair.is_made() => Origin::Made,
        Some(Met::Made) | None => Origin::Made,
        _ if gone.iter().any(|other| is_it(&other)) => Origin::Made,
        Some(Met::Unchanged) => Origin::There,
        Some(Met::Changed) => Origin::Unknown,
    }
}

fn is_among(repository: &Repository, paths: &HashSet<PathBuf>, name: &[u8]) -> bool {
    if paths.is_empty() {
        return false;
    }
    let path = repository.path(name);
    paths.contains(&path.canonicalize().unwrap_or(path))
}

fn read(repository: &Repository, changed: &[&Pair], differences: &mut Differences) {
    let places: Vec<ContentPlace> = changed.iter().filter_map(|pair| pair.place(0)).collect();
    let contents = contents(repository, &places);
    let only_bytes_tell =
        |pair: &&&Pair| pair.place(0).zip(pair.place(1)).is_some_and(|(old, new)| old.may_be_like(&new));
    let unclear: Vec<ContentPlace> = changed.iter().filter(only_bytes_tell).filter_map(|pair| pair.place(1)).collect();
    let later = content::contents(repository, &unclear);
    for pair in changed {
        let before = pair.place(0).map(|place| contents.get(&place).cloned());
        let after = pair.place(1).and_then(|place| later.get(&place).cloned());
        if after.is_some() && before == Some(after) {
            continue;
        }
        let mode = pair.states[0].as_ref().filter(|_| !pair.is_made()).map(|state| state.stamp.permissions());
        match before {
            Some(None) => differences.left_out.push(pair.name.clone()),
            before => differences.found.push(FoundFile { name: pair.name.clone(), before: before.flatten(), mode }),
        }
    }
}

#[cfg(test)]
mod stories;
#[cfg(test)]
mod tests;
