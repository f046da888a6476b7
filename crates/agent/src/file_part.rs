//! Reads a range of a file's lines for an agent.

use std::fs::{File, FileType};
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;

use claude_ide_system::encoding;
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;

use crate::reply::{ReplyCode, ReplyError};

/// Non-blocking, since opening a pipe would wait for a writer.
const TO_READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// A range of lines of a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// The file.
    pub path: PathBuf,
    /// The first line, from 1; 0 means the first too.
    #[serde(default)]
    pub line: Option<u64>,
    /// The number of lines.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Limit in bytes.
    pub most_bytes: usize,
    /// Whether a missing file counts as empty.
    #[serde(default)]
    pub missing_is_empty: bool,
}

impl FilePart {
    /// Reads the lines as UTF-8, whatever the file's encoding is. Blocks on the disk.
    pub(crate) fn read(&self) -> Result<String, ReplyError> {
        let path = self.path.display();
        let fail = |why: String| ReplyError { code: ReplyCode::Failed, message: format!("{path}: {why}") };
        let file = match rustix::fs::open(&self.path, TO_READ, Mode::empty()).map_err(io::Error::from) {
            Ok(file) => File::from(file),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return if self.missing_is_empty {
                    Ok(String::new())
                } else {
                    Err(ReplyError { code: ReplyCode::NotFound, message: format!("Resource not found: {path}") })
                };
            }
            Err(error) => return Err(fail(error.to_string())),
        };
        let kind = file.metadata().map_err(|error| fail(error.to_string()))?.file_type();
        if !kind.is_file() {
            return Err(fail(format!("not a file but a {}", name(kind))));
        }
        match self.lines_of(file) {
            Ok(Some(lines)) => Ok(lines),
            Ok(None) => Err(ReplyError {
                code: ReplyCode::Failed,
                message: format!("{path} is too large: ask for a part of it"),
            }),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    /// `None`: the limit is exceeded.
    fn lines_of(&self, file: File) -> io::Result<Option<String>> {
        let room = u64::try_from(self.most_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        if matches!(reader.fill_buf()?, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            // Perhaps UTF-16, of which only the whole can tell.
            reader.take(room).read_to_end(&mut bytes)?;
            let first = self.line.unwrap_or(1).max(1);
            let wanted = first..first.saturating_add(self.limit.unwrap_or(u64::MAX));
            let is_whole = bytes.len() <= self.most_bytes;
            let text = into_text(bytes);
            let lines = text.split_inclusive('\n').zip(1..).filter(|(_, number)| wanted.contains(number));
            return Ok(is_whole.then(|| lines.map(|(line, _)| line).collect()));
        }
        for _ in 1..self.line.unwrap_or(1) {
            if reader.skip_until(b'\n')? == 0 {
                return Ok(Some(String::new()));
            }
        }
        let mut reader = reader.take(room);
        match self.limit {
            None => drop(reader.read_to_end(&mut bytes)?),
            Some(limit) => {
                for _ in 0..limit {
                    if reader.read_until(b'\n', &mut bytes)? == 0 {
                        break;
                    }
                }
            }
        }
        Ok((bytes.len() <= self.most_bytes).then(|| into_text(bytes)))
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    let text = encoding::text(&bytes);
    text.map_or_else(|| String::from_utf8(bytes).unwrap_or_default(), |(text, _)| text)
}

fn name(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "directory",
        _ if kind.is_fifo() => "fifo",
        _ if kind.is_char_device() => "character device",
        _ if kind.is_block_device() => "block device",
        _ => "socket",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn part(path: impl Into<PathBuf>, line: Option<u64>, limit: Option<u64>) -> FilePart {
        FilePart { path: path.into(), line, limit, most_bytes: 20, missing_is_empty: false }
    }

    #[test]
    fn lines_are_given_with_their_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "one\ntwo\r\nthree").unwrap();
        let most = Some(u64::MAX);
        let cases = [
            (None, None, "one\ntwo\r\nthree"),
            (Some(0), None, "one\ntwo\r\nthree"),
            (Some(0), Some(1), "one\n"),
            (None, Some(0), ""),
            (Some(2), Some(1), "two\r\n"),
            (Some(3), None, "three"),
            (Some(4), Some(9), ""),
            (most, most, ""),
            (Some(2), most, "two\r\nthree"),
        ];
        for (line, limit, expected) in cases {
            assert_eq!(part(&path, line, limit).read().unwrap(), expected, "{line:?} {limit:?}");
        }
    }

    #[test]
    fn a_large_file_is_refused_and_a_part_of_it_returned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "0123456789\n".repeat(1000)).unwrap();
        for (line, limit) in [(None, None), (Some(2), None), (None, Some(2)), (Some(9), Some(u64::MAX))] {
            let error = part(&path, line, limit).read().unwrap_err();
            assert!(error.message.ends_with("is too large: ask for a part of it"), "{}", error.message);
        }
        assert_eq!(part(&path, Some(1000), Some(3)).read().unwrap(), "0123456789\n");
        fs::write(&path, "0123456789012345678\n").unwrap();
        assert_eq!(part(&path, None, None).read().unwrap().len(), 20);
    }

    #[test]
    fn text_that_is_not_utf_8_is_read_as_latin_1() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, b"\xe9\n\0\xff").unwrap();
        assert_eq!(part(&path, None, None).read().unwrap(), "\u{e9}\n\0\u{ff}");
        fs::write(&path, encoding::in_utf16le("a\r\n\u{4e0a}\nb")).unwrap();
        assert_eq!(part(&path, None, None).read().unwrap(), "\u{feff}a\r\n\u{4e0a}\nb");
        assert_eq!(part(&path, Some(2), Some(1)).read().unwrap(), "\u{4e0a}\n");
        fs::write(&path, b"\xff\xfea\nb\nc").unwrap();
        assert_eq!(part(&path, Some(2), Some(1)).read().unwrap(), "b\n");
    }

    #[test]
    fn a_non_file_is_reported_by_name_and_nothing_blocks() {
        let folder = tempfile::tempdir().unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
        for (path, name) in [
            (folder.path().to_owned(), "directory"),
            (folder.path().join("fifo"), "fifo"),
            (PathBuf::from("/dev/zero"), "character device"),
        ] {
            let error = part(&path, None, Some(1)).read().unwrap_err();
            assert_eq!(error.message, format!("{}: not a file but a {name}", path.display()));
        }
    }

    #[test]
    fn a_missing_file_is_an_error_or_empty() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "").unwrap();
        for path in [folder.path().join("no"), folder.path().join("a.txt/b")] {
            let mut part = part(path, None, None);
            assert!(matches!(part.read(), Err(ReplyError { code: ReplyCode::NotFound, .. })));
            part.missing_is_empty = true;
            assert_eq!(part.read().unwrap(), "");
        }
    }
}
