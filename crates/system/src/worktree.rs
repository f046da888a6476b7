//! The work trees of a git repository, read from its files: no program runs, and nothing is written.
//!
//! Source: gitrepository-layout(5), git-worktree(1). In a linked work tree, `.git` is a file with the path of a folder
//! in the repository's `worktrees`, which in turn has the path of that file.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::file::read_regular;

/// Variables with which git uses another repository than the folder's, as where git has started Neovim for a message.
pub const MISLEADING: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// A larger file is none of git's.
const MAX_BYTES: u64 = 64 * 1024;
/// More work trees are not listed.
const MAX_WORKTREES: usize = 500;

/// A repository, as found from one of its work trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Its folder, which the work trees share: `.git`, or a bare repository.
    pub common: PathBuf,
    /// The main one first, if it is not bare; those whose folder is missing are left out.
    pub worktrees: Vec<Worktree>,
}

/// A work tree of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Its top folder.
    pub path: PathBuf,
    /// The branch that is checked out or being rebased, as after `refs/heads/`; `None` with a detached head.
    pub branch: Option<String>,
    /// Whether it is the repository's own, which cannot be removed.
    pub is_main: bool,
}

impl Repository {
    /// The repository of a folder that has a `.git`.
    #[must_use]
    pub fn of(top: &Path) -> Option<Self> {
        let dot_git = top.join(".git");
        let own = git_folder(&dot_git)?;
        let shared = pointed(&own.join("commondir"), &own, "");
        let common = shared.unwrap_or_else(|| own.clone());
        let main = if own == dot_git && !is_bare(&common) { Some(top.to_owned()) } else { main_of(&common, top, &own) };
        let main = main.map(|path| Worktree { path, branch: branch(&common), is_main: true });
        let mut linked: Vec<_> = fs::read_dir(common.join("worktrees"))
            .into_iter()
            .flatten()
            .flatten()
            .take(MAX_WORKTREES)
            .filter_map(|entry| {
                let dot_git = pointed(&entry.path().join("gitdir"), &entry.path(), "")?;
                let path = dot_git.is_file().then(|| dot_git.parent().map(Path::to_owned))??;
                Some(Worktree { path, branch: branch(&entry.path()), is_main: false })
            })
            .collect();
        linked.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Some(Self { common, worktrees: main.into_iter().chain(linked).collect() })
    }
}

/// The top of the work tree that a folder is in: the nearest one that has a `.git`.
#[must_use]
pub fn top(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// The top of the linked work tree that a path is in.
#[must_use]
pub fn linked_top(path: &Path) -> Option<&Path> {
    top(path.parent()?).filter(|top| is_linked(top))
}

/// Whether the top of a work tree is that of a linked one. A submodule's `.git` is a file, too.
#[must_use]
pub fn is_linked(top: &Path) -> bool {
    let dot_git = top.join(".git");
    dot_git.is_file() && git_folder(&dot_git).is_some_and(|own| own.join("commondir").is_file())
}

/// Where the main work tree is, seen from another one or from a folder with the path of the repository.
fn main_of(common: &Path, top: &Path, own: &Path) -> Option<PathBuf> {
    if is_bare(common) {
        return None;
    }
    if let Some(path) = setting(common, "worktree") {
        return common.join(path).canonicalize().ok(); // a submodule
    }
    let is_usual = common.file_name().is_some_and(|name| name == ".git");
    match common.parent() {
        Some(parent) if is_usual => Some(parent.to_owned()),
        _ => (own == common).then(|| top.to_owned()), // `git init --separate-git-dir`
    }
}

/// The folder that `.git` is or names.
fn git_folder(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    pointed(dot_git, dot_git.parent()?, "gitdir:").filter(|folder| folder.is_dir())
}

/// The path in a file, resolved if it is relative, as with `worktree.useRelativePaths`.
fn pointed(file: &Path, from: &Path, prefix: &str) -> Option<PathBuf> {
    let text = read(file)?;
    let text = text.strip_prefix(prefix.as_bytes())?.trim_ascii();
    let path = PathBuf::from(OsString::from_vec(text.to_vec()));
    if text.is_empty() {
        None
    } else if path.is_absolute() {
        Some(path)
    } else {
        from.join(path).canonicalize().ok()
    }
}

/// The branch that is checked out or, with a detached head, being rebased.
fn branch(folder: &Path) -> Option<String> {
    let head = read(&folder.join("HEAD"))?;
    let mut rebased = ["rebase-merge/head-name", "rebase-apply/head-name"].into_iter();
    let named = match head.strip_prefix(b"ref: ") {
        Some(name) => name.to_vec(),
        None => rebased.find_map(|name| read(&folder.join(name)))?,
    };
    let name = named.strip_prefix(b"refs/heads/")?.trim_ascii();
    // Not `.invalid`, which stands there if references are in tables.
    String::from_utf8(name.to_vec()).ok().filter(|name| !name.starts_with('.'))
}

fn is_bare(common: &Path) -> bool {
    setting(common, "bare").is_some_and(|value| value == "true")
}

/// A setting of the section `core`, as git writes it.
fn setting(common: &Path, name: &str) -> Option<String> {
    let config = read(&common.join("config"))?;
    let config = String::from_utf8_lossy(&config);
    let core = config.lines().skip_while(|line| line.trim() != "[core]").skip(1);
    let mut pairs = core.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn read(file: &Path) -> Option<Vec<u8>> {
    let text = read_regular(file, MAX_BYTES + 1).ok()?;
    (u64::try_from(text.len()).ok()? <= MAX_BYTES).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
        let out = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    struct Desk {
        _home: tempfile::TempDir,
        home: PathBuf,
        main: PathBuf,
    }

    fn desk() -> Desk {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        let main = real.join("project");
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "-qb", "main"]);
        git(&main, &["commit", "-qm", "first", "--allow-empty"]);
        Desk { _home: home, home: real, main }
    }

    fn told(top: &Path) -> Vec<(PathBuf, Option<String>, bool)> {
        let found = Repository::of(top).map(|found| found.worktrees).unwrap_or_default();
        found.into_iter().map(|one| (one.path, one.branch, one.is_main)).collect()
    }

    #[test]
    fn each_work_tree_finds_all_of_its_repository() {
        let desk = desk();
        assert_eq!(told(&desk.main), [(desk.main.clone(), Some("main".to_owned()), true)]);
        git(&desk.main, &["worktree", "add", "-qb", "fix/one", "../fix"]);
        git(&desk.main, &["worktree", "add", "-q", "--detach", ".claude/worktrees/inner"]);
        git(&desk.main, &["worktree", "add", "-qb", "gone", "../gone"]);
        fs::remove_dir_all(desk.home.join("gone")).unwrap();
        let (fix, inner) = (desk.home.join("fix"), desk.main.join(".claude/worktrees/inner"));
        let all = [
            (desk.main.clone(), Some("main".to_owned()), true),
            (fix.clone(), Some("fix/one".to_owned()), false),
            (inner.clone(), None, false),
        ];
        for top in [&desk.main, &fix, &inner] {
            assert_eq!(told(top), all, "{top:?}");
            assert_eq!(Repository::of(top).unwrap().common, desk.main.join(".git"));
        }
        assert_eq!(linked_top(&inner.join("a/b")), Some(inner.as_path()));
        assert_eq!(linked_top(&desk.main.join("a/b")), None);
        assert_eq!(Repository::of(&desk.home), None);
    }

    #[test]
    fn paths_may_be_relative() {
        let desk = desk();
        git(&desk.main, &["worktree", "add", "-qb", "fix", "../fix"]);
        let entry = desk.main.join(".git/worktrees/fix");
        fs::write(entry.join("gitdir"), "../../../../fix/.git\n").unwrap();
        fs::write(desk.home.join("fix/.git"), "gitdir: ../project/.git/worktrees/fix\n").unwrap();
        let paths: Vec<_> = told(&desk.home.join("fix")).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(paths, [desk.main, desk.home.join("fix")]);
    }

    #[test]
    fn a_bare_repository_has_no_main_one() {
        let desk = desk();
        let bare = desk.home.join("hub/.bare");
        git(&desk.home, &["clone", "-q", "--bare", "project", "hub/.bare"]);
        fs::write(desk.home.join("hub/.git"), "gitdir: ./.bare\n").unwrap();
        git(&bare, &["worktree", "add", "-q", "../main"]);
        let all = [(desk.home.join("hub/main"), Some("main".to_owned()), false)];
        assert_eq!(told(&desk.home.join("hub")), all);
        assert_eq!(told(&desk.home.join("hub/main")), all);
    }

    #[test]
    fn a_submodule_is_a_repository_of_its_own() {
        let desk = desk();
        let sub = desk.main.join("sub");
        git(&desk.home, &["clone", "-q", "project", "other"]);
        git(&desk.main, &["submodule", "--quiet", "add", "../other", "sub"]);
        assert_eq!(told(&sub), [(sub.clone(), Some("main".to_owned()), true)]);
        git(&sub, &["worktree", "add", "-qb", "fix", "../../fix"]);
        let all =
            [(sub.clone(), Some("main".to_owned()), true), (desk.home.join("fix"), Some("fix".to_owned()), false)];
        assert_eq!(told(&desk.home.join("fix")), all);
        assert_eq!(linked_top(&sub.join("a")), None);
        assert_eq!([&sub, &desk.main, &desk.home.join("fix")].map(|top| is_linked(top)), [false, false, true]);
    }

    #[test]
    fn a_repository_of_jj_beside_git_has_a_detached_head() {
        let desk = desk();
        fs::create_dir(desk.main.join(".jj")).unwrap();
        git(&desk.main, &["checkout", "-q", "--detach"]);
        assert_eq!(told(&desk.main), [(desk.main.clone(), None, true)]);
    }

    #[test]
    fn the_top_of_a_folder_is_the_nearest_that_has_git() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(dir.path().join("a/.git"), "gitdir: /x").unwrap();
        assert_eq!(top(&below), Some(dir.path().join("a").as_path()));
    }

    #[test]
    fn odd_files_are_no_repository() {
        let home = tempfile::tempdir().unwrap();
        for text in ["", "gitdir:", "gitdir: /nowhere", "something else", "gitdir: ."] {
            fs::write(home.path().join(".git"), text).unwrap();
            let found = Repository::of(home.path());
            assert!(found.is_none() || text == "gitdir: .", "{text:?}: {found:?}");
        }
    }
}
