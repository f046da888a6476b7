//! Texts to be typed at the CLI's prompt: without terminal sequences and invisible characters; commands are detected.
//!
//! Measured with CLI 2.1.329: its prompt interprets `/`, `!`, `#` and `&` at the start, and a few words end it. It removes
//! characters that can hide text; joiners of letters and emoji stay. `\r` submits. A paste of four lines or about 800
//! characters becomes an attachment ("[Pasted text #1]"); several smaller ones do not, and reach the model as they are. A
//! paste that loses invisible characters, or ends in a backslash, is not submitted. Blanks around a prompt are dropped before
//! the CLI looks for a command.

use crate::text::head;

/// Prompts that end the CLI.
const FAREWELLS: [&str; 6] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];
/// Bytes of one paste.
const MAX_PASTE: usize = 400;
const PASTE: &str = "\u{1b}[200~";
const PASTE_END: &str = "\u{1b}[201~";

/// A text as the user reads it: no control characters, no escape sequences, nothing invisible; line ends are newlines.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\u{1b}' | '\u{9b}' | '\u{90}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_sequence(char, &mut rest),
            '\r' => {
                rest.next_if_eq(&'\n');
                kept.push('\n');
            }
            '\n' | '\t' => kept.push(char),
            _ if is_hidden(char) => {}
            _ => kept.push(char),
        }
    }
    kept.trim().to_owned()
}

/// Skips an escape sequence after its first character: to its end, or else to the end of its line.
fn skip_sequence(first: char, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    let kind = match first {
        '\u{1b}' => match rest.next_if(|next| *next != '\n' && *next != '\u{1b}') {
            Some(kind) => kind,
            None => return,
        },
        '\u{9b}' => '[',
        _ => ']',
    };
    match kind {
        // Parameters and intermediates, then a final character.
        '[' => {
            while rest.next_if(|char| ('\u{20}'..='\u{3f}').contains(char)).is_some() {}
            rest.next_if(|char| ('\u{40}'..='\u{7e}').contains(char));
        }
        // A string: to BEL or ST.
        ']' | 'P' | 'X' | '^' | '_' => {
            while let Some(char) = rest.next_if(|char| *char != '\n') {
                match char {
                    '\u{7}' | '\u{9c}' => break,
                    '\u{1b}' => {
                        rest.next_if_eq(&'\\');
                        break;
                    }
                    _ => {}
                }
            }
        }
        // An intermediate is followed by one more.
        '\u{20}'..='\u{2f}' => {
            rest.next_if(|char| ('\u{30}'..='\u{7e}').contains(char));
        }
        _ => {}
    }
}

fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether the CLI would interpret a prompt instead of sending it.
#[must_use]
pub fn is_command(plain: &str) -> bool {
    plain.starts_with(['/', '!', '#', '&']) || FAREWELLS.contains(&plain.to_lowercase().as_str())
}

/// What to type so that a text becomes a prompt: pastes, and the key that submits; `None` if the text is empty. It cannot end the
/// paste, run a command unless one is meant, or exit the CLI.
#[must_use]
pub fn keys_of(text: &str, may_command: bool) -> Option<String> {
    let words = plain(text);
    if words.is_empty() {
        return None;
    }
    let reason = if is_command(&words) && !may_command { "Reason: " } else { "" };
    let mut keys = String::new();
    // The blank separates a backslash at the end from the key.
    for line in format!("{reason}{words} ").split_inclusive('\n') {
        let (mut rest, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        loop {
            let (piece, left) = head(rest, MAX_PASTE);
            rest = rest.get(piece.len()..).unwrap_or_default();
            keys.extend([PASTE, piece, if left == 0 { end } else { "" }, PASTE_END]);
            if left == 0 {
                break;
            }
        }
    }
    keys.push('\r');
    Some(keys)
}

/// Collapses blanks, which may differ in the transcript.
#[must_use]
pub fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_removed() {
        for (text, expected) in [
            ("plain", "plain"),
            ("  a\r\nb\rc\td  ", "a\nb\nc\td"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}[201~\rrm -rf", "a\nrm -rf"),
            ("a\u{9b}201~b", "ab"),
            ("\u{1b}]0;title\u{7}b", "b"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("\u{1b}]never ends\nb", "b"),
            ("\u{1b}(Bb", "b"),
            ("\u{3}\u{4}\u{7f}a\u{0}", "a"),
            ("a\u{202e}b\u{200b}c\u{e0041}d", "abcd"),
            ("\u{1b}\u{1b}[A!", "!"),
            ("👩\u{200d}💻 ÄÖ", "👩\u{200d}💻 ÄÖ"),
            ("\u{feff}/clear", "/clear"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn commands_are_known() {
        for text in ["/clear", "!ls", "# remember", "&work", "exit", "QUIT", ":wq!"] {
            assert!(is_command(text), "{text}");
        }
        for text in ["a /clear", "exit the loop", "1 # 2", ""] {
            assert!(!is_command(text), "{text}");
        }
    }

    /// The pastes of a text.
    fn pastes(text: &str) -> Vec<String> {
        let keys = keys_of(text, false).unwrap();
        let inner = keys.strip_suffix("\u{1b}[201~\r").and_then(|keys| keys.strip_prefix(PASTE)).unwrap();
        inner.split("\u{1b}[201~\u{1b}[200~").map(str::to_owned).collect()
    }

    #[test]
    fn words_stay_words() {
        for (text, words) in [
            ("  around \n\n", "around "),
            ("\u{1b}[201~\r/clear\0\u{7f}", "Reason: /clear "),
            ("a\r\nb\rc", "a\nb\nc "),
            ("Exit", "Reason: Exit "),
            ("exit early", "exit early "),
            ("ends with \\", "ends with \\ "),
        ] {
            assert_eq!(pastes(text).concat(), words, "{text:?}");
        }
        assert_eq!(keys_of("/clear", true).as_deref(), Some("\u{1b}[200~/clear \u{1b}[201~\r"));
        for text in ["", " \n\t", "\u{1b}\0", "\u{200b}"] {
            assert_eq!(keys_of(text, true), None, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_comes_in_pieces_that_are_no_attachment() {
        let text = format!("{}\n\nshort\n{}", "é".repeat(900), "x".repeat(1700));
        let pieces = pastes(&text);
        assert!(
            pieces.iter().all(|piece| piece.len() <= MAX_PASTE + 1 && piece.matches('\n').count() <= 1),
            "{pieces:?}"
        );
        assert_eq!(pieces.concat(), text + " ");
    }

    proptest! {
        #[test]
        fn nothing_but_words_is_left_and_it_stays_so(text in "(\\PC|[\\x00-\\x1f\\x7f-\\x9f]|\u{1b}\\[|\u{1b}\\]|\u{feff})*") {
            let words = plain(&text);
            prop_assert!(words.chars().all(|char| matches!(char, '\n' | '\t') || !char.is_control()), "{words:?}");
            prop_assert_eq!(plain(&words), words);
        }
    }
}
