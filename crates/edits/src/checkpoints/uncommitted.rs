//! What differs from the last commit, for a prompt.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Stdio;

use super::git::Git;

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
}

/// Why there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoDiff {
    /// No commit to compare with.
    NoCommit,
    /// Everything that differs is withheld.
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
    let diff = |arguments: &[&OsStr], cut_at| {
        let options = ["-c".into(), "core.quotePath=false".into()];
        let environment = [("GIT_LITERAL_PATHSPECS", OsStr::new("1"))];
        let diff = ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "--relative"].map(OsStr::new);
        let git = Git { folder, options: &options, environment: &environment, input: Stdio::null(), cut_at };
        git.run(&[diff.as_slice(), arguments].concat())
    };
    let listed = diff(&["--name-only", "-z", "HEAD", "--"].map(OsStr::new), None).ok_or(NoDiff::NoCommit)?;
    let names: Vec<&OsStr> =
        listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(OsStr::from_bytes).collect();
    let (withheld, shown): (Vec<&OsStr>, Vec<&OsStr>) =
        names.into_iter().partition(|name| is_withheld(&folder.join(name)));
    if shown.is_empty() {
        return Err(if withheld.is_empty() { NoDiff::Same } else { NoDiff::Withheld });
    }
    let shown = shown.into_iter().take(MAX_FILES);
    let arguments: Vec<&OsStr> = ["--no-color", "HEAD", "--"].map(OsStr::new).into_iter().chain(shown).collect();
    let text = diff(&arguments, Some(MAX_BYTES)).filter(|text| !text.is_empty()).ok_or(NoDiff::Failed)?;
    Ok(Uncommitted { text, withheld: withheld.len() })
}
