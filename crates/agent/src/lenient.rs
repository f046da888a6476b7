//! Parses JSON that serde rejects: nested too deep, a number too large, a lone surrogate.
//!
//! Invariant: the value is complete except for such parts, each of which is replaced by a text.

use claude_ide_protocol::without_lone_surrogates;
use serde::de::DeserializeOwned;

/// Depth limit; deeper values are left out when they are handed to Lua.
const MOST_DEPTH: usize = 48;
const TOO_DEEP: &str = r#""[nested too deep]""#;

/// The value, and whether it is complete. A replaced lone surrogate counts as complete.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Option<(T, bool)> {
    let json = without_lone_surrogates(json);
    let Some(readable) = readable(&json) else { return Some((serde_json::from_str(&json).ok()?, true)) };
    Some((serde_json::from_str(&readable).ok()?, false))
}

/// The text with all unreadable parts replaced; `None` if there are none.
pub(crate) fn readable(json: &str) -> Option<String> {
    let mut text = String::new();
    let (mut kept, mut at, mut depth, mut is_changed) = (0, 0, 0_usize, false);
    let bytes = json.as_bytes();
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth == MOST_DEPTH + 1 {
                    text.push_str(json.get(kept..start)?);
                    text.push_str(TOO_DEEP);
                    is_changed = true;
                }
            }
            b']' | b'}' => {
                if depth == MOST_DEPTH + 1 {
                    kept = at;
                }
                depth = depth.saturating_sub(1);
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                at += bytes.get(at..)?.iter().take_while(|byte| is_part(byte)).count();
                let number = json.get(start..at)?;
                if depth <= MOST_DEPTH && number.parse().is_ok_and(f64::is_infinite) {
                    text.push_str(json.get(kept..start)?);
                    text.push('"');
                    text.push_str(number);
                    text.push('"');
                    (kept, is_changed) = (at, true);
                }
            }
            _ => {}
        }
    }
    if !is_changed {
        return None;
    }
    text.push_str(json.get(kept..)?);
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn readable_json_is_read_unchanged() {
        for text in ["{}", "[1,-2.5e3,\"]}[{ 1e999\\\"\"]", "\"\\\\\"", " 7 ", "\"\\ud83d\\ude00\""] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read::<Value>(text), Some((expected, true)), "{text}");
        }
        assert_eq!(read::<Value>("\"\\ud83d\""), Some((json!("\u{fffd}"), true)));
        for text in ["", "{", "[1", "\"", "\"\\", "]", "-", "nonsense"] {
            assert_eq!(read::<Value>(text), None, "{text}");
        }
    }

    #[test]
    fn parts_too_deep_or_too_large_become_text_and_the_rest_stays() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let (value, is_all) = read::<Value>(&format!("{{\"a\":{deep},\"n\":[-1e999, 2],\"z\":\"ä\"}}")).unwrap();
        assert!(!is_all);
        assert_eq!((&value["n"], &value["z"]), (&json!(["-1e999", 2]), &json!("ä")));
        let mut inner = &value["a"];
        while inner.is_array() {
            inner = &inner[0];
        }
        assert_eq!(inner, "[nested too deep]");
        let just = format!("{}1{}", "[".repeat(MOST_DEPTH), "]".repeat(MOST_DEPTH));
        assert!(read::<Value>(&just).unwrap().1);
    }
}
