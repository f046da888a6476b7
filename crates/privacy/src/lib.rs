//! Which files are withheld from Claude: those that a glob of the option `selection.deny` matches, and other names of
//! them, links included.

mod glob;
mod rules;
mod walk;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rules::{Glob, Rules};
use walk::Found;

pub use walk::Withheld;

/// A glob that cannot be read; it withholds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadGlob {
    /// Its position in the option, from 0.
    pub glob: usize,
    /// Why, for the user.
    pub why: String,
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

    /// The withheld files in the workspace: at most 100, of the folders nearest to its top.
    #[must_use]
    pub fn files(&self) -> Arc<Vec<Withheld>> {
        walk::files(&self.rules, &self.files)
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

#[cfg(test)]
mod tests;
