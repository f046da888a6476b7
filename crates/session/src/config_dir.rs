//! The CLI's configuration folder, and how it names the folders in it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::SessionError;

/// Longer folder names are cut and get a hash (measured, CLI 2.1.329).
const MAX_FOLDER_NAME: usize = 200;

/// The CLI's configuration folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigDir(PathBuf);

impl ConfigDir {
    /// Resolves it as the CLI does: `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
    ///
    /// # Errors
    /// [`SessionError::NoConfigDir`] if neither variable is set.
    pub fn resolve() -> Result<Self, SessionError> {
        Self::resolve_from(|name| env::var_os(name))
    }

    /// Like [`ConfigDir::resolve`], with another environment: a CLI may run in one of its own.
    ///
    /// # Errors
    /// [`SessionError::NoConfigDir`] if neither variable is set.
    pub fn resolve_from(var: impl Fn(&str) -> Option<OsString>) -> Result<Self, SessionError> {
        let set = |name| var(name).filter(|value| !value.is_empty());
        match (set("CLAUDE_CONFIG_DIR"), set("HOME").or_else(|| set("USERPROFILE"))) {
            (Some(dir), _) => Ok(Self(PathBuf::from(dir))),
            (None, Some(home)) => Ok(Self(PathBuf::from(home).join(".claude"))),
            (None, None) => Err(SessionError::NoConfigDir),
        }
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

    fn from(pairs: &'static [(&str, &str)]) -> Result<ConfigDir, SessionError> {
        ConfigDir::resolve_from(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_variable_wins_over_the_home() {
        assert_eq!(from(&[("CLAUDE_CONFIG_DIR", "/c"), ("HOME", "/h")]).unwrap().path(), Path::new("/c"));
        assert_eq!(from(&[("CLAUDE_CONFIG_DIR", ""), ("HOME", "/h")]).unwrap().path(), Path::new("/h/.claude"));
        assert!(matches!(from(&[]), Err(SessionError::NoConfigDir)));
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
