//! Texts as lines, byte for byte: a line keeps its line feed, so a last line without one differs from the same line
//! with one.

use std::sync::Arc;

use claude_ide_system::encoding::Utf16;

/// One line with its line feed. A single empty line stands for an empty file, as opposed to a missing one.
pub(crate) type Line = Arc<[u8]>;

/// The lines of a file; none if it does not exist.
pub(crate) fn decode(bytes: Option<&[u8]>) -> Vec<Line> {
    match bytes {
        None => Vec::new(),
        Some([]) => vec![Line::from([])],
        Some(bytes) => split(bytes).into_iter().map(Line::from).collect(),
    }
}

/// The lines of a text in any encoding.
pub(crate) fn split(bytes: &[u8]) -> Vec<&[u8]> {
    // Asked of each byte once, in order.
    let (feed, mut end) = (line_feed(bytes), 0_usize);
    let ends = |byte: &u8| {
        end += 1;
        feed.last() == Some(byte)
            && end.is_multiple_of(feed.len())
            && bytes.get(..end).is_some_and(|read| read.ends_with(feed))
    };
    bytes.split_inclusive(ends).collect()
}

fn line_feed(bytes: &[u8]) -> &'static [u8] {
    Utf16::of(bytes).map_or(b"\n", Utf16::line_feed)
}

/// The bytes of a file with these lines. A line without a line feed gets one unless it is the last.
pub(crate) fn encode(lines: &[Line]) -> Vec<u8> {
    let mut bytes = lines.concat();
    let feed = line_feed(&bytes);
    bytes.clear();
    for (position, line) in lines.iter().enumerate() {
        bytes.extend_from_slice(line);
        if position + 1 < lines.len() && !line.ends_with(feed) {
            bytes.extend_from_slice(feed);
        }
    }
    bytes
}

/// The lines without their ends, as UTF-8 if they are UTF-16.
pub(crate) fn readable(lines: &[Line], order: Option<Utf16>) -> Vec<Box<[u8]>> {
    let text = |line: &Line| {
        let text = order.map(|order| order.text(line));
        let line = text.as_ref().map_or(&**line, |text| text.as_bytes());
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line).into()
    };
    if is_nothing(lines) { Vec::new() } else { lines.iter().map(text).collect() }
}

/// Whether there is no line of a text.
pub(crate) fn is_nothing(lines: &[Line]) -> bool {
    lines.first().is_none_or(|first| first.is_empty())
}

/// At most `count` lines from `first`.
pub(crate) fn slice(lines: &[Line], first: usize, count: usize) -> &[Line] {
    let first = first.min(lines.len());
    let last = first.saturating_add(count).min(lines.len());
    lines.get(first..last).unwrap_or_default()
}

/// Removes the line that stands for an empty file, once there are others.
pub(crate) fn without_nothing(mut lines: Vec<Line>) -> Vec<Line> {
    if lines.len() > 1 {
        lines.retain(|line| !line.is_empty());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_exact() {
        for bytes in ["", "\n", "a", "a\n", "a\r\nb", "\u{feff}a\r\n", "a\n\n", "a\rb\r", "\0\n"] {
            assert_eq!(encode(&decode(Some(bytes.as_bytes()))), bytes.as_bytes(), "{bytes:?}");
        }
        assert_eq!(decode(None), decode(Some(b"")).get(1..).unwrap());
    }

    #[test]
    fn a_line_that_ended_the_file_gets_its_line_feed_before_another() {
        let lines = [Line::from(*b"a"), Line::from(*b"b")];
        assert_eq!(encode(&lines), b"a\nb");
    }

    /// Its characters have the byte of a line feed.
    #[test]
    fn lines_of_utf_16_end_at_its_line_feeds() {
        let text = "\u{feff}a\u{a00}\r\n\u{4e0a}\n\nb\u{10a}";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (bytes, order, more) in [(little, Utf16::Little, b"c\0".as_slice()), (big, Utf16::Big, b"\0c")] {
            let mut lines = decode(Some(&bytes));
            let shown = ["\u{feff}a\u{a00}", "\u{4e0a}", "", "b\u{10a}"].map(|line| Box::from(line.as_bytes()));
            assert_eq!(readable(&lines, Utf16::of(&bytes)), shown);
            assert_eq!(encode(&lines), bytes);
            lines.push(more.into());
            assert_eq!(encode(&lines), [&bytes, order.line_feed(), more].concat());
        }
        let odd = b"\xff\xfea\0\n\0b".as_slice();
        assert_eq!(decode(Some(odd)), [Line::from(*b"\xff\xfea\0\n"), Line::from(*b"\0b")]);
        assert_eq!(encode(&decode(Some(odd))), odd);
    }

    #[test]
    fn a_user_reads_no_ends_of_lines() {
        assert_eq!(readable(&decode(Some(b"a\r\nb")), None), ["a", "b"].map(|line| Box::from(line.as_bytes())));
        assert!(readable(&decode(Some(b"")), None).is_empty());
    }
}
