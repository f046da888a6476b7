//! What tells one text from another without keeping it: a name for a file, or what it held.

use sha1::{Digest as _, Sha1};

/// SHA-1 of the bytes, in hexadecimal. Not for what an attacker must not forge.
pub fn digest(bytes: &[u8]) -> String {
    Sha1::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_that_of_the_standard() {
        assert_eq!(digest(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_ne!(digest(b"a\0b"), digest(b"a\0c"));
    }
}
