//! Makes text displayable: no escape sequences, no control characters, no endless lines. Formats sizes.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::text::{Text, head};

/// Longer lines are cut (bytes): Neovim lays out a wrapped line anew at each redraw.
const MAX_LINE: usize = 2000;
/// Bytes considered for a one-line summary.
const SUMMED_UP: usize = 4 * 1024;
const ESCAPE: u8 = 27;

/// Whitespace as in C.
pub(super) fn is_blank(char: char) -> bool {
    char.is_ascii_whitespace() || char == '\u{b}'
}

/// U+0080 to U+009F are control characters too.
fn is_c1(char: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&char)
}

/// Length of the terminal sequence at the start of the bytes, which begin with an escape.
type Command = fn(&[u8]) -> Option<usize>;

/// CSI: colours, the cursor.
fn control_sequence(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(1..)?.strip_prefix(b"[")?;
    let arguments = rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';'..=b'?')).count();
    let between = rest.get(arguments..)?.iter().take_while(|byte| matches!(byte, b' '..=b'/')).count();
    let end = arguments + between;
    matches!(rest.get(end)?, b'@'..=b'~').then_some(end + 3)
}

/// OSC, ended by a bell: a title or a link.
fn until_bell(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(1..)?.strip_prefix(b"]")?;
    let end = rest.iter().position(|byte| matches!(*byte, 7 | ESCAPE))?;
    (rest.get(end) == Some(&7)).then_some(end + 3)
}

/// OSC, DCS, SOS, PM or APC, ended by a string terminator.
fn until_terminator(bytes: &[u8]) -> Option<usize> {
    if !matches!(bytes.get(1)?, b']' | b'P' | b'X' | b'^' | b'_') {
        return None;
    }
    memchr::memmem::find(bytes.get(2..)?, b"\x1b\\").map(|end| end + 4)
}

/// Keypads, character sets.
fn short_command(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(1..)?;
    let between = rest.iter().take_while(|byte| matches!(byte, b' '..=b'/')).count();
    matches!(rest.get(between)?, b'0'..=b'~').then_some(between + 2)
}

/// A bell is looked for before a string terminator, which may belong to a later sequence.
const COMMANDS: [Command; 4] = [control_sequence, until_bell, until_terminator, short_command];

/// Removes terminal sequences.
pub(crate) fn without_commands(text: &str) -> String {
    let mut text = text.to_owned();
    for command in COMMANDS {
        if memchr::memchr(ESCAPE, text.as_bytes()).is_some() {
            text = without(&text, command);
        }
    }
    text
}

fn without(text: &str, command: Command) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(ESCAPE, rest.as_bytes()) {
        let (before, from) = rest.split_at(at);
        left.push_str(before);
        // A sequence ends with an ASCII character, so the rest starts at a character.
        let len = command(from.as_bytes()).filter(|len| from.is_char_boundary(*len));
        if len.is_none() {
            left.push('\u{1b}');
        }
        rest = from.get(len.unwrap_or(1)..).unwrap_or_default();
    }
    left.push_str(rest);
    left
}

fn shortened(line: String, behind: usize) -> String {
    let (head, left) = head(&line, MAX_LINE);
    let left = left + behind;
    if left == 0 {
        return line;
    }
    format!("{head} … ({} more on this line)", size(left))
}

/// A line as a terminal shows it: text after a carriage return overwrites the text before.
fn overwritten(line: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    for part in line.split('\r') {
        let mut at = 0;
        for char in part.chars() {
            let joins = at > 0 && char.width() == Some(0);
            if joins && let Some(cell) = shown.get_mut(at - 1) {
                cell.push(char);
                continue;
            }
            match shown.get_mut(at) {
                Some(cell) => *cell = char.to_string(),
                None => shown.push(char.to_string()),
            }
            at += 1;
        }
    }
    shown.concat()
}

/// A line with its control characters spelled out, cut to the limit.
fn settled(line: &str, behind: usize) -> String {
    let is_odd = |char: char| char.is_ascii_control() && char != '\t' && char != '\n' || is_c1(char);
    if !line.contains(is_odd) {
        return shortened(line.to_owned(), behind);
    }
    let mut shown = String::with_capacity(line.len());
    for char in line.chars() {
        match char {
            '\u{7f}' => shown.push_str("^?"),
            '\t' | '\n' => shown.push(char),
            _ if is_c1(char) => {}
            _ if char.is_ascii_control() => {
                shown.push('^');
                shown.extend(char::from_u32(u32::from(char) + 64));
            }
            _ => shown.push(char),
        }
    }
    shortened(shown, behind)
}

/// The author of a text. In a terminal's output a lone carriage return goes back to the start of the line; elsewhere it
/// ends the line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Said,
    Terminal,
}

/// The lines of a text, without empty ones at the end; none for an empty text.
pub(crate) fn lines(text: &str, origin: Origin) -> Vec<String> {
    let text = without_commands(text);
    let mut text = text.trim_end_matches('\r').to_owned();
    while text.contains("\r\n") {
        text = text.replace("\r\n", "\n");
    }
    if origin == Origin::Said {
        text = text.replace('\r', "\n");
    }
    let mut lines: Vec<String> = text
        .split('\n')
        .map(|line| if line.contains('\r') { settled(&overwritten(line), 0) } else { settled(line, 0) })
        .collect();
    while lines.last().is_some_and(|line| line.chars().all(is_blank)) {
        lines.pop();
    }
    lines
}

/// Like [`lines`], also without empty lines at the beginning.
pub(crate) fn paragraphs(text: &str, origin: Origin) -> Vec<String> {
    let begin = text.find(|char| !is_blank(char)).unwrap_or(text.len());
    let (blank, _) = text.split_at(begin);
    let from = blank.rfind('\n').map_or(0, |at| at + 1);
    lines(text.get(from..).unwrap_or_default(), origin)
}

/// One line of a file: a carriage return within it is shown.
pub(super) fn line(line: &str) -> String {
    // Text beyond the limit is not examined either.
    let (head, behind) = head(line, 4 * MAX_LINE);
    let head = without_commands(head);
    settled(if behind > 0 { &head } else { head.strip_suffix('\r').unwrap_or(&head) }, behind)
}

/// A text in one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let text = without_commands(text);
    let is_gap = |char: char| is_blank(char) || char.is_ascii_control() || is_c1(char);
    text.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The beginning of a text in one line.
pub(super) fn summary(text: &str) -> String {
    let (head, left) = head(text, SUMMED_UP);
    one_line(head) + if left > 0 { " …" } else { "" }
}

/// A note of what is not shown: lines, or bytes if their lines were not counted.
pub(super) fn left_note(lines: usize, bytes: usize) -> Option<String> {
    match (lines, bytes) {
        (0, 0) => None,
        (1, 0) => Some("… 1 more line".to_owned()),
        (_, 0) => Some(format!("… {lines} more lines")),
        _ => Some(format!("… {} more", size(bytes))),
    }
}

/// A note of how much of a text was cut.
pub(super) fn cut_note(text: &Text) -> Option<String> {
    let missing = text.bytes.saturating_sub(text.text.len());
    (missing > 0).then(|| format!("… {} more", size(missing)))
}

/// Formats a number of bytes.
pub(super) fn size(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a number of three digits is shown")]
    let mut value = bytes as f64;
    let mut units = ["kB", "MB", "GB"].into_iter();
    let mut unit = "B";
    while value >= 1000.0 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1000.0, next);
    }
    if unit == "B" || value >= 10.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// The beginning of a text that fits into `cells` cells.
///
/// Widths are Unicode's: this only limits a line's length. Columns are aligned by the editor, whose widths depend on
/// its options.
pub(super) fn fit(text: &str, cells: usize) -> String {
    fit_by(text, cells, |text| text.width())
}

/// The same, by a width that is counted in another way. Where there is no cell for it, no mark says that the text is cut.
pub(crate) fn fit_by(text: &str, cells: usize, width: impl Fn(&str) -> usize) -> String {
    const CUT: &str = "…";
    if width(text) <= cells {
        return text.to_owned();
    }
    let Some(room) = cells.checked_sub(width(CUT)) else { return String::new() };
    // By halves: lists have thousands of titles.
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let fitting = starts.partition_point(|end| text.get(..*end).is_some_and(|kept| width(kept) <= room));
    let end = starts.get(fitting.saturating_sub(1)).copied().unwrap_or_default();
    let mut kept = text.get(..end).unwrap_or_default().to_owned();
    kept.truncate(kept.trim_end_matches(is_blank).len());
    kept + CUT
}

/// Characters that are invisible or change the direction of text.
fn is_unseen(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Joiners and variation selectors, used by scripts and emoji; after ASCII they have no use.
fn is_joining(char: char) -> bool {
    matches!(char, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Spells out invisible characters: `<202e>`.
pub(crate) fn with_unseen_marked(text: &str) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut before = None;
    for char in text.chars() {
        if is_unseen(char) || is_joining(char) && before.is_none_or(|before: char| before.is_ascii()) {
            marked.push_str(&format!("<{:x}>", u32::from(char)));
        } else {
            marked.push(char);
        }
        before = Some(char);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_rendered_as_on_a_terminal() {
        let long = "ü".repeat(1500);
        let cut = "ü".repeat(1000) + " … (1.0 kB more on this line)";
        for (text, expected) in [
            ("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07", vec!["red link"]),
            (
                "\x1b]8;;http://x\x07link\x1b]8;;\x07 and \x1b]8;;http://x\x1b\\more\x1b]8;;\x1b\\",
                vec!["link and more"],
            ),
            ("10%\r50%\r100%\nend\r\n", vec!["100%", "end"]),
            ("a long line\rshort\r\r\n", vec!["shortg line"]),
            ("a\0b\x07c\x7f", vec!["a^@b^Gc^?"]),
            ("tab\tstays\n\n \n", vec!["tab\tstays"]),
            ("", vec![]),
            (long.as_str(), vec![cut.as_str()]),
            ("a\u{9b}b", vec!["ab"]),
        ] {
            assert_eq!(lines(text, Origin::Terminal), expected, "{text:?}");
        }
    }

    #[test]
    fn a_carriage_return_in_a_message_removes_nothing() {
        assert_eq!(lines("one\rtwo\r\nthree\r", Origin::Said), ["one", "two", "three"]);
        assert_eq!(line("one\rtwo\r"), "one^Mtwo");
    }

    #[test]
    fn empty_lines_at_the_beginning_go_and_the_indent_stays() {
        assert_eq!(paragraphs(" \n\n  a\n", Origin::Said), ["  a"]);
        assert!(paragraphs(" \n ", Origin::Said).is_empty());
    }

    #[test]
    fn a_wide_text_is_cut_at_a_whole_character() {
        for (text, cells, fitted) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("ab", 1, "…"),
        ] {
            assert_eq!(fit(text, cells), fitted);
        }
    }

    #[test]
    fn a_size_has_as_many_digits_as_matter() {
        assert_eq!(
            [0, 999, 1000, 9_960, 12_345, 2_000_010].map(size),
            ["0 B", "999 B", "1.0 kB", "10.0 kB", "12 kB", "2.0 MB"]
        );
    }

    #[test]
    fn invisible_characters_are_named() {
        assert_eq!(with_unseen_marked("a\u{202e}b\u{200d}👩\u{200d}👧"), "a<202e>b<200d>👩\u{200d}👧");
    }
}
