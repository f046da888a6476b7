//! The configuration folders of CLIs, and how a CLI names the folders in one.
//!
//! Each account has a folder of its own. Invariant: no two of the known ones are the same, also through links.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use claude_ide_system::process::environment_of;
use serde::Serialize;

/// Longer folder names are cut and get a hash (measured, CLI 2.1.329).
const MAX_FOLDER_NAME: usize = 200;

/// Limit of known folders: a client can name any process.
const MAX_DIRS: usize = 32;

/// A CLI's configuration folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ConfigDir(PathBuf);

impl ConfigDir {
    /// The folder of a running CLI, from its environment; `None` where that cannot be read.
    pub(crate) fn of_process(pid: u32) -> Option<Self> {
        let variables = environment_of(pid)?;
        Self::of_environment(|name| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    }

    /// As the CLI does: `$CLAUDE_CONFIG_DIR`, else `~/.claude`. `None` for a relative one, which depends on where the CLI is.
    /// An empty one is the working folder (measured, CLI 2.1.332).
    fn of_environment(var: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let dir = match (var("CLAUDE_CONFIG_DIR"), var("HOME").or_else(|| var("USERPROFILE"))) {
            (Some(dir), _) => PathBuf::from(dir),
            (None, home) => PathBuf::from(home?).join(".claude"),
        };
        dir.is_absolute().then(|| Self(dir.components().collect()))
    }

    /// The folder that holds a session's transcript: `<folder>/projects/<project>/<id>.jsonl`.
    pub(crate) fn of_transcript(file: &Path) -> Option<Self> {
        file.ancestors().nth(3).map(|dir| Self(dir.to_owned()))
    }

    /// Uses the given folder.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Holds one folder of transcripts a project.
    #[must_use]
    pub fn projects(&self) -> PathBuf {
        self.0.join("projects")
    }

    /// Holds one record a running CLI.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }
}

/// The folders whose sessions are read, shared by all who read them. One that was added stays: its sessions do not vanish from a list
/// with their last CLI.
#[derive(Clone, Debug)]
pub struct ConfigDirs {
    dirs: Arc<RwLock<Vec<ConfigDir>>>,
    kept: Option<ConfigDir>,
}

impl From<ConfigDir> for ConfigDirs {
    fn from(dir: ConfigDir) -> Self {
        [dir].into_iter().collect()
    }
}

impl FromIterator<ConfigDir> for ConfigDirs {
    fn from_iter<T: IntoIterator<Item = ConfigDir>>(dirs: T) -> Self {
        let all = Self { dirs: Arc::default(), kept: None };
        for dir in dirs {
            all.add(dir);
        }
        all
    }
}

impl ConfigDirs {
    /// With the folder of copies that stay when the CLI deletes its own, which no CLI has.
    #[must_use]
    pub fn with_kept(self, dir: ConfigDir) -> Self {
        Self { kept: Some(dir), ..self }
    }

    pub(crate) fn kept(&self) -> Option<&ConfigDir> {
        self.kept.as_ref()
    }

    /// Adds one. Returns whether it is new.
    pub(crate) fn add(&self, dir: ConfigDir) -> bool {
        let real = |dir: &ConfigDir| dir.0.canonicalize().unwrap_or_else(|_| dir.0.clone());
        let added = real(&dir);
        let mut dirs = self.dirs.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = dirs.len() < MAX_DIRS && dirs.iter().all(|known| real(known) != added);
        if is_new {
            dirs.push(dir);
        }
        is_new
    }

    /// All of CLIs.
    #[must_use]
    pub fn all(&self) -> Vec<ConfigDir> {
        self.dirs.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The CLI's name for the folder of a project's transcripts.
///
/// Every UTF-16 unit outside `[a-zA-Z0-9]` becomes `-`, so different paths can share a name: it is a hint, never proof.
/// Past 200 characters the name is cut and followed by `-` and the base-36 absolute value of the path's 31-hash.
#[must_use]
pub(crate) fn encode_folder(path: &str) -> String {
    let name: String = path
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect();
    match name.get(..MAX_FOLDER_NAME) {
        Some(cut) if name.len() > MAX_FOLDER_NAME => format!("{cut}-{}", base36(hash31(path).unsigned_abs())),
        _ => name,
    }
}

fn hash31(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

fn base36(mut value: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(value % 36, 36).unwrap_or('0'));
        value /= 36;
        if value == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Option<PathBuf> {
        let dir = ConfigDir::of_environment(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        });
        dir.map(|dir| dir.0)
    }

    #[test]
    fn the_variable_wins_over_the_home() {
        let root = std::env::current_dir().unwrap();
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let (own, home) = (at("c"), at("h"));
        assert_eq!(from(&[("CLAUDE_CONFIG_DIR", &format!("{own}/")), ("HOME", &home)]), Some(root.join("c")));
        assert_eq!(from(&[("HOME", &home)]), Some(root.join("h").join(".claude")));
        assert_eq!(from(&[("CLAUDE_CONFIG_DIR", ""), ("HOME", &home)]), None, "wherever the CLI is");
        assert_eq!(from(&[("CLAUDE_CONFIG_DIR", "c"), ("HOME", &home)]), None);
        assert_eq!(from(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_running_process_tells_its_folder() {
        let mut cli = std::process::Command::new("sleep").arg("600").env("CLAUDE_CONFIG_DIR", "/c").spawn().unwrap();
        // Until it is another program, it has our environment.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while ConfigDir::of_process(cli.id()) != Some(ConfigDir::at("/c")) && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        let found = ConfigDir::of_process(cli.id());
        cli.kill().unwrap();
        cli.wait().unwrap();
        assert_eq!(found, Some(ConfigDir::at("/c")));
        assert_eq!(ConfigDir::of_process(cli.id()), None, "it has ended");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_known_once_also_by_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (work, link) = (dir.path().join("work"), dir.path().join("link"));
        std::fs::create_dir(&work).unwrap();
        std::os::unix::fs::symlink(&work, &link).unwrap();
        let dirs = ConfigDirs::from(ConfigDir::at(&work));
        assert!(!dirs.add(ConfigDir::at(&link)) && !dirs.add(ConfigDir::at(&work)));
        assert!(dirs.clone().add(ConfigDir::at(dir.path().join("later"))), "it need not exist");
        assert_eq!(dirs.all().len(), 2, "a clone is the same list");
    }

    #[test]
    fn folder_names_are_those_of_the_cli() {
        assert_eq!(encode_folder("/tmp/h/proj"), "-tmp-h-proj");
        assert_eq!(encode_folder("/a b/ö.x"), "-a-b---x");
        assert_eq!(encode_folder("/𝄞"), "---", "one dash a UTF-16 unit");
        assert_eq!(encode_folder("/tmp/h-proj"), encode_folder("/tmp/h/proj"), "lossy, hence only a hint");
    }

    #[test]
    fn long_names_are_cut_and_hashed() {
        let name = encode_folder(&format!("/{}", "a".repeat(300)));
        assert_eq!(name.get(..200).unwrap().len(), 200);
        assert!(name.get(200..).unwrap().starts_with('-'));
        // Measured: the folder that CLI 2.1.329 made for this path.
        let path = format!("/tmp/h/{}/{}", "abcdefghij-".repeat(10), "klmnö pqrs_".repeat(11));
        let name = encode_folder(&path);
        assert!(name.starts_with("-tmp-h-abcdefghij-abcdefghij-"));
        assert!(name.ends_with("klmn--pqrs-klmn--j6loy8"), "{name}");
    }
}
