//! Lists the files of a workspace, without those that version control ignores. Blocking: for blocking threads only.
//!
//! Ignore rules and patterns are git's, as implemented by the crates `ignore` and `globset`.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use globset::{GlobBuilder, GlobSet};
use ignore::WalkBuilder;

use crate::workspace::display;

/// Limit of files in `listFiles`.
pub(crate) const MAX_LISTED: usize = 10_000;
/// Limit of files counted by `getWorkspaceInfo`.
pub(crate) const MAX_COUNTED: usize = 100_000;
/// Time limit of a walk, since the user waits for it.
const WALK_TIME: Duration = Duration::from_secs(10);
/// Length limit of a pattern.
pub(crate) const MAX_PATTERN_BYTES: usize = 4 << 10;
/// Folders of version control, always ignored.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// The result of a walk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Display names, sorted within each folder.
    pub(crate) files: Vec<String>,
    /// Set if the list is incomplete.
    pub(crate) cut: Option<Cut>,
}

/// Why a walk ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Number,
    Time,
}

/// A file pattern: `*` and `?` stay within a name, `**` spans folders, `{a,b}` is either.
#[derive(Debug)]
pub(crate) struct Pattern {
    glob: GlobSet,
    /// A pattern without a slash matches the name, as in .gitignore.
    name_only: bool,
}

impl Pattern {
    /// Compiles a pattern, in time that grows with its length: see [`MAX_PATTERN_BYTES`].
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let whole = pattern.trim_start_matches("./");
        let glob = GlobBuilder::new(whole.trim_start_matches('/')).literal_separator(true).build();
        // A set of one: a single glob panics if it is too deep or too large, a set reports it.
        let set = glob.and_then(|glob| GlobSet::builder().add(glob).build());
        let glob = set.map_err(|error| error.kind().to_string())?;
        Ok(Self { glob, name_only: !whole.contains('/') })
    }

    pub(crate) fn matches(&self, relative: &Path) -> bool {
        let subject = if self.name_only { relative.file_name() } else { Some(relative.as_os_str()) };
        subject.is_some_and(|subject| self.glob.is_match(subject))
    }
}

/// The files of the workspace that version control does not ignore. Links are listed, not followed.
pub(crate) fn list(folders: &[PathBuf], pattern: Option<&Pattern>, limit: usize, stop: &AtomicBool) -> Listing {
    let mut listing = Listing { files: Vec::new(), cut: None };
    let deadline = Instant::now() + WALK_TIME;
    for (top, path) in folders.iter().flat_map(|top| walk(top).map(move |path| (top, path))) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if Instant::now() > deadline {
            listing.cut = Some(Cut::Time);
            break;
        }
        let Some(path) = path else { continue };
        let relative = path.strip_prefix(top).unwrap_or(&path);
        if !pattern.is_none_or(|pattern| pattern.matches(relative)) {
            continue;
        }
        if listing.files.len() >= limit {
            listing.cut = Some(Cut::Number);
            break;
        }
        listing.files.push(display(&path, folders));
    }
    listing
}

/// The files below a folder, sorted by name within each folder. `None` for other entries, so that the caller can check
/// the time.
fn walk(top: &Path) -> impl Iterator<Item = Option<PathBuf>> {
    let mut builder = WalkBuilder::new(top);
    // Ignore files count even without a repository; hidden files are listed; `.ignore` is not git's.
    builder.require_git(false).hidden(false).ignore(false);
    builder.sort_by_file_name(Ord::cmp).filter_entry(|entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        !(is_folder && VERSION_CONTROL.iter().any(|name| entry.file_name() == *name))
    });
    builder.build().map(|entry| {
        let entry = entry.ok()?;
        let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
        (!is_folder).then(|| entry.into_path())
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, process::Command};

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        home
    }

    fn listed(home: &tempfile::TempDir, pattern: Option<&str>, limit: usize) -> Listing {
        let pattern = pattern.map(|pattern| Pattern::new(pattern).unwrap());
        list(&[home.path().to_owned()], pattern.as_ref(), limit, &AtomicBool::new(false))
    }

    #[test]
    fn lists_files_that_version_control_does_not_ignore() {
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
        assert_eq!(listed(&home, Some("./src/b.js"), 99).files, ["src/b.js"]);
        assert_eq!(listed(&home, Some("**/*.{rs,yml}"), 99).files, [".github/ci.yml", "src/c.rs"]);
    }

    #[test]
    fn any_pattern_is_understood_or_refused_in_words() {
        let nested = format!("{}a{}", "{".repeat(2000), "}".repeat(2000));
        let either = "{a,b}".repeat(800);
        for pattern in [nested.as_str(), &either, &"[a-z]".repeat(800), &"*a".repeat(2000), "a[", "{a", "a\\", "**"] {
            match Pattern::new(pattern) {
                Ok(pattern) => assert!(!pattern.matches(Path::new("x")) || pattern.matches(Path::new("y"))),
                Err(why) => assert!(!why.is_empty() && why.len() < 200, "{why}"),
            }
        }
        assert!(Pattern::new(&either).unwrap().matches(Path::new(&"ab".repeat(400))));
    }

    #[test]
    fn ignores_without_a_repository_too() {
        let home = tree(&[(".gitignore", "/a"), ("a", ""), ("b/a", "")]);
        assert_eq!(listed(&home, None, 99).files, [".gitignore", "b/a"]);
    }

    #[test]
    fn the_rules_above_a_folder_hold_in_it() {
        let home = tree(&[
            (".git/info/exclude", "excluded\n"),
            (".gitignore", "*.log\n/top/inner/anchored\n"),
            ("top/.gitignore", "!keep.log\n"),
            ("top/inner/anchored", ""),
            ("top/inner/excluded", ""),
            ("top/inner/keep.log", ""),
            ("top/inner/other.log", ""),
        ]);
        let inner = home.path().join("top/inner");
        let listing = list(std::slice::from_ref(&inner), None, 99, &AtomicBool::new(false));
        assert_eq!(listing.files, ["keep.log"]);
    }

    #[test]
    fn agrees_with_git() {
        let ignore =
            "*.o\n!keep.o\n/only-here\nfolder/\nsub/*.tmp\n**/deep/**/end\n[a-c]?.x\n\\#hash\ntrail  \n*.d/*\n!x.d/k\n";
        let files = [
            "a.o",
            "keep.o",
            "only-here",
            "sub/only-here",
            "folder/in",
            "sub/folder/in",
            "sub/a.tmp",
            "sub/b/a.tmp",
            "deep/end",
            "x/deep/y/z/end",
            "b1.x",
            "d1.x",
            "#hash",
            "trail",
            "x.d/j",
            "x.d/k",
            "sub/keep.o",
            "sub/.o",
            "ünï/a.o",
            "with space",
        ];
        let tree_files: Vec<_> = files
            .iter()
            .map(|file| (*file, ""))
            .chain([(".gitignore", ignore), ("sub/.gitignore", "!a.tmp\n")])
            .collect();
        let home = tree(&tree_files);
        let git = |args: &[&str]| {
            let command = Command::new("git")
                .args(args)
                .current_dir(home.path())
                .env("HOME", home.path())
                .env_remove("XDG_CONFIG_HOME")
                .output();
            let output = command.expect("the tests need git");
            assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q"]);
        let mut expected: Vec<String> = git(&["ls-files", "-z", "--others", "--exclude-standard"])
            .split_terminator('\0')
            .map(str::to_owned)
            .collect();
        expected.sort_by(|left, right| left.split('/').cmp(right.split('/')));
        assert!(expected.len() >= 10, "git lists {expected:?}");
        assert_eq!(listed(&home, None, 99).files, expected);
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
    fn an_abandoned_walk_stops() {
        let home = tree(&[("a", "")]);
        assert!(list(&[home.path().to_owned()], None, 99, &AtomicBool::new(true)).files.is_empty());
    }
}
