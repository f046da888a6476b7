//! Reads git's index: which files git tracks, and what they were when git last looked. Git says nothing of it here: its
//! answers follow attributes, filters and the index' bits (assume-unchanged, skip-worktree).
//!
//! Source: gitformat-index(5).

/// A file that git tracks, as it was when git last looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tracked {
    /// Its name from the top.
    pub(super) name: Vec<u8>,
    pub(super) is_link: bool,
    /// Its blob; `None`: a conflict, an announced file, another repository.
    pub(super) blob: Option<Vec<u8>>,
    pub(super) changed: Time,
    pub(super) modified: Time,
    /// The lower half of the number.
    pub(super) inode: u32,
    /// The lower half of the size.
    pub(super) size: u32,
}

/// Seconds since the epoch, and nanoseconds.
pub(super) type Time = (u32, u32);

/// What an index has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// All files, in the order of their names. Folders that are not checked out (sparse index) are left out.
    Whole {
        files: Vec<Tracked>,
        /// Whether some files are not to be checked out.
        is_sparse: bool,
    },
    /// A part is in another file.
    Split,
}

const LINK: u32 = 0o120_000;
const FILE: u32 = 0o100_000;
const TREE: u32 = 0o040_000;
const KIND: u32 = 0o170_000;

const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const ANNOUNCED: u16 = 0x2000;
const SKIPPED: u16 = 0x4000;

struct Reader<'a> {
    whole: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let part = self.whole.get(self.at..end)?;
        self.at = end;
        Some(part)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn flags(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let rest = self.whole.get(self.at..)?;
        let length = memchr::memchr(0, rest)?;
        self.at += length + 1;
        rest.get(..length)
    }

    /// A number as in a delta of a pack.
    fn offset(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 127);
        while byte & 128 != 0 {
            byte = *self.take(1)?.first()?;
            value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        }
        Some(value)
    }
}

/// Reads an index. `None`: it has an unknown form, or is damaged.
pub(super) fn parse(whole: &[u8], hash_length: usize) -> Option<Index> {
    let mut reader = Reader { whole, at: 0 };
    if reader.take(4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (reader.number()?, reader.number()?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found = Vec::with_capacity(usize::try_from(count).ok()?.min(whole.len() / 64));
    let (mut last, mut is_sparse): (Vec<u8>, bool) = (Vec::new(), false);
    for _ in 0..count {
        let began = reader.at;
        let changed = (reader.number()?, reader.number()?);
        let modified = (reader.number()?, reader.number()?);
        let (_device, inode, mode) = (reader.number()?, reader.number()?, reader.number()?);
        let (_user, _group, size) = (reader.number()?, reader.number()?, reader.number()?);
        let blob = reader.take(hash_length)?;
        let flags = reader.flags()?;
        let more = if flags & EXTENDED != 0 { reader.flags()? } else { 0 };
        if version == 4 {
            let kept = last.len().checked_sub(reader.offset()?)?;
            last.truncate(kept);
            last.extend_from_slice(reader.until_zero()?);
        } else {
            last.clear();
            last.extend_from_slice(reader.until_zero()?);
            // The entry ends with one to eight zeros, at a multiple of eight.
            let length = reader.at.checked_sub(began)?;
            reader.take(length.next_multiple_of(8) - length)?;
        }
        let kind = mode & KIND;
        is_sparse |= kind == TREE || more & SKIPPED != 0;
        if kind == TREE {
            continue;
        }
        let has_blob = flags & STAGE == 0 && more & ANNOUNCED == 0 && matches!(kind, LINK | FILE);
        found.push(Tracked {
            name: last.clone(),
            is_link: kind == LINK,
            blob: has_blob.then(|| blob.to_vec()),
            changed,
            modified,
            inode,
            size,
        });
    }
    while reader.at + hash_length < whole.len() {
        let signature = reader.take(4)?;
        let length = usize::try_from(reader.number()?).ok()?;
        if signature == b"link" {
            return Some(Index::Split);
        }
        reader.take(length)?;
    }
    // The stages of a conflict.
    found.dedup_by(|later, earlier| later.name == earlier.name);
    Some(Index::Whole { files: found, is_sparse })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let out = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn told(index: &[u8], hash_length: usize) -> Vec<String> {
        let Some(Index::Whole { files, .. }) = parse(index, hash_length) else { panic!("no index") };
        let line = |file: Tracked| format!("{} {}", hex(&file.blob.unwrap()), String::from_utf8(file.name).unwrap());
        files.into_iter().map(line).collect()
    }

    #[test]
    fn each_form_of_an_index_is_read_as_git_lists_it() {
        for format in ["sha1", "sha256"] {
            let home = tempfile::tempdir().unwrap();
            let top = home.path();
            git(top, &["init", "-q", &format!("--object-format={format}")]);
            for name in ["a", "ab", "abc/d", "abc/é f", "abd/e/f/g/h/i/j/k", "b", "long-name-of-a-file.txt"] {
                fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
                fs::write(top.join(name), name).unwrap();
            }
            std::os::unix::fs::symlink("a", top.join("link")).unwrap();
            git(top, &["add", "-A"]);
            for version in ["2", "3", "4"] {
                git(top, &["update-index", "--index-version", version]);
                git(top, &["update-index", "--skip-worktree", "b"]);
                let listed = git(top, &["-c", "core.quotePath=false", "ls-files", "-s"]);
                let listed: Vec<String> =
                    listed.lines().map(|line| line.get(7..).unwrap().replace(" 0\t", " ")).collect();
                let index = fs::read(top.join(".git/index")).unwrap();
                let length = if format == "sha1" { 20 } else { 32 };
                assert_eq!(told(&index, length), listed, "{format} {version}");
                for end in 0..index.len() - length {
                    parse(&index[..end], length); // a damaged one is no panic
                }
            }
            git(top, &["update-index", "--split-index"]);
            let index = fs::read(top.join(".git/index")).unwrap();
            assert_eq!(parse(&index, if format == "sha1" { 20 } else { 32 }), Some(Index::Split));
        }
    }
}
