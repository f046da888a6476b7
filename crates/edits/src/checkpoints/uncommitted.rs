//! What differs from the last commit, for a prompt.
//!
//! Invariant: no filter of the repository runs, as they are programs. Files that have one are left out.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::git::{Git, NoAnswer};

/// Maximum number of files.
const MAX_FILES: usize = 400;
/// A longer text is cut.
const MAX_BYTES: u64 = 128 * 1024;

/// The differences.
#[derive(Debug, PartialEq, Eq)]
pub struct Uncommitted {
    /// As `git diff` prints them.
    pub text: Vec<u8>,
    /// The number of other files, which are withheld.
    pub withheld: usize,
    /// The number of other files, which have a filter.
    pub filtered: usize,
}

/// Why there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoDiff {
    /// No commit to compare with.
    NoCommit,
    /// Everything that differs is withheld, or has a filter.
    Withheld,
    /// Nothing differs.
    Same,
    /// Git failed.
    Failed,
}

/// The differences of the files in a folder from the last commit.
///
/// # Errors
///
/// See [`NoDiff`].
pub fn uncommitted(folder: &Path, is_withheld: impl Fn(&Path) -> bool) -> Result<Uncommitted, NoDiff> {
    let settings = without_filters(folder)?;
    let environment = [("GIT_LITERAL_PATHSPECS", OsStr::new("1"))];
    let diff = |arguments: &[&OsStr], cut_at| {
        let options = ["-c", "core.quotePath=false", "diff", "--no-ext-diff", "--no-textconv"];
        let options = [options.as_slice(), &["--ignore-submodules", "--relative"]].concat();
        let arguments: Vec<&OsStr> = options.into_iter().map(OsStr::new).chain(arguments.iter().copied()).collect();
        Git { settings: &settings, environment: &environment, cut_at, ..Git::new(folder) }.run(&arguments)
    };
    // With both names of a file that was moved.
    let list = ["--no-renames", "--name-only", "-z", "HEAD", "--"].map(OsStr::new);
    let listed = diff(&list, None).map_err(|_| NoDiff::NoCommit)?;
    let names: Vec<&OsStr> =
        listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(OsStr::from_bytes).collect();
    let (withheld, shown): (Vec<&OsStr>, Vec<&OsStr>) =
        names.into_iter().partition(|name| is_withheld(&folder.join(name)));
    let filters = if settings.is_empty() { HashSet::new() } else { filtered(folder, &shown)? };
    let (filtered, shown): (Vec<&OsStr>, Vec<&OsStr>) =
        shown.into_iter().partition(|name| filters.contains(name.as_bytes()));
    if shown.is_empty() {
        return Err(if withheld.is_empty() && filtered.is_empty() { NoDiff::Same } else { NoDiff::Withheld });
    }
    let shown = shown.into_iter().take(MAX_FILES);
    let text = ["--no-color", "--find-renames", "HEAD", "--"].map(OsStr::new);
    let arguments: Vec<&OsStr> = text.into_iter().chain(shown).collect();
    let text = diff(&arguments, Some(MAX_BYTES)).ok().filter(|text| !text.is_empty()).ok_or(NoDiff::Failed)?;
    Ok(Uncommitted { text, withheld: withheld.len(), filtered: filtered.len() })
}

/// Settings that disable the repository's filters.
fn without_filters(folder: &Path) -> Result<Vec<(Vec<u8>, &'static str)>, NoDiff> {
    let programs = r"^filter\..*\.(clean|smudge|process)$";
    let keys = match Git::new(folder).run(&["config", "--null", "--name-only", "--get-regexp", programs]) {
        Err(NoAnswer::Late) => return Err(NoDiff::Failed),
        Err(NoAnswer::Refused) => Vec::new(),
        Ok(keys) => keys,
    };
    let mut settings = Vec::new();
    for key in keys.split(|byte| *byte == 0).filter(|key| !key.is_empty()) {
        let name = memchr::memrchr(b'.', key).and_then(|at| key.get(..at)).unwrap_or_default();
        settings.extend([(key.to_vec(), ""), ([name, b".required"].concat(), "false")]);
    }
    // Git before 2.31 would not take them.
    for (key, _) in settings.iter().filter(|(_, value)| value.is_empty()) {
        let ask = ["config", "--null", "--get"].map(OsStr::new);
        let git = Git { settings: &settings, ..Git::new(folder) };
        let value = git.run(&[ask.as_slice(), &[OsStr::from_bytes(key)]].concat());
        if value != Ok(b"\0".to_vec()) {
            return Err(NoDiff::Failed);
        }
    }
    Ok(settings)
}

/// Those of some files that have a filter.
fn filtered(folder: &Path, names: &[&OsStr]) -> Result<HashSet<Vec<u8>>, NoDiff> {
    let mut found = HashSet::new();
    for names in names.chunks(MAX_FILES) {
        let ask = ["check-attr", "-z", "filter", "--"].map(OsStr::new);
        let out = Git::new(folder).run(&[ask.as_slice(), names].concat()).map_err(|_| NoDiff::Failed)?;
        let mut fields = out.split(|byte| *byte == 0);
        while let (Some(name), Some(_attribute), Some(value)) = (fields.next(), fields.next(), fields.next()) {
            if value != b"unspecified" && value != b"unset" {
                found.insert(name.to_vec());
            }
        }
    }
    Ok(found)
}
