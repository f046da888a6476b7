//! Reads a file that is about to be edited.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use claude_ide_system::file::open_regular;

/// What a file is on disk.
#[derive(Debug)]
pub enum OnDisk {
    /// A regular file.
    File {
        /// All its bytes.
        bytes: Vec<u8>,
        /// Its permissions.
        mode: u32,
        /// The number of its names (hard links).
        links: u64,
    },
    /// There is no such file.
    Missing,
    /// It has more bytes than wanted.
    TooLarge,
    /// No regular file, or the system refuses.
    Unreadable(io::Error),
}

impl OnDisk {
    /// Reads a file of at most `most` bytes.
    #[must_use]
    pub fn read(path: &Path, most: u64) -> Self {
        match open_regular(path).and_then(|file| read(file, most)) {
            Ok(Some((bytes, mode, links))) => Self::File { bytes, mode, links },
            Ok(None) => Self::TooLarge,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Self::Missing
            }
            Err(error) => Self::Unreadable(error),
        }
    }
}

fn read(file: File, most: u64) -> io::Result<Option<(Vec<u8>, u32, u64)>> {
    let about = file.metadata()?;
    if about.len() > most {
        return Ok(None);
    }
    // A file of /proc has no size, and may be endless.
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    file.take(about.len()).read_to_end(&mut bytes)?;
    Ok(Some((bytes, about.permissions().mode() & 0o7777, about.nlink())))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_regular_file_of_that_size_is_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.txt");
        assert!(matches!(OnDisk::read(&path, 4), OnDisk::Missing));
        fs::write(&path, "four").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(OnDisk::read(&path, 4), OnDisk::File { bytes, mode: 0o640, links: 1 } if bytes == b"four"));
        assert!(matches!(OnDisk::read(&path, 3), OnDisk::TooLarge));
        assert!(matches!(OnDisk::read(&path.join("b"), 4), OnDisk::Missing));
        assert!(matches!(OnDisk::read(home.path(), 4), OnDisk::Unreadable(_)));
    }
}
