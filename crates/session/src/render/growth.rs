//! Extends a rendered text by what is appended to it, without rendering all of it: from its last visible line on.
//!
//! Invariant: the lines equal those of the whole text. Where the last line alone cannot decide that, there are none.

use serde::Serialize;

use super::item::OpenEnd;
use super::text::{Origin, paragraphs};

fn lines_of(text: &str) -> Vec<String> {
    paragraphs(text, Origin::Said)
}

/// The text from its last line with a visible character on: one that is neither blank nor part of a terminal sequence.
fn last_line(text: &str) -> &str {
    let is_shown = |byte: &u8| matches!(byte, 33..=126) || *byte >= 0xc3;
    let shown = text.bytes().rposition(|byte| is_shown(&byte)).map_or(0, |at| at + 1);
    let begin = memchr::memrchr(b'\n', text.as_bytes().get(..shown).unwrap_or_default()).map_or(0, |at| at + 1);
    text.get(begin..).unwrap_or(text)
}

/// Where a text of `count` lines can be extended; `None` if it has a terminal sequence, which may continue over lines.
pub(super) fn open_end(text: &str, count: usize) -> Option<OpenEnd> {
    let tail = last_line(text);
    let first = count.saturating_sub(lines_of(tail).len());
    (!text.contains('\u{1b}')).then(|| OpenEnd { first, tail: tail.to_owned(), bytes: text.len() })
}

/// How a text continues.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// The lines from the open end on.
    pub lines: Vec<String>,
    /// How many of these lines precede the last visible one.
    pub first: usize,
    /// The text from that line on.
    pub tail: String,
}

/// The lines that `added` brings; `None` if they depend on the whole text.
#[must_use]
pub fn grow(tail: &str, added: &str) -> Option<Growth> {
    if added.contains('\u{1b}') {
        return None;
    }
    let text = [tail, added].concat();
    let (lines, rest) = (lines_of(&text), last_line(&text));
    let first = lines.len().saturating_sub(lines_of(rest).len());
    Some(Growth { lines, first, tail: rest.to_owned() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_in_pieces_has_the_lines_of_the_whole(pieces in prop::collection::vec("[ a`ü\r\n\t|]{0,6}", 1..12)) {
            let (mut text, mut lines, mut end) = (String::new(), Vec::new(), None);
            for piece in &pieces {
                text.push_str(piece);
                let whole = lines_of(&text);
                end = match end {
                    Some(OpenEnd { first, tail, .. }) => {
                        let growth = grow(&tail, piece).unwrap();
                        if lines.len() - first <= growth.lines.len() {
                            lines.truncate(first);
                            lines.extend(growth.lines);
                            prop_assert_eq!(&lines, &whole);
                            Some(OpenEnd { first: first + growth.first, tail: growth.tail, bytes: text.len() })
                        } else {
                            open_end(&text, whole.len())
                        }
                    }
                    None => open_end(&text, whole.len()).filter(|_| !whole.is_empty()),
                };
                lines = whole;
            }
        }
    }

    #[test]
    fn a_command_for_a_terminal_is_seen_whole() {
        assert_eq!(grow("a", "\u{1b}[1m"), None);
        assert_eq!(open_end("\u{1b}[1mA", 1), None);
    }
}
