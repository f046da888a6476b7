//! Which files are withheld from Claude: those that a glob of the option `selection.deny` matches, and other names of
//! them, links included.

mod glob;
mod walk;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use claude_ide_system::worktree;
use regex::Regex;
use walk::Found;

/// A withheld file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Its path.
    pub path: PathBuf,
    /// The position of its glob in the option, from 0.
    pub glob: usize,
}

/// A glob that cannot be read; it withholds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadGlob {
    /// Its position in the option, from 0.
    pub glob: usize,
    /// Why, for the user.
    pub why: String,
}

#[derive(Debug)]
struct Glob {
    /// Its position in the option.
    number: usize,
    pattern: Regex,
    /// Whether it is matched with paths, not with file names.
    is_path: bool,
}

/// The globs of a configuration, in a workspace.
#[derive(Debug, Default)]
struct Rules {
    globs: Vec<Glob>,
    folders: Vec<PathBuf>,
}

/// What is withheld.
#[derive(Debug, Clone, Default)]
pub struct Deny {
    rules: Arc<Rules>,
    files: Arc<Mutex<Option<Found>>>,
}

impl Deny {
    /// `folders` are those of the workspace. A glob without a `/` is for file names, another for paths: whole, from a
    /// workspace folder, or from the top of a linked git work tree, which need not be in the workspace.
    #[must_use]
    pub fn new(globs: &[String], folders: Vec<PathBuf>) -> (Self, Vec<BadGlob>) {
        let (mut read, mut bad) = (Vec::new(), Vec::new());
        for (number, glob) in globs.iter().enumerate() {
            match glob::pattern(glob) {
                Ok(pattern) => read.push(Glob { number, pattern, is_path: glob.contains('/') }),
                Err(why) => bad.push(BadGlob { glob: number, why }),
            }
        }
        (Self { rules: Arc::new(Rules { globs: read, folders }), files: Arc::default() }, bad)
    }

    /// The glob that withholds a file by its path, its target, or as a hard link of a file in the workspace.
    #[must_use]
    pub fn denies(&self, path: &Path) -> Option<usize> {
        let by_name = self.rules.glob_in_any(path);
        if by_name.is_some() {
            return by_name;
        }
        let real = path.canonicalize().ok()?;
        let by_target = if real == path { None } else { self.rules.glob_in_any(&real) };
        by_target.or_else(|| self.denies_link(&real.metadata().ok()?))
    }

    fn denies_link(&self, file: &Metadata) -> Option<usize> {
        if !file.is_file() || file.nlink() < 2 {
            return None;
        }
        let is_it = |other: &Metadata| (other.dev(), other.ino()) == (file.dev(), file.ino());
        let files = self.files();
        files.iter().find(|withheld| withheld.path.metadata().is_ok_and(|other| is_it(&other))).map(|found| found.glob)
    }
}

impl Rules {
    /// The glob that matches a path as it is, in the workspace or in a work tree.
    fn glob_in_any(&self, path: &Path) -> Option<usize> {
        let in_worktree = || {
            let top =
                if self.globs.iter().any(|glob| glob.is_path) { worktree::linked_top(path)? } else { return None };
            self.glob_from(path, path.strip_prefix(top).ok()?)
        };
        self.glob_of(path).or_else(in_worktree)
    }

    /// The glob that matches a path as it is.
    fn glob_of(&self, path: &Path) -> Option<usize> {
        self.glob_from(path, self.in_workspace(path))
    }

    fn glob_from(&self, path: &Path, relative: &Path) -> Option<usize> {
        let whole = path.to_string_lossy();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let relative = relative.to_string_lossy();
        let matches = |glob: &&Glob| {
            if glob.is_path {
                glob.pattern.is_match(&relative) || glob.pattern.is_match(&whole)
            } else {
                glob.pattern.is_match(&name)
            }
        };
        self.globs.iter().find(matches).map(|glob| glob.number)
    }

    /// A path from its innermost workspace folder.
    fn in_workspace<'a>(&self, path: &'a Path) -> &'a Path {
        let inside = self.folders.iter().filter_map(|folder| path.strip_prefix(folder).ok());
        inside.min_by_key(|relative| relative.as_os_str().len()).unwrap_or(path)
    }
}

#[cfg(test)]
mod tests;
