//! Where a text may go on: at the last line that surely shows something.
//!
//! Invariant: the lines are those that the whole text would have. Where that cannot be known from its last line, there are none.

use serde::Serialize;

use super::item::OpenEnd;
use super::text::{Origin, paragraphs};

fn lines_of(text: &str) -> Vec<String> {
    paragraphs(text, Origin::Said)
}

/// Where the last line begins that surely shows something: a character that is neither blank nor for a terminal.
fn last_line(text: &str) -> &str {
    let is_shown = |byte: &u8| matches!(byte, 33..=126) || *byte >= 0xc3;
    let shown = text.bytes().rposition(|byte| is_shown(&byte)).map_or(0, |at| at + 1);
    let begin = memchr::memrchr(b'\n', text.as_bytes().get(..shown).unwrap_or_default()).map_or(0, |at| at + 1);
    text.get(begin..).unwrap_or(text)
}

/// Where a text of so many lines may go on; `None`: a command for a terminal may go on over lines.
pub(super) fn open_end(text: &str, count: usize) -> Option<OpenEnd> {
    let tail = last_line(text);
    let first = count.saturating_sub(lines_of(tail).len());
    (!text.contains('\u{1b}')).then(|| OpenEnd { first, tail: tail.to_owned(), bytes: text.len() })
}

/// What a text goes on with.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// Lines from where it was open on.
    pub lines: Vec<String>,
    /// How many of these lines stand before the last one that has something on it.
    pub first: usize,
    /// The text from there on.
    pub tail: String,
}

/// The lines of what a text goes on with; `None`: that cannot be known without all of it.
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
