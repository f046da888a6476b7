//! Holds the copies of a work tree's files: their exact bytes, in one file of ours.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sha1::{Digest as _, Sha1};

/// What tells one content from another: the name that git would give it in a repository with SHA-1.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Id(pub(super) Box<[u8]>);

impl Id {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", bytes.len()));
        hash.update(bytes);
        Self(hash.finalize().as_slice().into())
    }

    pub(super) fn parse(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        let is_hex = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        is_hex.then(|| digits.chunks(2).filter_map(byte).collect()).map(Self)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{self}")
    }
}

/// The copies.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Where each content is, and its length.
    places: HashMap<Id, (u64, usize)>,
    end: u64,
}

impl Store {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self { file, kept: Mutex::default() })
    }

    /// Keeps a content.
    pub(super) fn put(&self, id: &Id, bytes: &[u8]) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.places.contains_key(id) {
            let at = kept.end;
            self.file.write_all_at(bytes, at)?;
            kept.places.insert(id.clone(), (at, bytes.len()));
            kept.end += u64::try_from(bytes.len()).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// A content that was kept.
    pub(super) fn get(&self, id: &Id) -> Option<Vec<u8>> {
        let (at, length) = *self.kept.lock().unwrap_or_else(PoisonError::into_inner).places.get(id)?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}
