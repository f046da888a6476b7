//! Converts a client's root URI to a folder.

use std::path::PathBuf;

/// Parses `file://` and a path. The CLI does not encode the path, other clients percent-encode it (RFC 8089); a text
/// with characters that an encoder would have replaced counts as not encoded.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let is_raw = path.bytes().any(|byte| !byte.is_ascii_graphic());
    let decoded = if is_raw { None } else { decode(path) };
    Some(PathBuf::from(decoded.unwrap_or_else(|| path.to_owned())))
}

fn decode(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            u8::try_from(digit()?.checked_mul(16)?.checked_add(digit()?)?).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_path_stays_as_it_is() {
        for raw in ["/p", "/with space", "/ünï", "/100% sure", "/50%", "/a%zz"] {
            assert_eq!(path(&format!("file://{raw}")), Some(PathBuf::from(raw)));
        }
    }

    #[test]
    fn an_encoded_path_is_decoded() {
        assert_eq!(path("file:///with%20space/%C3%BC"), Some(PathBuf::from("/with space/ü")));
        assert_eq!(path("file://localhost/p"), Some(PathBuf::from("/p")));
    }

    #[test]
    fn only_folders_of_this_machine_count() {
        assert_eq!(path("https://example.com/p"), None);
        assert_eq!(path("file://server/share"), None);
    }
}
