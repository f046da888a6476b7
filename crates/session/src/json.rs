//! Makes the CLI's JSON acceptable to Rust: lone surrogates are replaced, and values that cannot be parsed become
//! strings.

use claude_ide_protocol::replace_lone_surrogates;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Makes a line valid for a JSON parser, in place and without changing its length: lone surrogates are replaced, and so
/// is invalid UTF-8, which a torn write leaves.
pub(crate) fn mend(bytes: &mut [u8]) {
    replace_lone_surrogates(bytes);
    let mut from = 0;
    while let Some(Err(error)) = bytes.get(from..).map(std::str::from_utf8) {
        let at = from + error.valid_up_to();
        from = error.error_len().map_or(bytes.len(), |len| at + len);
        bytes.get_mut(at..from).unwrap_or_default().fill(b'?');
    }
}

/// Strips a byte order mark, and the zero bytes that a crash left.
pub(crate) fn without_debris(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let hole = line.iter().take_while(|byte| **byte == 0).count();
    line.get(hole..).unwrap_or_default()
}

/// Parses a small file; `None` if its shape is unexpected.
pub(crate) fn parse_file<T: DeserializeOwned>(mut bytes: Vec<u8>) -> Option<T> {
    replace_lone_surrogates(&mut bytes);
    serde_json::from_slice(&bytes).ok()
}

/// A longer value is rewritten if it has characters as `\uXXXX`.
const MOST_ESCAPED: usize = 64 * 1024;

/// A value to pass on raw: verbatim if every parser accepts it, else as a string of its text.
///
/// Skipping a value checks neither its depth nor the range of its numbers; parsing does. What is passed on is parsed at
/// each drawing, where `\uXXXX` is slow: 10 MB of them took 50 ms.
pub(crate) fn tellable(raw: &RawValue) -> Box<RawValue> {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(value) if raw.get().len() > MOST_ESCAPED && raw.get().contains("\\u") => {
            to_raw_value(&value).unwrap_or_else(|_| raw.to_owned())
        }
        Ok(_) => raw.to_owned(),
        Err(_) => to_raw_value(raw.get()).unwrap_or_else(|_| RawValue::NULL.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(json: &str) -> String {
        tellable(&RawValue::from_string(json.to_owned()).unwrap()).get().to_owned()
    }

    #[test]
    fn readable_json_stays_and_the_rest_is_text() {
        assert_eq!(restored(r#"{"b": 1,  "a":null}"#), r#"{"b": 1,  "a":null}"#);
        assert_eq!(restored("1e999"), r#""1e999""#);
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(restored(&deep), format!("\"{deep}\""));
    }

    #[test]
    fn a_long_value_has_its_characters_unescaped() {
        let escaped = |count: usize| format!(r#"{{"a": "{}", "b": 1e2}}"#, r"\u00e4\\u".repeat(count));
        assert_eq!(restored(&escaped(10)), escaped(10));
        let count = MOST_ESCAPED / 8;
        assert_eq!(restored(&escaped(count)), format!(r#"{{"a":"{}","b":100.0}}"#, r"ä\\u".repeat(count)));
    }
}
