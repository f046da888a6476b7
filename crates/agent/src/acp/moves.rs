//! Infers renames from an ACP tool call. No agent reports a file's old path. Codex reports a change at the new path,
//! and lists the current path of each changed file beside it, in the order of the changes; it omits a change with a
//! large text (codex-acp 2.6.0).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use claude_ide_system::file::open_regular;
use serde_json::Value;

use crate::json::text;

/// Limits of files that are read: size of each, and of all together.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
const MAX_ALL: u64 = 32 * 1024 * 1024;
/// If the order does not decide, files are compared with locations, up to this many times. Unresolved cases are put to
/// the user in words.
const MOST_COMPARED: usize = 1000;

#[derive(Debug, Clone)]
pub(super) struct Diff {
    pub(super) path: String,
    pub(super) old: Option<String>,
    pub(super) new: String,
    /// "add", "update" or "delete", if the agent says.
    pub(super) kind: Option<String>,
}

impl Diff {
    pub(super) fn of(content: &Value) -> Option<Self> {
        if content.get("type")?.as_str()? != "diff" {
            return None;
        }
        let string = |field: &str| content.get(field).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            path: string("path")?,
            old: string("oldText"),
            new: string("newText").unwrap_or_default(),
            kind: content.get("_meta").and_then(|meta| text(meta.get("kind"))),
        })
    }
}

pub(super) fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Moves {
    /// Current path by new path.
    pub(super) from: HashMap<String, String>,
    /// Whether there are locations without a diff that are no renames.
    pub(super) is_incomplete: bool,
}

/// Removes `.`, `..`, doubled and trailing slashes.
pub(super) fn normalize(path: &str) -> String {
    let mut parts: Vec<&std::ffi::OsStr> = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name),
            _ => {}
        }
    }
    let joined: PathBuf = std::iter::once(std::ffi::OsStr::new("/")).chain(parts).collect();
    joined.to_string_lossy().into_owned()
}

/// Resolves links in the existing part of a path.
fn real(path: &str) -> PathBuf {
    let path = PathBuf::from(normalize(path));
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), path.strip_prefix(ancestor)) {
            return real.join(rest);
        }
    }
    path
}

/// Locations without a diff, in order.
fn other_places(locations: &[String], diffs: &[Diff]) -> Vec<String> {
    let mut known: HashSet<PathBuf> = diffs.iter().map(|diff| real(&diff.path)).collect();
    let places = locations.iter().filter(|path| path.starts_with('/'));
    places.filter(|path| known.insert(real(path))).map(|path| normalize(path)).collect()
}

/// Diffs that change a missing file and have its old text.
fn of_moved(diffs: &[Diff]) -> Vec<&Diff> {
    let mut seen = HashSet::new();
    let may_be = |diff: &&Diff| match (diff.kind.as_deref(), &diff.old) {
        (Some("update"), Some(_)) => true,
        (None, Some(old)) => !old.is_empty(),
        _ => false,
    };
    let first = diffs.iter().filter(|diff| seen.insert(diff.path.as_str()));
    first.filter(may_be).filter(|diff| fs::symlink_metadata(&diff.path).is_err()).collect()
}

/// Contents of files, each read once.
struct Texts {
    read: HashMap<String, Option<String>>,
    left: u64,
}

impl Texts {
    fn get(&mut self, place: &str) -> Option<&str> {
        let left = &mut self.left;
        let text = self.read.entry(place.to_owned()).or_insert_with(|| {
            let most = MAX_BYTES.min(*left);
            let file = open_regular(Path::new(place)).ok()?;
            let about = file.metadata().ok().filter(|about| about.len() <= most)?;
            let mut bytes = Vec::new();
            file.take(about.len()).read_to_end(&mut bytes).ok()?;
            *left = left.saturating_sub(about.len());
            Some(with_lf(&String::from_utf8_lossy(&bytes)))
        });
        text.as_deref()
    }

    /// Whether a file contains a diff's old text: as a part if it is changed, else as a whole.
    fn hold(&mut self, place: &str, diff: &Diff) -> bool {
        let old = with_lf(diff.old.as_deref().unwrap_or_default());
        self.get(place)
            .is_some_and(|text| if diff.kind.as_deref() == Some("update") { text.contains(&old) } else { text == old })
    }
}

/// The renames in a call.
pub(super) fn of(locations: &[String], diffs: &[Diff]) -> Moves {
    let (places, moved) = (other_places(locations, diffs), of_moved(diffs));
    let may_compare = places.len().saturating_mul(moved.len()) <= MOST_COMPARED;
    let mut texts = Texts { read: HashMap::new(), left: MAX_ALL };
    let (mut from, mut taken) = (HashMap::new(), HashSet::new());
    for (at, diff) in moved.iter().enumerate() {
        let mut fits = |place: &&String| !taken.contains(*place) && texts.hold(place, diff);
        let in_order = places.get(at).filter(|_| places.len() == moved.len()).filter(&mut fits);
        let has_text = diff.old.as_deref().is_some_and(|old| !old.is_empty());
        let place = in_order.or_else(|| places.iter().find(|place| may_compare && has_text && fits(place)));
        if let Some(place) = place {
            taken.insert(place.clone());
            from.insert(normalize(&diff.path), place.clone());
        }
    }
    Moves { from, is_incomplete: taken.len() < places.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(path: &str, old: Option<&str>, new: &str, kind: Option<&str>) -> Diff {
        let owned = |text: &str| text.to_owned();
        Diff { path: owned(path), old: old.map(owned), new: owned(new), kind: kind.map(owned) }
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(folder.path().join(name), text).unwrap();
            }
            Self(folder)
        }

        fn at(&self, name: &str) -> String {
            self.0.path().join(name).to_string_lossy().into_owned()
        }
    }

    #[test]
    fn a_file_missing_at_its_diffs_path_was_at_the_other_path() {
        let folder = Folder::new(&[("old", "one\r\ntwo\n"), ("other", "x\n")]);
        let moved = diff(&folder.at("new"), Some("one\ntwo\n"), "1\n", None);
        let found = of(&[folder.at("old"), folder.at("new")], std::slice::from_ref(&moved));
        assert_eq!(found.from, HashMap::from([(folder.at("new"), folder.at("old"))]));
        assert!(!found.is_incomplete);
        let elsewhere = of(&[folder.at("other")], &[moved]);
        assert!(elsewhere.from.is_empty() && elsewhere.is_incomplete, "it holds something else");
    }

    #[test]
    fn places_in_the_order_of_the_diffs_count_first() {
        let folder = Folder::new(&[("a", "same\n"), ("b", "same\n"), ("c", "part of it\n")]);
        let diffs = [
            diff(&folder.at("x"), Some("same\n"), "", None),
            diff(&folder.at("y"), Some("same\n"), "", None),
            diff(&folder.at("z"), Some("part"), "all", Some("update")),
        ];
        let places = ["b", "a", "c"].map(|name| folder.at(name));
        let found = of(&places, &diffs);
        let expected = [("x", "b"), ("y", "a"), ("z", "c")].map(|(to, from)| (folder.at(to), folder.at(from)));
        assert_eq!(found.from, HashMap::from(expected));
        let swapped = of(&["c", "b", "a"].map(|name| folder.at(name)), &diffs);
        assert_eq!(swapped.from.get(&folder.at("z")), Some(&folder.at("c")), "else what they hold");
    }

    #[test]
    fn existing_and_new_files_do_not_move() {
        let folder = Folder::new(&[("here", "one\n")]);
        for diff in [
            diff(&folder.at("here"), Some("one\n"), "1\n", None),
            diff(&folder.at("new"), None, "1\n", None),
            diff(&folder.at("new"), Some(""), "1\n", None),
            diff(&folder.at("new"), Some("one\n"), "", Some("delete")),
        ] {
            assert_eq!(of(std::slice::from_ref(&diff.path), std::slice::from_ref(&diff)), Moves::default(), "{diff:?}");
        }
        fs::create_dir(folder.0.path().join("folder")).unwrap();
        std::os::unix::fs::symlink(folder.at("folder"), folder.at("link")).unwrap();
        let new = diff(&folder.at("folder/a"), None, "1\n", None);
        assert!(!of(&[folder.at("link/a"), "relative".to_owned()], &[new]).is_incomplete, "the same place by a link");
    }

    #[test]
    fn of_very_many_files_only_the_order_counts() {
        let names: Vec<String> = (0..40).map(|number| format!("{number}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
        let folder = Folder::new(&files);
        let diffs: Vec<Diff> =
            names.iter().map(|name| diff(&folder.at(&format!("to-{name}")), Some(name), "", None)).collect();
        let mut places: Vec<String> = names.iter().map(|name| folder.at(name)).collect();
        assert_eq!(of(&places, &diffs).from.len(), 40);
        places.reverse();
        assert!(of(&places, &diffs).is_incomplete, "to compare each with each would take long");
    }

    #[test]
    fn an_empty_file_is_not_taken_for_a_new_one() {
        let folder = Folder::new(&[("a", "one\n"), ("empty", "")]);
        let diffs =
            [diff(&folder.at("a"), Some("one\n"), "1\n", None), diff(&folder.at("new"), Some(""), "new\n", None)];
        let found = of(&["empty", "a", "new"].map(|name| folder.at(name)), &diffs);
        assert!(found.from.is_empty() && found.is_incomplete, "what becomes of it is not known");
    }

    #[test]
    fn a_pipe_and_a_huge_file_are_not_read() {
        let folder = Folder::new(&[]);
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        fs::File::create(folder.at("huge")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let moved = diff(&folder.at("new"), Some("one"), "", Some("update"));
        assert!(of(&[folder.at("pipe")], std::slice::from_ref(&moved)).is_incomplete);
        assert!(of(&[folder.at("huge")], &[moved]).is_incomplete);
    }

    #[test]
    fn a_path_is_normal_without_a_look_at_the_disk() {
        assert_eq!(normalize("/a/./b//../c/"), "/a/c");
        assert_eq!(normalize("/.."), "/");
    }
}
