//! Files on disk, for the methods of seed 000: whole, bounded, written atomically. Blocking: for blocking threads only.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use crate::workspace::display;

/// How many files `listFiles` names at most.
pub(crate) const MAX_LISTED: usize = 10_000;
/// How many files `getWorkspaceInfo` counts at most.
pub(crate) const MAX_COUNTED: usize = 100_000;
/// How long a walk may take: a person waits for it.
const WALK_TIME: Duration = Duration::from_secs(10);
/// Folders of version control: they are ignored by nature, not by a rule.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

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

/// What a walk found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Named as clients name them, sorted within each folder.
    pub(crate) files: Vec<String>,
    /// Why there may be more.
    pub(crate) cut: Option<Cut>,
}

/// Why a walk ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Number,
    Time,
}

/// A pattern for files.
#[derive(Debug)]
pub(crate) struct Pattern {
    glob: GlobMatcher,
    /// A pattern without a slash speaks of the name alone, as in .gitignore.
    name_only: bool,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, globset::Error> {
        let pattern = pattern.trim_start_matches("./");
        let name_only = !pattern.contains('/');
        let glob = GlobBuilder::new(pattern.trim_start_matches('/')).literal_separator(true).build()?;
        Ok(Self { glob: glob.compile_matcher(), name_only })
    }

    fn matches(&self, relative: &Path) -> bool {
        let subject = if self.name_only { relative.file_name().map(Path::new) } else { Some(relative) };
        subject.is_some_and(|subject| self.glob.is_match(subject))
    }
}

/// The files of the workspace that version control would not ignore.
pub(crate) fn list(folders: &[PathBuf], pattern: Option<&Pattern>, limit: usize, stop: &AtomicBool) -> Listing {
    let mut listing = Listing { files: Vec::new(), cut: None };
    let deadline = Instant::now() + WALK_TIME;
    for folder in folders {
        let walk = WalkBuilder::new(folder)
            .hidden(false)
            .require_git(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(|entry| !VERSION_CONTROL.iter().any(|name| entry.file_name() == *name))
            .build();
        for entry in walk.flatten() {
            if stop.load(Ordering::Relaxed) {
                return listing;
            }
            if Instant::now() > deadline {
                listing.cut = Some(Cut::Time);
                return listing;
            }
            let relative = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
            if !is_file || !pattern.is_none_or(|pattern| pattern.matches(relative)) {
                continue;
            }
            if listing.files.len() >= limit {
                listing.cut = Some(Cut::Number);
                return listing;
            }
            listing.files.push(display(entry.path(), folders));
        }
    }
    listing
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            write(&home.path().join(path), contents).unwrap();
        }
        home
    }

    fn listed(home: &tempfile::TempDir, pattern: Option<&str>, limit: usize) -> Listing {
        let pattern = pattern.map(|pattern| Pattern::new(pattern).unwrap());
        list(&[home.path().to_owned()], pattern.as_ref(), limit, &AtomicBool::new(false))
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

    #[test]
    fn lists_what_version_control_does_not_ignore() {
        let home = tree(&[
            (".gitignore", "target/\n*.log\n"),
            (".github/ci.yml", ""),
            (".git/config", ""),
            ("a.js", ""),
            ("debug.log", ""),
            ("src/b.js", ""),
            ("src/c.rs", ""),
            ("target/d.js", ""),
        ]);
        let all = [".github/ci.yml", ".gitignore", "a.js", "src/b.js", "src/c.rs"];
        assert_eq!(listed(&home, None, 99), Listing { files: all.map(str::to_owned).to_vec(), cut: None });
        assert_eq!(listed(&home, Some("*.js"), 99).files, ["a.js", "src/b.js"]);
        assert_eq!(listed(&home, Some("src/*"), 99).files, ["src/b.js", "src/c.rs"]);
        assert_eq!(listed(&home, Some("/*.js"), 99).files, ["a.js"]);
        assert_eq!(listed(&home, Some("**/*.{rs,yml}"), 99).files, [".github/ci.yml", "src/c.rs"]);
    }

    #[test]
    fn says_when_a_list_was_cut_short() {
        let home = tree(&[("a", ""), ("b", ""), ("c", "")]);
        assert_eq!(listed(&home, None, 2), Listing { files: vec!["a".into(), "b".into()], cut: Some(Cut::Number) });
        assert_eq!(listed(&home, None, 3).cut, None);
    }

    #[test]
    fn a_link_is_named_but_not_entered() {
        let home = tree(&[("dir/a", "")]);
        symlink(home.path(), home.path().join("dir/loop")).unwrap();
        assert_eq!(listed(&home, None, 99).files, ["dir/a", "dir/loop"]);
    }

    #[test]
    fn files_of_a_further_folder_are_named_in_full() {
        let (one, two) = (tree(&[("a", "")]), tree(&[("b", "")]));
        let folders = [one.path().to_owned(), two.path().to_owned()];
        let listing = list(&folders, None, 99, &AtomicBool::new(false));
        assert_eq!(listing.files, ["a".to_owned(), two.path().join("b").to_string_lossy().into_owned()]);
    }

    #[test]
    fn a_walk_that_nobody_waits_for_stops() {
        let home = tree(&[("a", "")]);
        assert!(list(&[home.path().to_owned()], None, 99, &AtomicBool::new(true)).files.is_empty());
    }
}
