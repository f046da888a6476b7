//! Texts as lines, byte for byte: a line keeps its line feed, so a last line without one differs from the same line
//! with one.

use std::sync::Arc;

/// One line with its line feed. A single empty line stands for an empty file, as opposed to a missing one.
pub(crate) type Line = Arc<[u8]>;

/// The lines of a file; none if it does not exist.
pub(crate) fn decode(bytes: Option<&[u8]>) -> Vec<Line> {
    match bytes {
        None => Vec::new(),
        Some([]) => vec![Line::from([])],
        Some(bytes) => bytes.split_inclusive(|byte| *byte == b'\n').map(Line::from).collect(),
    }
}

/// The bytes of a file with these lines. A line without a line feed gets one unless it is the last.
pub(crate) fn encode(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for (position, line) in lines.iter().enumerate() {
        bytes.extend_from_slice(line);
        if position + 1 < lines.len() && !line.ends_with(b"\n") {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// The lines without their ends.
pub(crate) fn readable(lines: &[Line]) -> Vec<&[u8]> {
    match lines {
        [first, ..] if first.is_empty() => Vec::new(),
        lines => lines.iter().map(|line| without_end(line)).collect(),
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
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

    #[test]
    fn a_user_reads_no_ends_of_lines() {
        assert_eq!(readable(&decode(Some(b"a\r\nb"))), [b"a", b"b"]);
        assert!(readable(&decode(Some(b""))).is_empty());
    }
}
