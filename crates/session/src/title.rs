//! The title that the user gave to a session: a line of its transcript, and a small file beside it, in case the line is too
//! far back. `/rename` of the CLI writes both (2.1.329, measured); CLIs before 2.1 only write the line.
//!
//! A CLI that runs the session reads the title at its next prompt: it checks the end of its transcript before it writes
//! (2.1.329, measured). Invariant: the transcript's existing bytes stay; the title is one whole line, appended at once, as
//! by the CLI.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};

use claude_ide_system::file::{Access, Whole, read_regular};
use serde::{Deserialize, Serialize};

use crate::error::SessionError;
use crate::id::SessionId;
use crate::json::parse_file;

const MAX_FILE: u64 = 64 * 1024;

#[derive(Serialize, Deserialize)]
struct Beside {
    #[serde(rename = "customTitle")]
    title: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    r#type: &'static str,
    custom_title: &'a str,
    session_id: &'a SessionId,
}

fn beside(transcript: &Path) -> PathBuf {
    transcript.with_extension("").join("custom-title.json")
}

/// The title in the file beside a transcript.
pub(crate) fn beside_of(transcript: &Path) -> Option<String> {
    let title = parse_file::<Beside>(read_regular(&beside(transcript), MAX_FILE).ok()?)?.title;
    (!title.trim().is_empty()).then_some(title)
}

/// Gives a session a title, like the CLI.
///
/// # Errors
/// [`SessionError::Title`]; then it has the title of before.
pub(crate) fn rename(transcript: &Path, id: &SessionId, title: &str, is_running: bool) -> Result<(), SessionError> {
    write(transcript, id, title, is_running).map_err(SessionError::Title)
}

fn write(transcript: &Path, id: &SessionId, title: &str, is_running: bool) -> io::Result<()> {
    // Never created: a transcript that is gone stays gone.
    let mut file = File::options().read(true).append(true).open(transcript)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut line = serde_json::to_vec(&Line { r#type: "custom-title", custom_title: title, session_id: id })?;
    line.push(b'\n');
    let mut last = [b'\n'];
    if let Some(at) = about.len().checked_sub(1) {
        file.read_exact_at(&mut last, at)?;
    }
    match (last, is_running) {
        ([b'\n'], _) => {}
        (_, true) => return Err(io::Error::other("it is being written to just now, try again")),
        // After a partial line of a killed CLI.
        (_, false) => line.insert(0, b'\n'),
    }
    let path = beside(transcript);
    let before = read_regular(&path, MAX_FILE).ok();
    // If this fails, so does the next step.
    DirBuilder::new().mode(0o700).create(transcript.with_extension("")).ok();
    replace(&path, &serde_json::to_vec(&Beside { title: title.to_owned() })?)?;
    let written = file
        .write(&line)
        .and_then(|count| if count == line.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) });
    if written.is_err() {
        // The first error is the relevant one.
        before.map_or_else(|| fs::remove_file(&path), |before| replace(&path, &before)).ok();
    }
    written
}

/// Like the CLI: only its owner can read it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = OsString::from(path);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Whole { path, temporary: temporary.as_ref(), access: Access::Private, durable: false }.write(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_cannot_be_appended_leaves_that_of_before() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        let id = SessionId::new("s");
        rename(&file, &id, "One", false).unwrap_err();
        assert!(!file.exists());
        fs::write(&file, "{}\n{half").unwrap();
        rename(&file, &id, "One", true).unwrap_err();
        assert_eq!(beside_of(&file), None);
        rename(&file, &id, "a \"b\" / c", false).unwrap();
        assert_eq!(beside_of(&file).as_deref(), Some("a \"b\" / c"));
        let text = fs::read_to_string(&file).unwrap();
        let line = r#"{"type":"custom-title","customTitle":"a \"b\" / c","sessionId":"s"}"#;
        assert_eq!(text, format!("{{}}\n{{half\n{line}\n"));
    }
}
