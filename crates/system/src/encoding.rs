//! How a file's bytes are its text. All that show or compare texts ask here.
//!
//! Invariant: what is decoded would be encoded to the same bytes; other bytes are no text of that encoding.

use std::iter;

/// UTF-16 with a byte order mark, which stays in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utf16 {
    /// The low byte first.
    Little,
    /// The high byte first.
    Big,
}

impl Utf16 {
    /// `None` for other bytes, also if units are broken or zero.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let order = match bytes {
            [0xff, 0xfe, ..] => Self::Little,
            [0xfe, 0xff, ..] => Self::Big,
            _ => return None,
        };
        (bytes.len().is_multiple_of(2) && order.characters(bytes).all(|found| found.is_some_and(|one| one != '\0')))
            .then_some(order)
    }

    fn characters(self, bytes: &[u8]) -> impl Iterator<Item = Option<char>> {
        let units = bytes.as_chunks().0.iter().map(move |unit| match self {
            Self::Little => u16::from_le_bytes(*unit),
            Self::Big => u16::from_be_bytes(*unit),
        });
        char::decode_utf16(units).map(Result::ok)
    }

    /// A part of a text, as UTF-8.
    #[must_use]
    pub fn text(self, part: &[u8]) -> String {
        self.characters(part).flatten().collect()
    }

    /// The unit that ends a line.
    #[must_use]
    pub const fn line_feed(self) -> &'static [u8] {
        match self {
            Self::Little => b"\n\0",
            Self::Big => b"\0\n",
        }
    }
}

/// The bytes of a text in UTF-16, the low byte first, with a byte order mark.
#[must_use]
pub fn in_utf16le(text: &str) -> Vec<u8> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// A text that is not in UTF-8, as UTF-8, and its encoding as Neovim names it. What is not UTF-16 is read as Latin-1,
/// as Neovim does, so that no byte is lost.
#[must_use]
pub fn text(bytes: &[u8]) -> Option<(String, &'static str)> {
    match Utf16::of(bytes) {
        Some(order @ Utf16::Little) => Some((order.text(bytes), "utf-16le")),
        Some(order @ Utf16::Big) => Some((order.text(bytes), "utf-16")),
        None if str::from_utf8(bytes).is_ok() => None,
        None => Some((bytes.iter().copied().map(char::from).collect(), "latin1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_is_told_and_decoded() {
        let words = "\u{feff}a\u{e9}\r\n\u{4e0a}\u{1f600}\n";
        let little = in_utf16le(words);
        let big: Vec<u8> = words.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(little, in_utf16le(words.trim_start_matches('\u{feff}')));
        assert_eq!(text(&little), Some((words.to_owned(), "utf-16le")));
        assert_eq!(text(&big), Some((words.to_owned(), "utf-16")));
        assert_eq!(text(words.as_bytes()), None);
        assert_eq!(text(b"\xe9t\xe9\n"), Some(("\u{e9}t\u{e9}\n".to_owned(), "latin1")));
    }

    #[test]
    fn what_would_not_become_the_same_bytes_is_no_utf_16() {
        for bytes in [
            b"\xff\xfea".as_slice(), // half a unit
            b"\xff\xfe\x00\xd8a\0",  // half a pair
            b"\xff\xfe\x00\xdc",     // the other half
            b"\xff\xfe\0\0a\0\0\0",  // UTF-32
            b"\xff\xfea\0\0\0",      // no text
            b"a\0b\0",               // no mark
            b"\xff",
            b"",
        ] {
            assert_eq!(Utf16::of(bytes), None, "{bytes:?}");
        }
        assert_eq!(Utf16::of(b"\xff\xfe"), Some(Utf16::Little), "an empty text");
    }
}
