//! Follows one growing file from a byte offset.
//!
//! Invariant: each line comes exactly once for each life of the file. A file that is replaced, truncated or rewritten
//! in place begins a new life: [`TailEvent::Replaced`], then all its lines.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use claude_ide_system::file::open_regular;

use crate::error::SessionError;
use crate::json::mend;
use crate::line_buffer::{LineBuffer, RawLine, to_u64};

/// How many of the last bytes read are compared with the file at each check, to detect a rewrite.
const FINGERPRINT: usize = 64;

/// What happened to a file since the last check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TailEvent {
    /// Nothing, or it grew.
    Same,
    /// It was replaced or rewritten: all lines so far are void.
    Replaced,
    /// It does not exist.
    Missing,
}

/// Reads a growing file.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    file: Option<File>,
    identity: Option<Identity>,
    buffer: LineBuffer,
    seen: Seen,
    /// The file's modification time when its end was reached.
    settled: Option<SystemTime>,
    broken: u32,
}

impl Tail {
    /// Begins at the start of a file, which need not exist yet.
    #[must_use]
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file: None,
            identity: None,
            buffer: LineBuffer::at(0, 1),
            seen: Seen::default(),
            settled: None,
            broken: 0,
        }
    }

    /// Begins at a byte offset, which must be the start of a line; lines are numbered from `number`.
    #[must_use]
    pub(crate) fn from_offset(path: impl Into<PathBuf>, offset: u64, number: u32) -> Self {
        Self { buffer: LineBuffer::at(offset, number), ..Self::new(path) }
    }

    /// The file.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Offset of the first line not yet returned: the argument for a later [`Tail::from_offset`].
    #[must_use]
    pub(crate) fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    /// Checks the file; to be called before [`Tail::read_raw`].
    ///
    /// # Errors
    /// [`SessionError::Read`] if it exists and cannot be opened.
    pub(crate) fn check(&mut self) -> Result<TailEvent, SessionError> {
        let metadata = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TailEvent::Missing),
            Err(error) => return Err(SessionError::read(&self.path)(error)),
        };
        let identity = Identity::of(&metadata);
        if self.file.is_none() {
            let file = open_regular(&self.path).map_err(SessionError::read(&self.path))?;
            self.file = Some(file);
            let begun_before = self.identity.replace(identity).is_some();
            let beyond = self.buffer.read_offset() > metadata.len();
            return Ok(if begun_before || beyond { self.begin_again() } else { TailEvent::Same });
        }
        let replaced = self.identity != Some(identity) || metadata.len() < self.buffer.read_offset();
        if replaced || !self.is_what_was_read(&metadata) {
            self.file = Some(open_regular(&self.path).map_err(SessionError::read(&self.path))?);
            self.identity = Some(identity);
            return Ok(self.begin_again());
        }
        Ok(TailEvent::Same)
    }

    /// Reads once and hands out every whole line; `false` at the end of the file.
    pub(crate) fn read_raw(&mut self, mut each: impl FnMut(&RawLine<'_>)) -> Result<bool, SessionError> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let at = self.buffer.read_offset();
        file.seek(SeekFrom::Start(at)).map_err(SessionError::read(&self.path))?;
        let count =
            self.buffer.fill(&mut Spy { file, seen: &mut self.seen }).map_err(SessionError::read(&self.path))?;
        if count == 0 {
            let metadata = file.metadata().map_err(SessionError::read(&self.path))?;
            self.settled = metadata.modified().ok().filter(|_| metadata.len() == at);
        }
        while let Some(line) = self.buffer.next_line() {
            each(&line);
        }
        Ok(count > 0)
    }

    /// Reads a known line again.
    pub(crate) fn line_at(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, SessionError> {
        let mut line = self.read_at(offset, len)?;
        mend(&mut line);
        Ok(line)
    }

    fn read_at(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, SessionError> {
        let path = self.path.clone();
        let read = |file: &mut File| -> io::Result<Vec<u8>> {
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = vec![0; len];
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        self.file
            .as_mut()
            .ok_or(SessionError::UnknownMessage)
            .and_then(|file| read(file).map_err(SessionError::read(&path)))
    }

    /// Logs a broken line, up to a limit.
    pub(crate) fn log_broken(&mut self, number: u32) {
        const LOGGED: u32 = 10;
        self.broken += 1;
        if self.broken <= LOGGED {
            tracing::warn!(path = %self.path.display(), line = number, "skipped a broken line of a transcript");
        }
    }

    fn begin_again(&mut self) -> TailEvent {
        self.buffer = LineBuffer::at(0, 1);
        (self.seen, self.settled) = (Seen::default(), None);
        self.broken = 0;
        TailEvent::Replaced
    }

    /// Whether the file still begins with what was read of it. All of it is compared only if the file was written
    /// without growing.
    fn is_what_was_read(&mut self, metadata: &Metadata) -> bool {
        let expected = std::mem::take(&mut self.seen.end);
        let offset = self.buffer.read_offset().saturating_sub(to_u64(expected.len()));
        let holds = expected.is_empty() || self.read_at(offset, expected.len()).is_ok_and(|found| found == expected);
        self.seen.end = expected;
        let grew = metadata.len() != self.buffer.read_offset();
        let written = self.settled.is_some() && self.settled != metadata.modified().ok();
        if !holds || grew || !written {
            return holds;
        }
        self.settled = metadata.modified().ok();
        self.file.as_mut().is_some_and(|file| self.seen.is_in(file, self.buffer.read_offset()).unwrap_or(false))
    }
}

/// Identifies a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
    #[cfg(not(unix))]
    created: Option<std::time::SystemTime>,
}

impl Identity {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { created: metadata.created().ok() }
    }
}

/// Checks whether a file still has the bytes that were read.
#[derive(Debug, Default)]
struct Seen {
    bytes: u64,
    /// Of all bytes.
    hash: DefaultHasher,
    /// The last few bytes.
    end: Vec<u8>,
}

impl Seen {
    fn add(&mut self, fresh: &[u8]) {
        self.bytes += to_u64(fresh.len());
        self.hash.write(fresh);
        self.end.extend_from_slice(fresh.get(fresh.len().saturating_sub(FINGERPRINT)..).unwrap_or_default());
        let surplus = self.end.len().saturating_sub(FINGERPRINT);
        self.end.drain(..surplus);
    }

    /// Whether the file has the same bytes up to `end`.
    fn is_in(&self, file: &mut File, end: u64) -> io::Result<bool> {
        file.seek(SeekFrom::Start(end.saturating_sub(self.bytes)))?;
        let (mut now, mut piece) = (DefaultHasher::new(), vec![0; 256 * 1024]);
        let mut rest = file.take(self.bytes);
        loop {
            let count = rest.read(&mut piece)?;
            if count == 0 {
                return Ok(now.finish() == self.hash.finish());
            }
            now.write(piece.get(..count).unwrap_or_default());
        }
    }
}

/// Records what is read of a file.
struct Spy<'a> {
    file: &'a mut File,
    seen: &'a mut Seen,
}

impl Read for Spy<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.seen.add(into.get(..count).unwrap_or_default());
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn numbers(tail: &mut Tail) -> (TailEvent, Vec<u32>) {
        let event = tail.check().unwrap();
        let mut numbers = Vec::new();
        while tail.read_raw(|line| numbers.push(line.number)).unwrap() {}
        (event, numbers)
    }

    fn append(path: &Path, text: &str) {
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn each_line_comes_once_and_a_half_line_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let mut tail = Tail::new(&path);
        assert_eq!(numbers(&mut tail), (TailEvent::Missing, vec![]));
        append(&path, "{\"type\":\"a\"}\n{\"ty");
        assert_eq!(numbers(&mut tail), (TailEvent::Same, vec![1]));
        assert_eq!(numbers(&mut tail), (TailEvent::Same, vec![]));
        assert_eq!(tail.offset(), 13);
        append(&path, "pe\":\"b\"}\n");
        assert_eq!(numbers(&mut tail), (TailEvent::Same, vec![2]));
    }

    #[test]
    fn begins_again_when_the_file_is_replaced_cut_or_rewritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        append(&path, "{\"n\":1}\n{\"n\":2}\n");
        let mut tail = Tail::new(&path);
        assert_eq!(numbers(&mut tail), (TailEvent::Same, vec![1, 2]));

        std::fs::write(&path, "{\"n\":3}\n").unwrap();
        assert_eq!(numbers(&mut tail), (TailEvent::Replaced, vec![1]), "cut short");

        std::fs::write(&path, "{\"n\":4,\"longer\":true}\n").unwrap();
        assert_eq!(numbers(&mut tail), (TailEvent::Replaced, vec![1]), "rewritten in place, longer than before");

        let other = dir.path().join("other");
        std::fs::write(&other, "{\"n\":4,\"longer\":true}\n{\"n\":5}\n").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(numbers(&mut tail), (TailEvent::Replaced, vec![1, 2]), "another file under the same name");
    }

    #[test]
    fn begins_again_when_the_file_is_rewritten_with_the_same_size_and_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let text = |first: char| format!("{{\"n\":\"{first}\"}}\n{{\"n\":\"{}\"}}\n", "e".repeat(100));
        let set_time = |seconds: u64| {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        append(&path, &text('a'));
        set_time(1_000);
        let mut tail = Tail::new(&path);
        assert_eq!(numbers(&mut tail), (TailEvent::Same, vec![1, 2]));
        set_time(2_000);
        assert_eq!(numbers(&mut tail), (TailEvent::Same, vec![]), "only its time is another");
        std::fs::write(&path, text('b')).unwrap();
        set_time(3_000);
        assert_eq!(numbers(&mut tail), (TailEvent::Replaced, vec![1, 2]));
        assert_eq!(numbers(&mut tail), (TailEvent::Same, vec![]));
    }

    #[test]
    fn goes_on_from_an_offset() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        append(&path, "{\"n\":1}\n{\"n\":2}\n{\"n\"");
        assert_eq!(numbers(&mut Tail::from_offset(&path, 8, 2)), (TailEvent::Same, vec![2]));
        append(&path, ":3}\n");
        assert_eq!(numbers(&mut Tail::from_offset(&path, 9999, 1)), (TailEvent::Replaced, vec![1, 2, 3]));
    }
}
