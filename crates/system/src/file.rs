//! Replaces files atomically: readers see the old contents or the new, never a part. Opens only regular files of
//! folders to which other programs write.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

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

/// The permissions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Only the user.
    Private,
    /// The system's default.
    Usual,
    /// These permissions.
    Like(Permissions),
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
        let mode = match self.access {
            Access::Private => 0o600,
            Access::Usual | Access::Like(_) => 0o666,
        };
        openat(folder, self.temporary, flags, Mode::from_raw_mode(mode))
    }

    fn fill(&self, mut file: File, contents: &[u8]) -> io::Result<()> {
        if let Access::Like(permissions) = &self.access {
            file.set_permissions(permissions.clone())?;
        }
        file.write_all(contents)?;
        if self.durable { file.sync_all() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
}
