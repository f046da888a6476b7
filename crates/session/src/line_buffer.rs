//! Splits bytes into lines, with the offset and number of each. Lone surrogates are replaced on the way without
//! changing the length.
//!
//! Invariant: memory stays within the read size plus one line of at most [`MAX_LINE`]. A longer line is skipped and
//! counted. A line without its newline stays in the buffer until the rest arrives, unless it is a whole record: a CLI
//! that is killed, or a file that is copied, ends in one. The next CLI appends to it: two records on one line are two.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};

use memchr::{memchr, memmem, memrchr};
use serde::de::IgnoredAny;

use crate::json::mend;

/// Size of the first reads: a followed file grows by little.
const FIRST_READ: usize = 16 * 1024;
/// Size of further reads.
const READ: usize = 256 * 1024;
/// Longer lines are skipped. The longest in real transcripts hold pasted images, a few megabytes each.
pub(crate) const MAX_LINE: usize = 64 * 1024 * 1024;

/// One whole line, without its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawLine<'a> {
    /// Its offset in the file, in bytes.
    pub(crate) offset: u64,
    /// Its number in the file, from 1.
    pub(crate) number: u32,
    /// Its content; `None` if it was too long.
    pub(crate) bytes: Option<&'a [u8]>,
}

/// Splits a stream of bytes into lines.
#[derive(Debug)]
pub(crate) struct LineBuffer {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes before this are known to hold no newline.
    searched: usize,
    /// The file offset of `start`.
    offset: u64,
    number: u32,
    /// Bytes dropped so far of a line that is too long.
    dropped: u64,
    /// Size of the next read.
    read: usize,
    max_line: usize,
    /// The last read found the end of the file.
    at_end: bool,
    /// Whether the end of the last line may follow: that of one returned, or of one read before this buffer began.
    unended: Option<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Returned,
    Before,
}

impl LineBuffer {
    /// Begins at a byte offset; lines are numbered from `number`.
    pub(crate) fn at(offset: u64, number: u32) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            searched: 0,
            offset,
            number,
            dropped: 0,
            read: FIRST_READ,
            max_line: MAX_LINE,
            at_end: false,
            unended: (offset > 0).then_some(Line::Before),
        }
    }

    /// The file offset of the first byte not yet returned in a line.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The file offset of the next read.
    pub(crate) fn read_offset(&self) -> u64 {
        self.offset + self.dropped + to_u64(self.end - self.start)
    }

    /// Reads once; 0 means that the reader has nothing for now.
    pub(crate) fn fill(&mut self, reader: &mut impl Read) -> io::Result<usize> {
        self.make_room();
        let space = self.buffer.get_mut(self.end..).and_then(|space| space.get_mut(..self.read));
        let Some(space) = space else { return Ok(0) };
        loop {
            match reader.read(space) {
                Ok(count) => {
                    self.end += count;
                    self.at_end = count == 0;
                    if count == 0 {
                        self.rest();
                    } else if count == self.read {
                        self.read = (self.read * 4).min(READ);
                    }
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the next whole line.
    pub(crate) fn next_line(&mut self) -> Option<RawLine<'_>> {
        self.skip_end();
        let fresh = self.buffer.get(self.searched..self.end)?;
        let Some(found) = memchr(b'\n', fresh) else {
            self.searched = self.end;
            if self.end - self.start > self.max_line {
                self.dropped += to_u64(self.end - self.start);
                (self.start, self.end, self.searched) = (0, 0, 0);
            }
            return if self.at_end && self.dropped == 0 { self.last_record() } else { None };
        };
        let newline = self.searched + found;
        let (start, offset, number, dropped) = (self.start, self.offset, self.number, self.dropped);
        if dropped == 0
            && let Some(len) = self.buffer.get(start..newline).and_then(first_of_several)
        {
            return self.take_record(len);
        }
        self.offset += dropped + to_u64(newline + 1 - start);
        self.number = number.saturating_add(1);
        (self.start, self.searched, self.dropped) = (newline + 1, newline + 1, 0);
        let bytes = self.buffer.get_mut(start..newline)?;
        if dropped > 0 || bytes.len() > self.max_line {
            return Some(RawLine { offset, number, bytes: None });
        }
        mend(bytes);
        let bytes = &*bytes;
        Some(RawLine { offset, number, bytes: Some(bytes.strip_suffix(b"\r").unwrap_or(bytes)) })
    }

    /// Skips the end of a line that was returned without it.
    fn skip_end(&mut self) {
        if self.start == self.end {
            return;
        }
        match (self.unended.take(), self.buffer.get(self.start)) {
            (Some(_), Some(b'\n')) => {
                self.offset += 1;
                (self.start, self.searched) = (self.start + 1, self.searched.max(self.start + 1));
            }
            (Some(Line::Returned), _) => self.number = self.number.saturating_sub(1).max(1),
            _ => {}
        }
    }

    #[cfg(test)]
    fn is_at_record(&self) -> bool {
        self.buffer.get(self.start..self.end).is_some_and(|rest| is_record(rest) || first_of_several(rest).is_some())
    }

    /// Takes the rest of a file if it is a record.
    fn last_record(&mut self) -> Option<RawLine<'_>> {
        let rest = self.buffer.get(self.start..self.end)?;
        let len = match first_of_several(rest) {
            Some(len) => len,
            None if is_record(rest) => rest.len(),
            None => return None,
        };
        self.take_record(len)
    }

    /// Takes a record that no newline ends.
    fn take_record(&mut self, len: usize) -> Option<RawLine<'_>> {
        let (start, offset, number) = (self.start, self.offset, self.number);
        self.offset += to_u64(len);
        self.number = number.saturating_add(1);
        (self.start, self.unended) = (start + len, Some(Line::Returned));
        self.searched = self.start;
        let bytes = self.buffer.get_mut(start..start + len)?;
        mend(bytes);
        Some(RawLine { offset, number, bytes: Some(bytes) })
    }

    /// Makes space for one read: moves the rest to the front, or grows when one line fills the buffer.
    fn make_room(&mut self) {
        if self.start > 0 && (self.start == self.end || self.buffer.len() - self.end < self.read) {
            self.move_to_front();
            if self.buffer.len() > 8 * READ && self.end < READ {
                // A long line is over.
                self.buffer.truncate(2 * READ);
                self.buffer.shrink_to_fit();
            }
        }
        if self.buffer.len() - self.end < self.read {
            let grown = (self.buffer.len() * 2).max(2 * self.read).max(self.end + self.read);
            self.buffer.resize(grown, 0);
        }
    }

    /// Shrinks the buffer: many files are followed, and most are idle.
    fn rest(&mut self) {
        self.move_to_front();
        self.buffer.truncate(self.end);
        self.buffer.shrink_to_fit();
        self.read = FIRST_READ;
    }

    fn move_to_front(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.searched -= self.start;
        self.start = 0;
    }
}

/// Whether bytes are one JSON object.
fn is_record(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii();
    bytes.starts_with(b"{") && bytes.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// The length of the first record of a line that holds several.
fn first_of_several(line: &[u8]) -> Option<usize> {
    memmem::find(line, b"}{\"")?;
    let mut records = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
    records.next()?.ok()?;
    Some(records.byte_offset()).filter(|len| *len < line.len() && line.starts_with(b"{"))
}

/// The records of a line.
fn records(mut line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let mut records = Vec::new();
    while let Some((first, rest)) = first_of_several(line).and_then(|len| line.split_at_checked(len)) {
        records.push(first);
        line = rest;
    }
    records.push(line);
    records.into_iter()
}

/// A piece of a file, without lone surrogates.
pub(crate) fn read_piece(file: &mut File, start: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
    file.seek(SeekFrom::Start(start))?;
    file.take(len).read_to_end(&mut piece)?;
    mend(&mut piece);
    Ok(piece)
}

/// The whole lines of a piece of a file, without the partial ones at its ends unless those are the file's own, or a
/// record.
pub(crate) fn whole_lines(piece: &[u8], from_start: bool) -> impl DoubleEndedIterator<Item = &[u8]> {
    let start = if from_start { 0 } else { memchr(b'\n', piece).map_or(piece.len(), |at| at + 1) };
    let last = memrchr(b'\n', piece).map_or(start, |at| at + 1).max(start);
    let end = if piece.get(last..).is_some_and(is_record) { piece.len() } else { last };
    let whole = piece.get(start..end).unwrap_or_default();
    whole.split(|byte| *byte == b'\n').flat_map(records).filter(|line| !line.is_empty())
}

pub(crate) fn to_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the given pieces, one a read.
    struct Pieces<'a>(std::collections::VecDeque<&'a [u8]>);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.0.pop_front() else { return Ok(0) };
            into[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn lines(buffer: &mut LineBuffer, pieces: &[&[u8]]) -> Vec<(u64, u32, Option<String>)> {
        let mut reader = Pieces(pieces.iter().copied().collect());
        let mut out = Vec::new();
        loop {
            while let Some(line) = buffer.next_line() {
                let text = line.bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
                out.push((line.offset, line.number, text));
            }
            if buffer.fill(&mut reader).unwrap() == 0 && !buffer.is_at_record() {
                return out;
            }
        }
    }

    #[test]
    fn a_half_line_waits_for_its_rest() {
        let mut buffer = LineBuffer::at(0, 1);
        assert_eq!(lines(&mut buffer, &[b"one\ntw"]), [(0, 1, Some("one".into()))]);
        assert_eq!(buffer.offset(), 4, "what is not whole can be read again");
        assert_eq!(lines(&mut buffer, &[b"o", b"\r\n\nx"]), [(4, 2, Some("two".into())), (9, 3, Some(String::new()))]);
        assert_eq!(buffer.read_offset(), 11);
    }

    #[test]
    fn a_line_too_long_is_skipped_in_bounded_memory() {
        let mut buffer = LineBuffer::at(0, 1);
        buffer.max_line = 10;
        let long = vec![b'x'; 30];
        let got = lines(&mut buffer, &[&long, &long, b"xx\nok\n"]);
        assert_eq!(got, [(0, 1, None), (63, 2, Some("ok".into()))]);
        assert!(buffer.buffer.len() <= 2 * READ);
    }

    #[test]
    fn at_the_end_of_a_file_only_the_half_line_is_kept() {
        let mut buffer = LineBuffer::at(0, 1);
        let long = vec![b'x'; 8 * READ];
        let file = [long.as_slice(), b"\n", &long[..READ], b"\nhalf"].concat();
        let mut reader = file.as_slice();
        let mut lines = 0;
        while buffer.fill(&mut reader).unwrap() > 0 {
            while buffer.next_line().is_some() {
                lines += 1;
            }
        }
        assert_eq!((lines, buffer.buffer.capacity()), (2, 4));
        buffer.fill(&mut b" a\n".as_slice()).unwrap();
        assert_eq!(buffer.next_line().unwrap().bytes, Some(b"half a".as_slice()));
        buffer.fill(&mut b"".as_slice()).unwrap();
        assert_eq!(buffer.buffer.capacity(), 0);
    }

    #[test]
    fn any_cut_of_a_stream_gives_the_same_lines() {
        let text = b"alpha\n\nbeta gamma\r\ndelta\nhalf";
        let whole = lines(&mut LineBuffer::at(7, 3), &[text]);
        for cut in 0..text.len() {
            let (head, tail) = text.split_at(cut);
            let pieces: Vec<&[u8]> = [head, tail].into_iter().filter(|piece| !piece.is_empty()).collect();
            assert_eq!(lines(&mut LineBuffer::at(7, 3), &pieces), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_record_without_its_end_is_a_line_and_two_on_a_line_are_two() {
        let mut buffer = LineBuffer::at(0, 1);
        let line = |offset, number, text: &str| (offset, number, Some(text.to_owned()));
        assert_eq!(lines(&mut buffer, &[b"{\"a\":1}\n{\"b\""]), [line(0, 1, r#"{"a":1}"#)]);
        assert_eq!(lines(&mut buffer, &[b":2}"]), [line(8, 2, r#"{"b":2}"#)], "no end is to come");
        assert!(lines(&mut buffer, &[]).is_empty());
        assert_eq!(lines(&mut buffer, &[b"\n{\"c\":3}\n"]), [line(16, 3, r#"{"c":3}"#)], "its end came");
        let glued = br#"{"d":"}{\"x"}{"e":"}{"}{"f":1}"#;
        assert_eq!(
            lines(&mut buffer, &[glued, b"\n", b"{\"g\":1}\n"]),
            [
                line(24, 4, r#"{"d":"}{\"x"}"#),
                line(37, 4, r#"{"e":"}{"}"#),
                line(47, 4, r#"{"f":1}"#),
                line(55, 5, r#"{"g":1}"#)
            ]
        );
        assert_eq!(lines(&mut buffer, &[b"{\"h\":1}"]), [line(63, 6, r#"{"h":1}"#)]);
        assert_eq!(lines(&mut buffer, &[b"{\"i\":1}\n"]), [line(70, 6, r#"{"i":1}"#)], "another CLI went on with it");
        assert!(lines(&mut LineBuffer::at(0, 1), &[b"half of it}"]).is_empty());
        let piece = br#"half}
{"a":1}{"b":2}
{"c":3}"#;
        assert_eq!(whole_lines(piece, false).collect::<Vec<_>>(), [&br#"{"a":1}"#[..], br#"{"b":2}"#, br#"{"c":3}"#]);
    }

    #[test]
    fn a_piece_gives_only_its_whole_lines() {
        let piece = b"lf of a line\none\ntwo\nhal";
        assert_eq!(whole_lines(piece, false).collect::<Vec<_>>(), [b"one", b"two"]);
        assert_eq!(whole_lines(piece, true).next(), Some(b"lf of a line".as_slice()));
        assert_eq!(whole_lines(b"no newline", false).count(), 0);
    }
}
