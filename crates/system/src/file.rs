//! Files that are written whole: whoever looks sees the old contents or the new, never a part.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Who may read and write a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The user alone.
    Private,
    /// Whoever the system lets by default.
    Usual,
    /// As these say.
    Like(Permissions),
}

/// A file that is about to be written: beside its place first, then by a rename.
#[derive(Debug)]
pub struct Whole<'a> {
    /// Where it will be.
    pub path: &'a Path,
    /// What it is called until it is whole, in the same folder. The name is of this process alone: what bears it was left by
    /// one that was killed, and is removed.
    pub temporary: &'a Path,
    /// Who may read and write it.
    pub access: Access,
    /// Whether it is on the disk, and not only on its way there, once it is written.
    pub durable: bool,
}

impl Whole<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// What the system says; then nothing is left of it, and what was there still is.
    pub fn write(&self, contents: &[u8]) -> io::Result<()> {
        self.write_in(CWD, contents)
    }

    /// The same, where both paths begin in this folder.
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
            // The error that matters is the first one.
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
    fn takes_the_place_of_what_was_there_and_leaves_nothing_beside_it() {
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
    fn what_could_not_take_its_place_is_gone() {
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
}
