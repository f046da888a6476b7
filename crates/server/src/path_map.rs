//! Folders that some clients see under other paths: in a container, on another machine, on the Windows side of WSL.
//!
//! Paths are changed where a client's messages enter and leave, and nowhere else: the rest of the server and the editor
//! know paths of this machine only. In JSON the members in [`MEMBERS`] hold paths; other texts, above all those of
//! files, are never changed.

use std::{borrow::Cow, path::Path};

use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use crate::roots;

/// The members of messages, in either direction, that hold a path, a URI of one, or a list of these.
const MEMBERS: [&str; 19] = [
    "file",
    "fileName",
    "filePath",
    "fileUrl",
    "file_path",
    "file_paths",
    "folders",
    "new_file_path",
    "notebook",
    "notebook_path",
    "old_file_path",
    "opened_files",
    "path",
    "paths",
    "projectPath",
    "rootPath",
    "tab_name",
    "uri",
    "workspaceFolders",
];
/// JSON in a text: the input of a tool, which a hook passes on.
const NESTED: &str = "input";
/// Before a path, in a URI. The second and third are the CLI's, for the sides of a diff.
const SCHEMES: [&str; 5] = ["file://", "_claude_fs_right:", "_claude_fs_left:", "buffer://", "diagnostics://"];

/// The pairs of folders, as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathMap(Vec<(Folder, Folder)>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    /// Without separators at its end; of the whole disk, the empty text.
    text: String,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Unix,
    /// `C:\folder`, `\\server\share`. Either slash separates, case does not matter.
    Windows,
}

/// A message for clients that see the paths of this machine, and for others if it has other paths for them.
#[derive(Debug, Clone)]
pub(crate) struct Sides<T> {
    pub(crate) here: T,
    pub(crate) there: Option<T>,
}

impl<T> Sides<T> {
    pub(crate) fn of(&self, mapped: bool) -> &T {
        self.there.as_ref().filter(|_| mapped).unwrap_or(&self.here)
    }
}

#[derive(Debug, Clone, Copy)]
enum To {
    Here,
    There,
}

impl PathMap {
    /// From pairs of a folder of this machine and its path for clients.
    pub fn new<H: AsRef<str>, T: AsRef<str>>(pairs: impl IntoIterator<Item = (H, T)>) -> Self {
        let pairs = pairs.into_iter();
        Self(pairs.map(|(here, there)| (Folder::new(here.as_ref()), Folder::new(there.as_ref()))).collect())
    }

    /// Whether no client sees another path.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A path of this machine for a client that was given as path or URI; `None` if no folder contains it.
    pub(crate) fn here(&self, named: &str) -> Option<String> {
        self.convert(named, To::Here)
    }

    /// A client's path for one of this machine; `None` if no folder contains it.
    pub(crate) fn there(&self, path: &Path) -> Option<String> {
        self.convert(path.to_str()?, To::There)
    }

    /// Changes a client's message; `None` if it stays as it is.
    pub(crate) fn incoming(&self, message: &RawValue) -> Option<Box<RawValue>> {
        self.message(message, To::Here)
    }

    /// Changes a message for a client; `None` if it stays as it is.
    pub(crate) fn outgoing(&self, message: &RawValue) -> Option<Box<RawValue>> {
        self.message(message, To::There)
    }

    /// The same for a value.
    pub(crate) fn outgoing_value(&self, value: &mut Value) {
        self.change(value, To::There);
    }

    fn message(&self, message: &RawValue, to: To) -> Option<Box<RawValue>> {
        let mut value = serde_json::from_str(message.get()).ok()?;
        self.change(&mut value, to).then(|| to_raw_value(&value).ok())?
    }

    /// Changes the paths in a value, and tells whether there were any.
    fn change(&self, value: &mut Value, to: To) -> bool {
        match value {
            Value::Array(items) => items.iter_mut().fold(false, |changed, item| self.change(item, to) | changed),
            Value::Object(members) => self.change_members(members, to),
            _ => false,
        }
    }

    fn change_members(&self, members: &mut Map<String, Value>, to: To) -> bool {
        let mut changed = false;
        for (name, value) in members {
            changed |= if MEMBERS.contains(&name.as_str()) {
                self.change_paths(value, to)
            } else if let (NESTED, Value::String(text)) = (name.as_str(), &mut *value) {
                self.change_nested(text, to)
            } else {
                self.change(value, to)
            };
        }
        changed
    }

    fn change_paths(&self, value: &mut Value, to: To) -> bool {
        match value {
            Value::String(text) => {
                let found = self.convert(text, to);
                let changed = found.is_some();
                *text = found.unwrap_or_else(|| std::mem::take(text));
                changed
            }
            Value::Array(items) => items.iter_mut().fold(false, |changed, item| self.change_paths(item, to) | changed),
            other => self.change(other, to),
        }
    }

    fn change_nested(&self, text: &mut String, to: To) -> bool {
        let Ok(mut value) = serde_json::from_str::<Value>(text) else { return false };
        let changed = self.change(&mut value, to);
        if changed {
            *text = value.to_string();
        }
        changed
    }

    /// Of the folders that contain a path the innermost one counts, and of equal ones the first.
    fn convert(&self, named: &str, to: To) -> Option<String> {
        let scheme = SCHEMES.into_iter().find(|scheme| named.starts_with(scheme)).unwrap_or_default();
        let raw = named.get(scheme.len()..)?;
        let path = match to {
            // A client may have encoded it.
            To::Here => {
                roots::path(named).map_or(Cow::Borrowed(raw), |path| path.to_string_lossy().into_owned().into())
            }
            To::There => Cow::Borrowed(raw),
        };
        let sides = self.0.iter().map(|(here, there)| match to {
            To::Here => (there, here),
            To::There => (here, there),
        });
        let found = sides.filter_map(|(from, to)| Some((from, to, from.below(&path)?)));
        let (from, to, below) = found.min_by_key(|(from, ..)| usize::MAX.saturating_sub(from.text.len()))?;
        Some(format!("{scheme}{}", to.join(&below, from.style)))
    }
}

impl Folder {
    fn new(text: &str) -> Self {
        let style = if is_windows(text) { Style::Windows } else { Style::Unix };
        let text = match style {
            Style::Unix => text.trim_end_matches('/').to_owned(),
            Style::Windows => windows(text).trim_end_matches('\\').to_owned(),
        };
        Self { text, style }
    }

    /// What of a path comes after this folder, from the separator on; `None` if it does not lie in it.
    fn below<'a>(&self, path: &'a str) -> Option<Cow<'a, str>> {
        let below = match self.style {
            Style::Unix => Cow::Borrowed(path.strip_prefix(&self.text)?),
            Style::Windows => {
                // A URI has a slash before the drive.
                let path = path.strip_prefix('/').filter(|path| is_windows(path)).unwrap_or(path);
                let path = is_windows(path).then(|| windows(path))?;
                let path = path.trim_end_matches('\\');
                let folder = path.get(..self.text.len()).filter(|folder| folder.eq_ignore_ascii_case(&self.text))?;
                Cow::Owned(path.get(folder.len()..)?.to_owned())
            }
        };
        let separates = |character| character == self.style.separator();
        let stays = !below.split(separates).any(|name| name == "..");
        (stays && (below.is_empty() || below.starts_with(separates))).then_some(below)
    }

    fn join(&self, below: &str, style: Style) -> String {
        let separator = self.style.separator();
        let mut path = self.text.clone();
        if style == self.style {
            path.push_str(below);
        } else {
            path.extend(
                below.chars().map(|character| if character == style.separator() { separator } else { character }),
            );
        }
        if path.is_empty() || path.ends_with(':') {
            path.push(separator);
        }
        path
    }
}

impl Style {
    const fn separator(self) -> char {
        match self {
            Self::Unix => '/',
            Self::Windows => '\\',
        }
    }
}

/// Whether it begins with a drive or a server.
fn is_windows(path: &str) -> bool {
    match path.as_bytes() {
        [b'\\', b'\\', ..] => true,
        [letter, b':'] | [letter, b':', b'/' | b'\\', ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

/// With one kind of separator, and one name of the server of WSL's files: it has two.
fn windows(path: &str) -> String {
    let path = path.replace('/', "\\");
    match path.get(..7) {
        Some(server) if server.eq_ignore_ascii_case("\\\\wsl$\\") => {
            format!("\\\\wsl.localhost\\{}", path.get(7..).unwrap_or_default())
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container() -> PathMap {
        PathMap::new([("/home/me/project", "/workspaces/project"), ("/home/me/project/vendor/", "/opt/vendor/")])
    }

    fn wsl() -> PathMap {
        PathMap::new([("/", "\\\\wsl.localhost\\Ubuntu\\"), ("/mnt/c", "C:\\"), ("/mnt/d", "d:")])
    }

    #[test]
    fn the_innermost_folder_counts_in_either_direction() {
        let map = container();
        for (here, there) in [
            ("/home/me/project", "/workspaces/project"),
            ("/home/me/project/src/a b.rs", "/workspaces/project/src/a b.rs"),
            ("/home/me/project/vendor/x", "/opt/vendor/x"),
            ("/home/me/project/vendors", "/workspaces/project/vendors"),
        ] {
            assert_eq!(map.there(Path::new(here)).as_deref(), Some(there), "{here}");
            assert_eq!(map.here(there).as_deref(), Some(here), "{there}");
        }
        for path in ["/home/me/projects", "/home/me", "src/a.rs", "", "/home/me/project/../x"] {
            assert_eq!(map.there(Path::new(path)), None, "{path}");
        }
        assert_eq!(map.here("/workspaces/project2/a"), None);
        assert_eq!(map.here("/workspaces/project/../../etc/passwd"), None);
    }

    #[test]
    fn windows_paths_become_paths_of_wsl_and_back() {
        let map = wsl();
        for (here, there) in [
            ("/mnt/c", "C:\\"),
            ("/mnt/c/Users/me/a b.txt", "C:\\Users\\me\\a b.txt"),
            ("/mnt/d/x", "d:\\x"),
            ("/home/me/project", "\\\\wsl.localhost\\Ubuntu\\home\\me\\project"),
            ("/mnt/cd/x", "\\\\wsl.localhost\\Ubuntu\\mnt\\cd\\x"),
        ] {
            assert_eq!(map.there(Path::new(here)).as_deref(), Some(there), "{here}");
            assert_eq!(map.here(there).as_deref(), Some(here), "{there}");
        }
        for (here, there) in [
            ("/mnt/c/Users/me", "c:/users/me".replace("users", "Users")),
            ("/mnt/d/x", "D:\\x".to_owned()),
            ("/home/me", "\\\\wsl$\\ubuntu\\home\\me".to_owned()),
            ("/home/me", "//WSL.localhost/Ubuntu/home/me".replace('/', "\\")),
            ("/", "\\\\wsl$\\Ubuntu".to_owned()),
        ] {
            assert_eq!(map.here(&there).as_deref(), Some(here), "{there}");
        }
        for path in ["E:\\x", "\\\\wsl$\\Debian\\home", "C:x", "/mnt/c/x", "\\\\wsl.localhost\\Ubuntu2\\x"] {
            assert_eq!(map.here(path), None, "{path}");
        }
    }

    #[test]
    fn a_uri_keeps_its_scheme_and_is_not_encoded() {
        let map = container();
        for (named, expected) in [
            ("file:///workspaces/project/a b", "file:///home/me/project/a b"),
            ("file:///workspaces/project/a%20b", "file:///home/me/project/a b"),
            ("_claude_fs_right:/workspaces/project/a", "_claude_fs_right:/home/me/project/a"),
            ("buffer:///opt/vendor/a", "buffer:///home/me/project/vendor/a"),
        ] {
            assert_eq!(map.here(named).as_deref(), Some(expected), "{named}");
        }
        for named in ["file:///C:/Users/x", "file://C:\\Users\\x", "file:///c%3A/Users/x"] {
            assert_eq!(wsl().here(named).as_deref(), Some("file:///mnt/c/Users/x"), "{named}");
        }
    }

    #[test]
    fn numbers_stay_as_they_are() {
        let message = |path: &str| format!(r#"{{"path":"{path}","cost":1.1111111111111113e+23}}"#);
        let raw = RawValue::from_string(message("/workspaces/project/a")).unwrap();
        let changed = container().incoming(&raw).unwrap();
        assert_eq!(changed.get(), message("/home/me/project/a"));
    }

    #[test]
    fn only_members_that_hold_paths_are_changed() {
        let path = "/workspaces/project/a";
        let raw = |value: &Value| RawValue::from_string(value.to_string()).unwrap();
        let message = |path: &str| {
            json!({
                "name": "openDiff",
                "arguments": {
                    "old_file_path": path,
                    "new_file_contents": "/workspaces/project/a",
                    "text": "/workspaces/project/a",
                    "file_paths": [path, "relative"],
                    "folders": [{ "uri": format!("file://{path}"), "name": "x" }],
                    "tab_name": "✻ [Claude Code] a (1c9983) ⧉",
                    "input": json!({ "file_path": path, "content": "/workspaces/project/a" }).to_string(),
                },
            })
        };
        let map = container();
        let changed: Value = serde_json::from_str(map.incoming(&raw(&message(path))).unwrap().get()).unwrap();
        assert_eq!(changed, message("/home/me/project/a"));
        let back: Value = serde_json::from_str(map.outgoing(&raw(&changed)).unwrap().get()).unwrap();
        assert_eq!(back, message(path));
        assert!(map.outgoing(&raw(&json!({ "text": "/home/me/project/a", "filePath": "/elsewhere" }))).is_none());
    }
}
