//! Which of the globs matches a path.

use std::path::{Path, PathBuf};

use claude_ide_system::worktree;
use regex::Regex;

#[derive(Debug)]
pub(crate) struct Glob {
    /// Its position in the option.
    pub(crate) number: usize,
    pub(crate) pattern: Regex,
    /// Whether it is matched with paths, not with file names.
    pub(crate) is_path: bool,
}

/// The globs of a configuration, in a workspace.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) globs: Vec<Glob>,
    pub(crate) folders: Vec<PathBuf>,
}

impl Rules {
    /// The glob that matches a path as it is, in the workspace or in a work tree.
    pub(crate) fn glob_in_any(&self, path: &Path) -> Option<usize> {
        let in_worktree = || {
            let top =
                if self.globs.iter().any(|glob| glob.is_path) { worktree::linked_top(path)? } else { return None };
            self.glob_from(path, path.strip_prefix(top).ok()?)
        };
        self.glob_of(path).or_else(in_worktree)
    }

    /// The glob that matches a path as it is.
    pub(crate) fn glob_of(&self, path: &Path) -> Option<usize> {
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
