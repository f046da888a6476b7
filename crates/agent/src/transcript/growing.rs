//! Where a growing text or thought is split, so that each row is fast to draw, and whether its end is inside a code block.

use claude_ide_session::render::{Fence, head, plain_text};

/// Length of the last line that is checked for a fence. Without a limit, a line without an end would be copied with each
/// piece.
const MAX_LINE: usize = 1024;

/// When a text continues in a new row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// From this size on: at the next empty line; in code, at the next line.
    pub(super) split_at: usize,
    /// Prose without an empty line is split from this size on, at the next line.
    pub(super) most: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { split_at: 48 * 1024, most: 96 * 1024 }
    }
}

/// A place to split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// Bytes of the added text that belong to the first part.
    pub(super) at: usize,
    /// After an empty line, outside of code.
    pub(super) is_gap: bool,
}

/// The end of a growing text.
#[derive(Debug, Clone, Default)]
pub(super) struct Growing {
    /// The code block at the end.
    pub(super) fence: Option<Fence>,
    /// The last line so far, which may be a fence.
    rest: String,
    /// Where the text was split: it continues in another row.
    pub(super) cut: Option<Cut>,
}

impl Growing {
    /// The end of a row that continues `before`.
    pub(super) fn after(before: &Self) -> Self {
        Self { fence: before.fence.clone(), ..Self::default() }
    }

    /// Reads an added text line by line.
    pub(super) fn follow(&mut self, added: &str) {
        let lines = [self.rest.as_str(), added].concat();
        let mut parts = lines.split('\n');
        let last = parts.next_back().unwrap_or_default();
        for line in parts {
            if line.trim_start().starts_with(['`', '~']) {
                self.fence = Fence::after(self.fence.take(), line.trim_end_matches('\r'));
            }
        }
        let (last, _) = head(last, MAX_LINE);
        last.clone_into(&mut self.rest);
    }

    /// Where to split a text of `bytes`, if it is too long with `added`.
    pub(super) fn cut(&self, bytes: usize, added: &str, is_verbatim: bool, limits: Limits) -> Option<Cut> {
        if bytes < limits.split_at {
            return None;
        }
        let at_line = || self.line_end(added).map(|at| Cut { at, is_gap: false });
        if self.fence.is_some() || is_verbatim {
            return at_line();
        }
        if let Some(gap) = added.find("\n\n") {
            // A fence in the same piece would need parsing: wait for the next piece. Its mark may have begun in the
            // previous piece.
            let lines = [self.rest.as_str(), added].concat();
            if !lines.contains("```") && !lines.contains("~~~") {
                return Some(Cut { at: gap + 2, is_gap: true });
            }
        }
        if bytes >= limits.most { at_line() } else { None }
    }

    /// The end of the first visible line, since trailing empty lines are not shown.
    fn line_end(&self, added: &str) -> Option<usize> {
        let lines = [self.rest.as_str(), added].concat();
        let mut end = 0;
        for line in lines.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            end += line.len();
            // It may be an escape sequence, which is not shown.
            if is_visible(line) && is_visible(&plain_text(line)) {
                return end.checked_sub(self.rest.len());
            }
        }
        None
    }
}

fn is_visible(line: &str) -> bool {
    line.bytes().any(|byte| matches!(byte, b'!'..=b'~' | 195..))
}
