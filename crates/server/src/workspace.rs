//! Resolves a client's path to a file in the workspace.
//!
//! The file protocol uses paths below the workspace; a leading `/` is the workspace's root, unless the path itself lies
//! in a workspace folder. Invariant: a returned place has all symbolic links resolved and lies in a workspace folder. A
//! link created later is not followed: see `disk`.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Why a path is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    /// The client's mistake.
    #[error("{0}")]
    Refused(&'static str),
    /// The disk's error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

const OUTSIDE: PathError = PathError::Refused("leads out of the workspace");

/// A file of the workspace, which may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its workspace folder.
    pub(crate) root: PathBuf,
    /// The path from there, without symbolic links when it was resolved.
    pub(crate) relative: PathBuf,
}

impl Place {
    /// The whole path.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(&self.relative)
    }
}

/// Resolves a client's path. Accesses the disk: not for the runtime's thread.
pub(crate) fn resolve(path: &str, folders: &[PathBuf]) -> Result<Place, PathError> {
    if path.is_empty() {
        return Err(PathError::Refused("must not be empty"));
    }
    if path.contains('\0') {
        return Err(PathError::Refused("must not contain a NUL character"));
    }
    if path == "~" || path.starts_with("~/") || names_another_root(path) {
        return Err(PathError::Refused("must be relative to the workspace"));
    }
    let roots: Vec<PathBuf> = folders.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect();
    let main = roots.first().ok_or(PathError::Refused("cannot be resolved: no workspace folder is open"))?;
    let inside = |real: PathBuf| {
        let within = |root: &PathBuf| {
            let relative = real.strip_prefix(root).ok()?.to_owned();
            Some(Place { root: root.clone(), relative })
        };
        roots.iter().find_map(within).ok_or(OUTSIDE)
    };

    if path.starts_with('/') && folders.iter().chain(&roots).any(|folder| Path::new(path).starts_with(folder)) {
        return inside(follow(Path::new("/"), Path::new(path))?);
    }
    let relative = Path::new(path.trim_start_matches('/'));
    let mut candidate = inside(follow(main, relative)?);
    for root in roots.iter().skip(1) {
        // The first folder that has the file; else the main one.
        if matches!(&candidate, Ok(place) if place.path().exists()) {
            break;
        }
        if let Ok(other) = follow(root, relative).and_then(&inside)
            && other.path().exists()
        {
            candidate = Ok(other);
        }
    }
    candidate
}

/// `C:\`, `C:/`, `\\host\share`, `//host/share`, `scheme://`: not paths of this machine.
fn names_another_root(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with("\\\\") || path.starts_with("//") || path.contains("://")
}

/// Resolves a path from a folder like the system; the part that does not exist stays as written.
fn follow(from: &Path, path: &Path) -> Result<PathBuf, PathError> {
    let mut real = from.to_owned();
    // How many trailing components of `real` do not exist.
    let mut missing: usize = 0;
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Prefix(_) => return Err(PathError::Refused("must be relative to the workspace")),
            Component::ParentDir => {
                real.pop();
                missing = missing.saturating_sub(1);
            }
            Component::Normal(name) => {
                real.push(name);
                if missing > 0 {
                    missing = missing.saturating_add(1);
                    continue;
                }
                match fs::symlink_metadata(&real) {
                    Ok(metadata) if metadata.is_symlink() => {
                        real = fs::canonicalize(&real).map_err(|_| {
                            PathError::Refused("is, or lies behind, a symbolic link that leads nowhere")
                        })?;
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::NotFound => missing = 1,
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(real)
}

/// A file's name for a client: relative to the main folder, or absolute in another one.
pub(crate) fn display(path: &Path, folders: &[PathBuf]) -> String {
    let main = folders.first().map_or(Path::new("/"), PathBuf::as_path);
    path.strip_prefix(main).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Project {
        _home: tempfile::TempDir,
        outside: PathBuf,
        root: PathBuf,
        second: PathBuf,
    }

    fn project() -> Project {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let (outside, root, second) = (real.join("outside"), real.join("root"), real.join("second"));
        for dir in [&outside, &root, &second, &root.join("src")] {
            fs::create_dir(dir).unwrap();
        }
        fs::write(outside.join("secret"), "").unwrap();
        fs::write(root.join("a..b.txt"), "").unwrap();
        fs::write(root.join("src/main.rs"), "").unwrap();
        fs::write(second.join("only_here"), "").unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink(outside.join("secret"), root.join("out_file")).unwrap();
        symlink(root.join("src"), root.join("in")).unwrap();
        symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        Project { _home: home, outside, root, second }
    }

    impl Project {
        fn resolve(&self, path: &str) -> Result<PathBuf, PathError> {
            resolve(path, &[self.root.clone(), self.second.clone()]).map(|place| place.path())
        }

        fn finds(&self, path: &str, expected: &str) {
            assert_eq!(self.resolve(path).unwrap(), self.root.join(expected), "{path}");
        }

        fn refuses(&self, path: &str) {
            assert!(matches!(self.resolve(path), Err(PathError::Refused(_))), "{path}: {:?}", self.resolve(path));
        }
    }

    #[test]
    fn a_path_lies_below_the_workspace() {
        let project = project();
        project.finds("src/main.rs", "src/main.rs");
        project.finds("./src/./main.rs", "src/main.rs");
        project.finds("new/file", "new/file");
    }

    #[test]
    fn a_leading_slash_is_the_root_of_the_workspace() {
        let project = project();
        project.finds("/src/main.rs", "src/main.rs");
        project.finds("/etc/passwd", "etc/passwd");
    }

    #[test]
    fn a_path_that_lies_in_the_workspace_already_stays_as_it_is() {
        let project = project();
        project.finds(project.root.join("src/main.rs").to_str().unwrap(), "src/main.rs");
        let second = project.second.join("new");
        assert_eq!(project.resolve(second.to_str().unwrap()).unwrap(), second);
    }

    #[test]
    fn dots_in_a_name_are_fine() {
        let project = project();
        project.finds("a..b.txt", "a..b.txt");
        project.finds("..hidden", "..hidden");
        project.finds("~tilde", "~tilde");
    }

    #[test]
    fn dots_that_stay_inside_are_fine() {
        let project = project();
        project.finds("src/../a..b.txt", "a..b.txt");
        project.finds("new/../src/main.rs", "src/main.rs");
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        let project = project();
        for path in [
            "..",
            "../outside/secret",
            "src/../../outside/secret",
            "new/../../outside/secret",
            "out",
            "out/secret",
            "out/new",
            "out_file",
            "dangling",
            "dangling/new",
            "~",
            "~/secret",
            "C:\\Windows",
            "c:/Windows",
            "\\\\host\\share",
            "//host/share",
            "file:///etc/passwd",
            "",
            "a\0b",
        ] {
            project.refuses(path);
        }
        let sideways = project.root.join("../outside/secret");
        project.refuses(sideways.to_str().unwrap());
    }

    #[test]
    fn a_link_that_stays_inside_is_followed() {
        let project = project();
        project.finds("in/main.rs", "src/main.rs");
        project.finds("in/new", "src/new");
    }

    #[test]
    fn the_parent_of_a_link_is_its_targets_parent() {
        let project = project();
        assert!(
            matches!(project.resolve("out/../root/src/main.rs"), Ok(path) if path == project.root.join("src/main.rs"))
        );
        project.refuses("out/../outside/secret");
        assert!(project.outside.exists());
    }

    #[test]
    fn another_folder_is_searched_too() {
        let project = project();
        assert_eq!(project.resolve("only_here").unwrap(), project.second.join("only_here"));
    }

    #[test]
    fn a_workspace_behind_a_link_is_one() {
        let project = project();
        let link = project.outside.join("link");
        symlink(&project.root, &link).unwrap();
        let path = link.join("src/main.rs");
        assert_eq!(resolve(path.to_str().unwrap(), &[link]).unwrap().path(), project.root.join("src/main.rs"));
    }

    #[test]
    fn without_a_workspace_nothing_is_served() {
        assert!(matches!(resolve("a", &[]), Err(PathError::Refused(_))));
    }

    #[test]
    fn a_file_as_a_folder_is_an_error_of_the_disk() {
        let project = project();
        assert!(matches!(project.resolve("a..b.txt/x"), Err(PathError::Io(_))));
    }

    #[test]
    fn files_are_named_from_the_main_folder() {
        let folders = [PathBuf::from("/p"), PathBuf::from("/q")];
        assert_eq!(display(Path::new("/p/src/a"), &folders), "src/a");
        assert_eq!(display(Path::new("/q/a"), &folders), "/q/a");
    }
}
