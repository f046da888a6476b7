//! Reads what a checkpoint has of a file: its exact bytes, or nothing.

use std::collections::HashMap;
use std::fmt;

use super::git::Repository;
use super::seen::{Content, Kind, State};
use super::store::Id;

/// Larger files cannot be undone.
pub(super) const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Where the content of a file is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    is_git: bool,
    /// Of the file.
    size: u64,
    id: Id,
}

impl Place {
    /// `None`: it is nowhere.
    pub(super) fn of(state: &State) -> Option<Self> {
        match &state.content {
            _ if state.kind() == Kind::Other => None,
            Content::Git(id) => Some(Self { is_git: true, size: state.stamp.size, id: id.clone() }),
            Content::Copy(id) => Some(Self { is_git: false, size: state.stamp.size, id: id.clone() }),
            Content::Unknown => None,
        }
    }

    /// Whether both have the same content, as far as their names tell.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.id == other.id && self.size == other.size
    }

    /// Whether only the bytes tell that: git names contents in another way than we do.
    pub(super) fn may_be_like(&self, other: &Self) -> bool {
        self.size == other.size && self.id.0.len() != other.id.0.len()
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split('-');
        let (kind, size, id) = (words.next()?, words.next()?, words.next()?);
        Some(Self { is_git: kind == "git", size: size.parse().ok()?, id: Id::parse(id)? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}-{}", if self.is_git { "git" } else { "copy" }, self.size, self.id)
    }
}

/// The contents that are known, by their places.
pub(super) fn contents(repository: &Repository, wanted: &[Place]) -> HashMap<Place, Vec<u8>> {
    let is_small = |place: &&Place| usize::try_from(place.size).is_ok_and(|size| size <= MAX_FILE_BYTES);
    let wanted: Vec<&Place> = wanted.iter().filter(is_small).collect();
    let in_git: Vec<(Id, u64)> =
        wanted.iter().filter(|place| place.is_git).map(|place| (place.id.clone(), place.size)).collect();
    let blobs = if in_git.is_empty() { HashMap::new() } else { repository.blobs(&in_git) };
    let content = |place: &Place| {
        if place.is_git { on_disk(blobs.get(&place.id)?, place.size) } else { repository.store.get(&place.id) }
    };
    wanted.into_iter().filter_map(|place| Some((place.clone(), content(place)?))).collect()
}

/// The bytes of a file of which git has the blob. `None` if they cannot be known: git has removed something else than
/// the carriage return of each line.
fn on_disk(blob: &[u8], size: u64) -> Option<Vec<u8>> {
    let size = usize::try_from(size).ok()?;
    if blob.len() == size {
        return Some(blob.to_vec());
    }
    let lines = memchr::memchr_iter(b'\n', blob).count();
    if blob.len() + lines != size || memchr::memmem::find(blob, b"$Id").is_some() {
        return None;
    }
    let mut out = Vec::with_capacity(size);
    for line in blob.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => out.extend([line, b"\r\n"].concat()),
            None => out.extend_from_slice(line),
        }
    }
    Some(out)
}
