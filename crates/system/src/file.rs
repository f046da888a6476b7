//! Replaces files atomically: readers see the old contents or the new, never a part. Opens only regular files of
//! folders to which other programs write. [`rewrite`] is for files of the user's, which stay what they are.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, RawMode, fchown, flock, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The permissions of a new file, unless others are named.
const ORDINARY: u32 = 0o644;

/// Opens a regular file to read it. Opening a pipe would wait for its writer.
///
/// # Errors
/// The system's error, or [`io::ErrorKind::InvalidInput`] if it is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// The first `most` bytes of a regular file.
///
/// # Errors
/// As [`open_regular`], or the system's at reading.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a folder that only the user can read, and those above it.
///
/// # Errors
/// The system's error.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// How often a lock is looked at while it is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Opens a file, which is created with its folder, and locks it until it is closed. On a file system without locks it is not locked.
///
/// # Errors
/// The system's error, or [`io::ErrorKind::WouldBlock`] if another process has the lock for that long: it may be suspended.
pub fn lock(path: &Path, wait: Duration) -> io::Result<File> {
    create_private_folder(path.parent().unwrap_or(path))?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let began = Instant::now();
    while let Err(Errno::WOULDBLOCK | Errno::INTR) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if began.elapsed() >= wait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        sleep(LOOK_AGAIN);
    }
    Ok(file)
}

/// The permissions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Only the user.
    Private,
    /// The system's default.
    Usual,
    /// These permissions, as far as the user's mask allows.
    New(u32),
    /// These permissions.
    Like(Permissions),
    /// The permissions, group and extended attributes of this file; access control lists are among them.
    Same(PathBuf),
}

/// A file to be written under a temporary name and then renamed.
#[derive(Debug)]
pub struct Whole<'a> {
    /// Its final path.
    pub path: &'a Path,
    /// Its temporary path, in the same folder. The name must be this process's own: a file left there by a killed
    /// process is removed.
    pub temporary: &'a Path,
    /// Its permissions.
    pub access: Access,
    /// Whether to wait until the contents are on the disk.
    pub durable: bool,
}

impl Whole<'_> {
    /// Writes the file.
    ///
    /// # Errors
    /// The system's error; then the old file is unchanged, and the temporary one removed.
    pub fn write(&self, contents: &[u8]) -> io::Result<()> {
        self.write_in(CWD, contents)
    }

    /// Like [`Whole::write`], with both paths relative to `folder`.
    ///
    /// # Errors
    /// As [`Whole::write`].
    pub fn write_in(&self, folder: impl AsFd, contents: &[u8]) -> io::Result<()> {
        let folder = folder.as_fd();
        let file = match self.create(folder) {
            Err(Errno::EXIST) => {
                unlinkat(folder, self.temporary, AtFlags::empty())?;
                self.create(folder)
            }
            other => other,
        };
        let written = self.fill(file?.into(), contents);
        let written = written.and_then(|()| Ok(renameat(folder, self.temporary, folder, self.path)?));
        if written.is_err() {
            // The first error is the relevant one.
            unlinkat(folder, self.temporary, AtFlags::empty()).ok();
        }
        written
    }

    fn create(&self, folder: impl AsFd) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = match &self.access {
            Access::Private | Access::Same(_) => 0o600,
            Access::Usual | Access::Like(_) => 0o666,
            Access::New(mode) => *mode,
        };
        let mode = RawMode::try_from(mode).unwrap_or(0o600);
        openat(folder, self.temporary, flags, Mode::from_raw_mode(mode))
    }

    fn fill(&self, mut file: File, contents: &[u8]) -> io::Result<()> {
        if let Access::Like(permissions) = &self.access {
            file.set_permissions(permissions.clone())?;
        }
        file.write_all(contents)?;
        // Last, as writing takes some of it away.
        if let Access::Same(other) = &self.access {
            become_like(&file, other)?;
        }
        if self.durable { file.sync_all() } else { Ok(()) }
    }
}

/// Gives a file the permissions, the group and the extended attributes of another one.
fn become_like(file: &File, other: &Path) -> io::Result<()> {
    let about = fs::metadata(other)?;
    if file.metadata()?.gid() != about.gid() {
        fchown(file, None, Some(Gid::from_raw(about.gid())))?;
    }
    file.set_permissions(Permissions::from_mode(about.mode() & 0o7777))?;
    Ok(attributes::copy(other, file)?)
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
mod attributes {
    use std::fs::File;
    use std::path::Path;

    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, getxattr, listxattr};
    use rustix::io::Errno;

    /// The limit of Linux, for the names and for a value. A file that has more is written in place.
    const MOST_BYTES: usize = 64 * 1024;

    pub(super) fn copy(from: &Path, to: &File) -> Result<(), Errno> {
        let mut names = vec![0; MOST_BYTES];
        let size = match listxattr(from, &mut *names) {
            Err(Errno::NOTSUP) => return Ok(()),
            other => other?,
        };
        let (mut value, mut has) = (vec![0; MOST_BYTES], vec![0; MOST_BYTES]);
        let names = names.get(..size).unwrap_or_default();
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let size = getxattr(from, name, &mut *value)?;
            let value = value.get(..size).unwrap_or_default();
            // Attributes that the system sets on each file cannot be set by users.
            let is_set = fgetxattr(to, name, &mut *has).is_ok_and(|size| has.get(..size) == Some(value));
            if !is_set {
                fsetxattr(to, name, value, XattrFlags::empty())?;
            }
        }
        Ok(())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
mod attributes {
    pub(super) fn copy(_: &std::path::Path, _: &std::fs::File) -> Result<(), rustix::io::Errno> {
        Ok(())
    }
}

/// Writes a file of the user's: whole or not at all, also if this process is killed or the disk is full. Where the file
/// would become another one it is written in place: it has several names, another owner, or attributes that cannot be
/// copied, or its folder takes no file. Links are followed, and what is no regular file is refused. `mode` is that of a new
/// file.
///
/// # Errors
/// The system's error; then the file is unchanged, if it was not written in place.
pub fn rewrite(path: &Path, contents: &[u8], mode: Option<u32>) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&path).ok();
    let access = match &before {
        None => Access::New(mode.unwrap_or(ORDINARY)),
        Some(about) if about.is_file() && about.nlink() == 1 && about.uid() == geteuid().as_raw() => {
            Access::Same(path.clone())
        }
        Some(_) => return overwrite(&path, contents),
    };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(path.file_name().unwrap_or_default());
    temporary.push(format!(".{}.tmp", std::process::id()));
    let whole = Whole { path: &path, temporary: &path.with_file_name(temporary), access, durable: false };
    match whole.write(contents) {
        Err(error) if before.is_some() && !is_of_disk(&error) => overwrite(&path, contents),
        other => other,
    }
}

/// The system's words for a user, without the number that Rust adds to them.
#[must_use]
pub fn words_of(error: &io::Error) -> String {
    let words = error.to_string();
    words.split_once(" (os error").map_or(words.as_str(), |(words, _)| words).to_owned()
}

/// Whether a file in its place could not be written either.
fn is_of_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
        || error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// Writes into a file as it is. What lies behind the old end comes first: a disk that is full costs nothing of the old text.
///
/// # Errors
/// The system's error; then the file has its old size.
pub fn overwrite(path: &Path, contents: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let common = usize::try_from(about.len()).unwrap_or(usize::MAX).min(contents.len());
    let (head, tail) = contents.split_at(common);
    let written = file.write_all_at(tail, about.len()).and_then(|()| file.write_all_at(head, 0));
    let size = if written.is_ok() { u64::try_from(contents.len()).unwrap_or(u64::MAX) } else { about.len() };
    file.set_len(size)?;
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole<'a>(path: &'a Path, temporary: &'a Path, access: Access) -> Whole<'a> {
        Whole { path, temporary, access, durable: false }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn replaces_the_file_and_leaves_nothing_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let (path, temporary) = (home.path().join("file"), home.path().join("new"));
        fs::write(&path, "before").unwrap();
        fs::write(&temporary, "left by one that was killed").unwrap();
        whole(&path, &temporary, Access::Private).write(b"after").unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode(&path)), (b"after".as_slice(), 0o600));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn keeps_the_mode_it_is_given() {
        let home = tempfile::tempdir().unwrap();
        let (path, temporary) = (home.path().join("file"), home.path().join("new"));
        whole(&path, &temporary, Access::Like(Permissions::from_mode(0o751))).write(b"").unwrap();
        assert_eq!(mode(&path), 0o751);
    }

    #[test]
    fn a_file_that_could_not_be_renamed_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let (path, temporary) = (home.path().join("folder"), home.path().join("new"));
        fs::create_dir(&path).unwrap();
        whole(&path, &temporary, Access::Usual).write(b"x").unwrap_err();
        assert!(path.is_dir() && !temporary.exists());
    }

    #[test]
    fn follows_no_link_that_bears_its_name() {
        let home = tempfile::tempdir().unwrap();
        let (path, temporary, other) = (home.path().join("file"), home.path().join("new"), home.path().join("other"));
        fs::write(&other, "theirs").unwrap();
        std::os::unix::fs::symlink(&other, &temporary).unwrap();
        whole(&path, &temporary, Access::Usual).write(b"ours").unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"theirs");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, pipe) = (dir.path().join("file"), dir.path().join("link"), dir.path().join("pipe"));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(io::read_to_string(open_regular(&link).unwrap()).unwrap(), "text");
        assert_eq!(read_regular(&link, 3).unwrap(), b"tex");
        for other in [dir.path(), &pipe, Path::new("/dev/null")] {
            assert_eq!(open_regular(other).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{other:?}");
        }
    }

    #[test]
    fn a_file_is_rewritten_as_a_whole_and_keeps_its_mode() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        rewrite(&path, b"after", Some(0o600)).unwrap();
        let about = fs::metadata(&path).unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode(&path)), (b"after".as_slice(), 0o640));
        assert_ne!(about.ino(), inode);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_with_several_names_is_written_in_place_also_through_a_link() {
        let home = tempfile::tempdir().unwrap();
        let (path, other, link) = (home.path().join("file"), home.path().join("other"), home.path().join("link"));
        fs::write(&path, "the old text").unwrap();
        fs::hard_link(&path, &other).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for text in ["a longer text than before", "short", ""] {
            rewrite(&link, text.as_bytes(), None).unwrap();
            assert_eq!(fs::read_to_string(&other).unwrap(), text);
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_file_whose_folder_takes_no_other_is_written_in_place() {
        let home = tempfile::tempdir().unwrap();
        // The name of the temporary file would be too long, as no permission stops root.
        let path = home.path().join("n".repeat(255));
        fs::write(&path, "before").unwrap();
        rewrite(&path, b"after", None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
    }

    #[test]
    fn a_new_file_gets_a_mode_and_a_pipe_none() {
        let home = tempfile::tempdir().unwrap();
        let (path, pipe) = (home.path().join("file"), home.path().join("pipe"));
        rewrite(&path, b"new", Some(0o700)).unwrap();
        assert_eq!(mode(&path), 0o700);
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        rewrite(&pipe, b"x", None).unwrap_err();
    }
}
