//! JSON as the CLI writes it, made fit for Rust: half characters replaced, what cannot be told as JSON told as text.

use claude_ide_protocol::replace_lone_surrogates;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Makes bytes of a transcript text that can be read as JSON, in place and of the same length: half characters are replaced,
/// and so are bytes that are no UTF-8, which a torn write leaves.
pub(crate) fn mend(bytes: &mut [u8]) {
    replace_lone_surrogates(bytes);
    let mut from = 0;
    while let Some(Err(error)) = bytes.get(from..).map(std::str::from_utf8) {
        let at = from + error.valid_up_to();
        from = error.error_len().map_or(bytes.len(), |len| at + len);
        bytes.get_mut(at..from).unwrap_or_default().fill(b'?');
    }
}

/// The JSON of a line: without a mark of byte order, and without the hole that a crash left before it.
pub(crate) fn without_debris(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let hole = line.iter().take_while(|byte| **byte == 0).count();
    line.get(hole..).unwrap_or_default()
}

/// Parses a small file, read in full; `None` if it is not of that shape.
pub(crate) fn parse_file<T: DeserializeOwned>(mut bytes: Vec<u8>) -> Option<T> {
    replace_lone_surrogates(&mut bytes);
    serde_json::from_slice(&bytes).ok()
}

/// A value as it may be handed on raw: as it is where everyone can read it, else as a string that holds its text.
///
/// Skipping a value checks neither how deep it nests nor whether its numbers can be had; building one does.
pub(crate) fn tellable(raw: &RawValue) -> Box<RawValue> {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(_) => raw.to_owned(),
        Err(_) => to_raw_value(raw.get()).unwrap_or_else(|_| RawValue::NULL.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(json: &str) -> String {
        tellable(&RawValue::from_string(json.to_owned()).unwrap()).get().to_owned()
    }

    #[test]
    fn what_everyone_can_read_stays_and_the_rest_is_text() {
        assert_eq!(told(r#"{"b": 1,  "a":null}"#), r#"{"b": 1,  "a":null}"#);
        assert_eq!(told("1e999"), r#""1e999""#);
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(told(&deep), format!("\"{deep}\""));
    }
}
