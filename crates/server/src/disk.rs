//! Files on disk, for the methods of seed 000: whole, bounded, written atomically. Blocking: for blocking threads only.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

/// Why a file could not be read or written, in words for the caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    #[error("File not found")]
    NotFound,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("it has {bytes} bytes, more than the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("it is read-only")]
    ReadOnly,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for DiskError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            _ => Self::Io(error),
        }
    }
}

/// Reads a text file.
pub(crate) fn read(path: &Path, limit: usize) -> Result<String, DiskError> {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    // Asked before it is opened: to open a pipe would wait for its other end.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(DiskError::NotAFile);
    }
    let mut bytes = Vec::new();
    // One more than the limit: a file may grow while it is read.
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if read > limit {
        return Err(DiskError::TooLarge { bytes: metadata.len().max(read), limit });
    }
    String::from_utf8(bytes).map_err(|_| DiskError::NotText)
}

/// Writes a file so that whoever looks sees the old contents or the new, never a part. Its mode is kept; missing folders
/// are made.
pub(crate) fn write(path: &Path, contents: &str) -> Result<(), DiskError> {
    let mode = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(DiskError::NotAFile),
        // A rename would get past it, which the user did not mean.
        Ok(metadata) if metadata.permissions().readonly() => return Err(DiskError::ReadOnly),
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(DiskError::NotAFile);
    };
    fs::create_dir_all(dir)?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = dir.join(temporary);
    let written = OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(|mut file| {
        if let Some(mode) = mode {
            file.set_permissions(mode)?;
        }
        file.write_all(contents.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if let Err(error) = written {
        if error.kind() != io::ErrorKind::AlreadyExists {
            // The error that matters is the first one.
            drop(fs::remove_file(&temporary));
        }
        return Err(DiskError::Io(error));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            write(&home.path().join(path), contents).unwrap();
        }
        home
    }

    fn message<T: std::fmt::Debug>(result: Result<T, DiskError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn reads_what_was_written() {
        let home = tree(&[("new/dir/a.txt", "ünï\r\nno newline")]);
        assert_eq!(read(&home.path().join("new/dir/a.txt"), 100).unwrap(), "ünï\r\nno newline");
    }

    #[test]
    fn says_in_words_why_a_file_cannot_be_read() {
        let home = tree(&[("large", "12345")]);
        fs::write(home.path().join("latin1"), b"\xE9").unwrap();
        assert_eq!(message(read(&home.path().join("missing"), 9)), "File not found");
        assert_eq!(message(read(home.path(), 9)), "it is not a regular file");
        assert_eq!(message(read(&home.path().join("latin1"), 9)), "it is not UTF-8 text");
        assert_eq!(message(read(&home.path().join("large"), 4)), "it has 5 bytes, more than the limit of 4");
        assert_eq!(message(read(Path::new("/dev/zero"), 9)), "it is not a regular file");
    }

    #[test]
    fn a_write_keeps_the_mode_and_leaves_nothing_beside_it() {
        let home = tree(&[("run.sh", "old")]);
        let path = home.path().join("run.sh");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_read_only_file_is_not_written() {
        let home = tree(&[("a", "old")]);
        let path = home.path().join("a");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(message(write(&path, "new")), "it is read-only");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn a_folder_is_not_written() {
        let home = tree(&[]);
        assert_eq!(message(write(home.path(), "x")), "it is not a regular file");
    }
}
