//! Places in a text as an editor counts them: lines from 0, bytes of a line from 0.

use memchr::{memchr_iter, memrchr};
use serde::Serialize;

/// A stretch of the text: first line, its byte, last line, the byte behind the end there.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
pub struct Place(pub [usize; 4]);

/// Finds places, quickest in the order of the text.
pub(crate) struct Places<'a> {
    text: &'a str,
    /// Where a line is known to begin, and which it is.
    begins: usize,
    line: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, begins: 0, line: 0 }
    }

    /// The place of a part of this text, which must be a slice of it.
    pub(crate) fn of(&mut self, part: &str) -> Place {
        let start = self.offset(part);
        let (row, column) = self.position(start);
        let known = (self.begins, self.line);
        let (end_row, end_column) = self.position(start + part.len());
        (self.begins, self.line) = known; // the next part may lie on the way
        Place([row, column, end_row, end_column])
    }

    /// The empty place behind the first byte of a part.
    pub(crate) fn behind_brace(&mut self, part: &str) -> Place {
        let (row, column) = self.position(self.offset(part) + 1);
        Place([row, column, row, column])
    }

    fn offset(&self, part: &str) -> usize {
        part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr()).min(self.text.len())
    }

    fn position(&mut self, offset: usize) -> (usize, usize) {
        if offset < self.begins {
            (self.begins, self.line) = (0, 0);
        }
        let bytes = self.text.as_bytes().get(self.begins..offset).unwrap_or_default();
        if let Some(last) = memrchr(b'\n', bytes) {
            self.line += memchr_iter(b'\n', bytes).count();
            self.begins += last + 1;
        }
        (self.line, offset.saturating_sub(self.begins))
    }
}
