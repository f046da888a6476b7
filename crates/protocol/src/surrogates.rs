//! Lone surrogates in JSON.
//!
//! JavaScript cuts strings between UTF-16 units, so the CLI sends and stores half an emoji, which JSON spells `\ud83d`.
//! Rust's JSON parsers reject such a string. It is replaced by U+FFFD, as in a file that Node writes.
//!
//! Invariant: the text keeps its length, so that offsets into it stay valid, and text without lone surrogates is
//! unchanged.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

/// The start of every escaped UTF-16 unit.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br"\u"));
const REPLACEMENT: &[u8; ESCAPE_LEN] = br"\ufffd";
const ESCAPE_LEN: usize = 6;

/// The kinds of UTF-16 units.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    High,
    Low,
    Whole,
}

/// Replaces the lone surrogates in a JSON text; nothing else changes.
pub fn replace_lone_surrogates(json: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = next_lone(json, from) {
        if let Some(escape) = json.get_mut(at..at + ESCAPE_LEN) {
            escape.copy_from_slice(REPLACEMENT);
        }
        from = at + ESCAPE_LEN;
    }
}

/// The text without lone surrogates, copied only if it had some.
#[must_use]
pub fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    if next_lone(json.as_bytes(), 0).is_none() {
        return Cow::Borrowed(json);
    }
    let mut bytes = json.as_bytes().to_vec();
    replace_lone_surrogates(&mut bytes);
    // Six ASCII bytes replaced six, so it is still UTF-8.
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// The offset of the next lone surrogate.
fn next_lone(json: &[u8], from: usize) -> Option<usize> {
    let mut from = from;
    loop {
        let at = from + ESCAPE.find(json.get(from..)?)?;
        from = at + 2;
        if is_escaped(json, at) {
            continue;
        }
        match unit(json, at) {
            Some(Unit::High) if unit(json, at + ESCAPE_LEN) == Some(Unit::Low) => from = at + 2 * ESCAPE_LEN,
            Some(Unit::High | Unit::Low) => return Some(at),
            Some(Unit::Whole) | None => {}
        }
    }
}

/// Whether the backslash here is itself escaped: then `\\ud83d` is a backslash and five letters.
fn is_escaped(json: &[u8], at: usize) -> bool {
    let before = json.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The escaped unit here, if there is one.
fn unit(json: &[u8], at: usize) -> Option<Unit> {
    let digits = json.get(at..at + ESCAPE_LEN)?.strip_prefix(br"\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    Some(match (digits.first()?.to_ascii_lowercase(), digits.get(1)?.to_ascii_lowercase()) {
        (b'd', b'8'..=b'9' | b'a'..=b'b') => Unit::High,
        (b'd', b'c'..=b'f') => Unit::Low,
        _ => Unit::Whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(json: &str) -> String {
        let text = without_lone_surrogates(json).into_owned();
        let mut bytes = json.as_bytes().to_vec();
        replace_lone_surrogates(&mut bytes);
        assert_eq!((bytes, text.len()), (text.clone().into_bytes(), json.len()));
        text
    }

    #[test]
    fn half_a_character_is_replaced_wherever_it_is_cut() {
        assert_eq!(mended(r#""a\ud83d""#), r#""a\ufffd""#);
        assert_eq!(mended(r#""\udE00b""#), r#""\ufffdb""#);
        assert_eq!(mended(r#""\uD83D\ud83d\ude00\ude00""#), r#""\ufffd\ud83d\ude00\ufffd""#);
        assert_eq!(mended(r#""\ud83d\n\ud83d\\ude00""#), r#""\ufffd\n\ufffd\\ude00""#);
        assert_eq!(mended(r#"{"\ud83d":1}"#), r#"{"\ufffd":1}"#);
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for json in [r#""\ud83d\ude00 \u001b \u00f6""#, r#""\\ud83d""#, r#""\\\\ud83d""#, r#""\ud8""#, r"\u", "😀", ""]
        {
            assert!(matches!(without_lone_surrogates(json), Cow::Borrowed(same) if same == json), "{json}");
        }
        assert_eq!(mended(r#""\\\ud83d""#), r#""\\\ufffd""#, "a backslash and half a character");
    }

    #[test]
    fn output_is_json_if_the_input_was_except_for_lone_surrogates() {
        let units = [r"\ud83d", r"\ude00", r"\\", "a", r"\u0041"];
        for number in 0..units.len().pow(5) {
            let text: String = (0..5).map(|place| units[number / units.len().pow(place) % units.len()]).collect();
            let json = format!("\"{text}\"");
            let before = serde_json::from_str::<String>(&json);
            let after = serde_json::from_str::<String>(&mended(&json)).unwrap();
            assert!(before.is_err() || before.unwrap() == after, "{json}");
        }
    }
}
