//! What version control ignores: `.gitignore` of each folder, the repository's `info/exclude`, the person's own list.
//!
//! Format: gitignore(5). The last line that matches decides; files deeper in the tree come later. What lies in an ignored
//! folder cannot be taken back, which the walk sees to by not entering it.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::glob::Glob;

/// More than any ignore file has; the rest of a larger one is not read.
const MAX_BYTES: u64 = 1 << 20;

/// The rules that hold in one folder: its own, and through `above` those of the folders above.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules(Option<Arc<Layer>>);

#[derive(Debug)]
struct Layer {
    /// Paths are matched relative to this folder.
    base: PathBuf,
    lines: Vec<Line>,
    above: Rules,
}

#[derive(Debug)]
struct Line {
    glob: Glob,
    /// `!`: takes back.
    keep: bool,
    /// A final `/`.
    only_folders: bool,
    /// Without a slash a line speaks of names at any depth.
    name_only: bool,
}

impl Rules {
    /// What holds in a folder because of what lies above it: the person's list, the repository's, and each `.gitignore`
    /// from the top of the repository down to, but without, the folder.
    pub(super) fn above(folder: &Path) -> Self {
        let Some(top) = folder.ancestors().find(|ancestor| ancestor.join(".git").exists()) else {
            return Self::default().with(folder, personal_list());
        };
        let mut rules =
            Self::default().with(top, personal_list()).with(top, git_dir(top).map(|dir| dir.join("info/exclude")));
        let mut between: Vec<&Path> =
            folder.ancestors().skip(1).take_while(|ancestor| ancestor.starts_with(top)).collect();
        between.reverse();
        for ancestor in between {
            rules = rules.enter(ancestor);
        }
        rules
    }

    /// What holds in a folder below, which may have a `.gitignore`.
    pub(super) fn enter(&self, folder: &Path) -> Self {
        self.with(folder, Some(folder.join(".gitignore")))
    }

    fn with(&self, base: &Path, file: Option<PathBuf>) -> Self {
        let lines = file.map(|file| read(&file)).unwrap_or_default();
        if lines.is_empty() {
            return self.clone();
        }
        Self(Some(Arc::new(Layer { base: base.to_owned(), lines, above: self.clone() })))
    }

    /// Whether a path is ignored; the folder it lies in is not.
    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let mut rules = self;
        while let Some(layer) = &rules.0 {
            if let Some(line) = layer.decide(path, is_folder) {
                return !line.keep;
            }
            rules = &layer.above;
        }
        false
    }
}

impl Layer {
    fn decide(&self, path: &Path, is_folder: bool) -> Option<&Line> {
        let relative = path.strip_prefix(&self.base).ok()?.as_os_str().as_encoded_bytes();
        let name = path.file_name()?.as_encoded_bytes();
        self.lines.iter().rev().find(|line| {
            (is_folder || !line.only_folders) && line.glob.matches(if line.name_only { name } else { relative })
        })
    }
}

fn read(file: &Path) -> Vec<Line> {
    let is_file = fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
    let mut bytes = Vec::new();
    if !is_file || fs::File::open(file).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    text.trim_start_matches('\u{feff}').lines().filter_map(parse).collect()
}

/// A line that is no rule, or no pattern, is passed over, as git does.
fn parse(line: &str) -> Option<Line> {
    if line.starts_with('#') {
        return None;
    }
    let line = trim_end(line);
    let (keep, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (only_folders, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let name_only = !line.contains('/');
    let glob = Glob::new(line).ok().filter(|_| !line.is_empty())?;
    Some(Line { glob, keep, only_folders, name_only })
}

/// Spaces at the end do not count, unless a backslash protects one.
fn trim_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    let backslashes = trimmed.len() - trimmed.trim_end_matches('\\').len();
    if backslashes % 2 == 1 && trimmed.len() < line.len() {
        line.get(..=trimmed.len()).unwrap_or(line)
    } else {
        trimmed
    }
}

/// Where git keeps the repository's own data. In a worktree `.git` is a file that names it.
fn git_dir(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let named = fs::read_to_string(&dot_git).ok()?;
    let dir = top.join(named.strip_prefix("gitdir:")?.trim());
    match fs::read_to_string(dir.join("commondir")) {
        Ok(common) => Some(dir.join(common.trim())),
        Err(_) => Some(dir),
    }
}

/// git's default for `core.excludesFile`.
fn personal_list() -> Option<PathBuf> {
    let configured = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let dir = configured.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    Some(dir.join("git/ignore"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignores(text: &str, path: &str, is_folder: bool) -> bool {
        let lines = text.lines().filter_map(parse).collect();
        let rules = Rules(Some(Arc::new(Layer { base: "/top".into(), lines, above: Rules::default() })));
        rules.ignore(&Path::new("/top").join(path), is_folder)
    }

    #[test]
    fn a_line_without_a_slash_speaks_of_names_at_any_depth() {
        assert!(ignores("*.log", "a.log", false));
        assert!(ignores("*.log", "x/y/a.log", false));
        assert!(!ignores("*.log", "a.log.txt", false));
    }

    #[test]
    fn a_line_with_a_slash_speaks_of_this_folder() {
        assert!(ignores("/a", "a", false));
        assert!(!ignores("/a", "x/a", false));
        assert!(ignores("x/a", "x/a", false));
        assert!(!ignores("x/a", "y/x/a", false));
        assert!(ignores("**/x/a", "y/x/a", false));
    }

    #[test]
    fn a_final_slash_means_folders() {
        assert!(ignores("build/", "build", true));
        assert!(!ignores("build/", "build", false));
        assert!(ignores("build/", "x/build", true));
    }

    #[test]
    fn the_last_line_that_matches_decides() {
        assert!(!ignores("*.log\n!keep.log", "keep.log", false));
        assert!(ignores("!keep.log\n*.log", "keep.log", false));
    }

    #[test]
    fn comments_spaces_and_escapes_are_gits() {
        assert!(!ignores("# a\n#a", "#a", false));
        assert!(ignores("\\#a", "#a", false));
        assert!(ignores("\\!a", "!a", false));
        assert!(ignores("a   ", "a", false));
        assert!(ignores("a\\  ", "a ", false));
        assert!(!ignores("a\\ ", "a", false));
        assert!(!ignores("[broken\n\n/\n!\n", "x", false));
    }
}
