//! Reads a checkpoint's blobs as they were on disk.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use super::git::{Objects, Repository};
use super::{MAX_FILE_BYTES, Name, Stored};

/// Names without a filter (such as LFS): for others a checkpoint does not have the bytes on disk. Empty if git does not
/// say.
pub(super) fn unfiltered(repository: &Repository, names: &[&[u8]]) -> HashSet<Name> {
    if names.is_empty() {
        return HashSet::new();
    }
    let input: Vec<u8> = names.iter().flat_map(|name| [name, b"\0".as_slice()]).flatten().copied().collect();
    let arguments = ["check-attr", "-z", "--stdin", "filter", "working-tree-encoding"];
    let Some(out) = repository.git(Objects::All, &arguments, &input) else { return HashSet::new() };
    let mut kept: HashSet<Name> = names.iter().map(|name| name.to_vec()).collect();
    let mut fields = out.split(|byte| *byte == 0);
    while let (Some(name), Some(_attribute), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        if value != b"unspecified" && value != b"unset" {
            kept.remove(name);
        }
    }
    kept
}

/// The files' contents, with the line endings of a checkout.
pub(super) fn contents_of(repository: &Repository, files: &[Stored]) -> HashMap<Name, Vec<u8>> {
    let mut asked = files.iter().filter(|file| !file.name.contains(&b'\n')).peekable();
    if asked.peek().is_none() {
        return HashMap::new();
    }
    // Git reports sizes before it converts line endings, so names that do not exist separate the files.
    let mark = format!("between-{:x}", RandomState::new().build_hasher().finish());
    let (mut input, mut names) = (Vec::new(), Vec::new());
    for file in asked {
        names.push(&file.name);
        input.extend_from_slice(file.blob.as_bytes());
        input.extend([b" ".as_slice(), &file.name, format!("\n{mark}-{} x\n", names.len()).as_bytes()].concat());
    }
    let out =
        repository.git(Objects::All, &["cat-file", "--batch", "--buffer", "--filters"], &input).unwrap_or_default();
    let (mut contents, mut rest) = (HashMap::new(), out.as_slice());
    for (index, name) in names.into_iter().enumerate() {
        let end = format!("\n{mark}-{} missing\n", index + 1);
        let Some(at) = position(rest, end.as_bytes()) else { break };
        let (file, after) = rest.split_at_checked(at).unwrap_or_default();
        rest = after.get(end.len()..).unwrap_or_default();
        if let Some(text) = without_header(file).filter(|text| text.len() <= MAX_FILE_BYTES) {
            contents.insert(name.clone(), text.to_vec());
        }
    }
    contents
}

/// Strips `<blob> blob <size>` and the line feed; `None` if there is no such blob.
fn without_header(file: &[u8]) -> Option<&[u8]> {
    let end = file.iter().position(|byte| *byte == b'\n')?;
    let mut words = file.get(..end)?.split(|byte| *byte == b' ').skip(1);
    (words.next()? == b"blob").then_some(file.get(end + 1..)?)
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}
