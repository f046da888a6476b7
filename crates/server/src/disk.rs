//! File access for the file protocol: whole files, limited in size, written atomically. Blocking: for blocking
//! threads only.
//!
//! Invariant: no symbolic link is followed. Each folder of the path is opened relative to its parent, so that a link
//! created after the path was checked cannot lead out of the workspace.

use std::{
    ffi::OsStr,
    fs::{File, Permissions},
    io::{self, Read},
    os::fd::OwnedFd,
    path::{Component, Path},
    sync::atomic::{AtomicU64, Ordering},
};

use claude_ide_system::file::{Access, Whole};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat},
    io::Errno,
};

use crate::workspace::Place;

/// Flags for opening a folder within the path. Where possible, without needing permission to list it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Non-blocking: opening a pipe would wait for its other end.
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Why a file could not be read or written, worded for the client.
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
    #[error("a symbolic link has taken its place, or that of its folder")]
    Replaced,
    #[error("it changed on disk while its change was reviewed")]
    Changed,
    #[error("{0}")]
    Io(io::Error),
}

impl DiskError {
    pub(crate) fn too_large(bytes: usize, limit: usize) -> Self {
        let wide = |number| u64::try_from(number).unwrap_or(u64::MAX);
        Self::TooLarge { bytes: wide(bytes), limit: wide(limit) }
    }
}

impl From<io::Error> for DiskError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            _ => Self::Io(error),
        }
    }
}

impl From<Errno> for DiskError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::LOOP => Self::Replaced,
            other => io::Error::from(other).into(),
        }
    }
}

/// Reads a text file.
pub(crate) fn read(place: &Place, limit: usize) -> Result<String, DiskError> {
    let (_, bytes) = present(place, limit)?.ok_or(DiskError::NotFound)?;
    String::from_utf8(bytes).map_err(|_| DiskError::NotText)
}

/// The current content of a file to be written; `None` if it does not exist.
///
/// # Errors
/// It cannot be written, as far as this can be determined in advance.
pub(crate) fn before_write(place: &Place, limit: usize) -> Result<Option<Vec<u8>>, DiskError> {
    match present(place, limit)? {
        // A rename would bypass the permission, against the user's intent.
        Some((mode, _)) if mode.readonly() => Err(DiskError::ReadOnly),
        other => Ok(other.map(|(_, bytes)| bytes)),
    }
}

/// Writes a file atomically: readers see the old contents or the new. Its mode is kept; missing folders are created.
pub(crate) fn write(place: &Place, contents: &str) -> Result<(), DiskError> {
    let (folder, name) = enter(place, Missing::Make)?.ok_or(DiskError::NotFound)?;
    let access = match open_file(&folder, name)?.map(|file| mode_of(&file)).transpose()? {
        Some(mode) if mode.readonly() => return Err(DiskError::ReadOnly),
        Some(mode) => Access::Like(mode),
        None => Access::Usual,
    };
    let temporary = temporary_name();
    let whole = Whole { path: name.as_ref(), temporary: temporary.as_ref(), access, durable: true };
    Ok(whole.write_in(&folder, contents.as_bytes())?)
}

/// Like [`write()`], if the file still has the content `seen`.
///
/// # Errors
/// [`DiskError::Changed`] otherwise.
pub(crate) fn write_over(seen: Option<&[u8]>, place: &Place, contents: &str) -> Result<(), DiskError> {
    let limit = seen.map_or(0, <[u8]>::len);
    match present(place, limit) {
        Ok(now) if now.as_ref().map(|(_, bytes)| bytes.as_slice()) == seen => write(place, contents),
        Ok(_) | Err(DiskError::TooLarge { .. }) => Err(DiskError::Changed),
        Err(error) => Err(error),
    }
}

fn present(place: &Place, limit: usize) -> Result<Option<(Permissions, Vec<u8>)>, DiskError> {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let Some((folder, name)) = enter(place, Missing::Leave)? else { return Ok(None) };
    let Some(file) = open_file(&folder, name)? else { return Ok(None) };
    let mode = mode_of(&file)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    // One byte more than the limit: a file may grow while it is read.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if read > limit {
        return Err(DiskError::TooLarge { bytes: length.max(read), limit });
    }
    Ok(Some((mode, bytes)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

/// Opens a file's folder and returns it with the file's name; `None` if the folder does not exist.
fn enter(place: &Place, missing: Missing) -> Result<Option<(OwnedFd, &OsStr)>, DiskError> {
    let name = place.relative.file_name().ok_or(DiskError::NotAFile)?;
    let mut folder = openat(CWD, &place.root, STEP, Mode::empty())?;
    for step in place.relative.parent().unwrap_or(Path::new("")).components() {
        // `workspace` has resolved every other kind.
        let Component::Normal(step) = step else { return Err(DiskError::NotAFile) };
        folder = match open_folder(&folder, step) {
            Err(DiskError::NotFound) if missing == Missing::Leave => return Ok(None),
            Err(DiskError::NotFound) => {
                match mkdirat(&folder, step, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                open_folder(&folder, step)?
            }
            other => other?,
        };
    }
    Ok(Some((folder, name)))
}

fn open_folder(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd, DiskError> {
    openat(parent, name, STEP, Mode::empty()).map_err(|error| match error {
        // Systems differ in the error for a link in place of a folder.
        Errno::NOTDIR if is_link(parent, name) => DiskError::Replaced,
        other => other.into(),
    })
}

fn is_link(parent: &OwnedFd, name: &OsStr) -> bool {
    let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_symlink())
}

/// Opens a regular file; `None` if it does not exist.
fn open_file(folder: &OwnedFd, name: &OsStr) -> Result<Option<File>, DiskError> {
    let file = match openat(folder, name, LOOK, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        // A socket, or a missing device.
        Err(Errno::NXIO) => return Err(DiskError::NotAFile),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() { Ok(Some(file)) } else { Err(DiskError::NotAFile) }
}

fn mode_of(file: &File) -> io::Result<Permissions> {
    Ok(file.metadata()?.permissions())
}

/// A name that no other program uses, and this one only once.
fn temporary_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!(".claude-ide.{}.{number}.tmp", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    fn at(home: &tempfile::TempDir, relative: &str) -> Place {
        Place { root: home.path().to_owned(), relative: relative.into() }
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            write(&at(&home, path), contents).unwrap();
        }
        home
    }

    fn message<T: std::fmt::Debug>(result: Result<T, DiskError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn reads_what_was_written() {
        let home = tree(&[("new/dir/a.txt", "ünï\r\nno newline")]);
        assert_eq!(read(&at(&home, "new/dir/a.txt"), 100).unwrap(), "ünï\r\nno newline");
    }

    #[test]
    fn says_in_words_why_a_file_cannot_be_read() {
        let home = tree(&[("large", "12345")]);
        fs::write(home.path().join("latin1"), b"\xE9").unwrap();
        assert_eq!(message(read(&at(&home, "missing"), 9)), "File not found");
        assert_eq!(message(read(&at(&home, ""), 9)), "it is not a regular file");
        assert_eq!(message(read(&at(&home, "latin1"), 9)), "it is not UTF-8 text");
        assert_eq!(message(read(&at(&home, "large"), 4)), "it has 5 bytes, more than the limit of 4");
        let device = Place { root: "/dev".into(), relative: "zero".into() };
        assert_eq!(message(read(&device, 9)), "it is not a regular file");
    }

    #[test]
    fn a_write_keeps_the_mode_and_leaves_nothing_beside_it() {
        let home = tree(&[("run.sh", "old")]);
        let path = home.path().join("run.sh");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        write(&at(&home, "run.sh"), "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_read_only_file_is_not_written() {
        let home = tree(&[("a", "old")]);
        let path = home.path().join("a");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(message(write(&at(&home, "a"), "new")), "it is read-only");
        assert_eq!(message(before_write(&at(&home, "a"), 9)), "it is read-only");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn a_folder_is_not_written() {
        let home = tree(&[]);
        assert_eq!(message(write(&at(&home, ""), "x")), "it is not a regular file");
    }

    #[test]
    fn a_link_planted_in_the_path_is_not_followed() {
        let (home, outside) = (tree(&[("sub/a", "inside")]), tree(&[("a", "outside")]));
        fs::rename(home.path().join("sub"), home.path().join("moved")).unwrap();
        symlink(outside.path(), home.path().join("sub")).unwrap();
        symlink(outside.path().join("a"), home.path().join("link")).unwrap();
        for place in ["sub/a", "sub/new", "link"] {
            let place = at(&home, place);
            assert!(message(write(&place, "x")).contains("symbolic link"), "{place:?}");
            assert!(message(read(&place, 99)).contains("symbolic link"), "{place:?}");
        }
        assert_eq!(fs::read_to_string(outside.path().join("a")).unwrap(), "outside");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_is_neither_waited_for_nor_replaced() {
        let home = tree(&[]);
        assert!(std::process::Command::new("mkfifo").arg(home.path().join("pipe")).status().unwrap().success());
        assert_eq!(message(read(&at(&home, "pipe"), 9)), "it is not a regular file");
        assert_eq!(message(write(&at(&home, "pipe"), "x")), "it is not a regular file");
    }

    #[test]
    fn a_file_changed_since_it_was_read_is_not_overwritten() {
        let home = tree(&[("a", "seen")]);
        let (a, b) = (at(&home, "a"), at(&home, "b"));
        for now in ["SEEN", "seen and more", ""] {
            fs::write(home.path().join("a"), now).unwrap();
            assert_eq!(
                message(write_over(Some(b"seen"), &a, "new")),
                "it changed on disk while its change was reviewed"
            );
            assert_eq!(fs::read_to_string(home.path().join("a")).unwrap(), now);
        }
        assert!(write_over(None, &a, "new").is_err());
        assert!(write_over(Some(b""), &b, "new").is_err());
        write_over(None, &b, "new").unwrap();
        write_over(Some(b"new"), &b, "newer").unwrap();
        assert_eq!(fs::read_to_string(home.path().join("b")).unwrap(), "newer");
    }
}
