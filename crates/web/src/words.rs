//! Sanitises messages: removes terminal sequences and invisible characters; detects commands.
//!
//! Measured with CLI 2.1.329: its prompt interprets `/`, `!`, `#` and `&` at the start, and a few words end it.
//! `lua/claude-ide/terminal/prompt.lua` has the same list of invisible characters.

/// Prompts that end the CLI.
const FAREWELLS: [&str; 6] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];

/// A text as the user reads it: no control characters, no escape sequences, nothing invisible; line ends are newlines.
pub(crate) fn plain(text: &str) -> String {
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
            '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether the CLI would interpret a prompt instead of sending it.
pub(crate) fn is_command(plain: &str) -> bool {
    plain.starts_with(['/', '!', '#', '&']) || FAREWELLS.contains(&plain.to_lowercase().as_str())
}

/// Collapses blanks, which may differ in the transcript.
pub(crate) fn squeezed(text: &str) -> String {
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

    proptest! {
        #[test]
        fn nothing_but_words_is_left_and_it_stays_so(text in "(\\PC|[\\x00-\\x1f\\x7f-\\x9f]|\u{1b}\\[|\u{1b}\\]|\u{feff})*") {
            let words = plain(&text);
            prop_assert!(words.chars().all(|char| matches!(char, '\n' | '\t') || !char.is_control()), "{words:?}");
            prop_assert_eq!(plain(&words), words);
        }
    }
}
