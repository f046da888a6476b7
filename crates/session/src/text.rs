//! Texts that may be cut.

use serde::Serialize;

/// A text, possibly cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text {
    /// The text, up to the caller's limit.
    pub text: String,
    /// Size of the whole text in bytes; larger than `text` if it was cut.
    pub bytes: usize,
}

impl Text {
    /// The beginning of a text, cut between characters.
    #[must_use]
    pub fn cut(text: String, max_bytes: usize) -> Self {
        Self { bytes: text.len(), text }.head(max_bytes)
    }

    pub(crate) fn head(mut self, max_bytes: usize) -> Self {
        if self.text.len() > max_bytes {
            let end = (0..=max_bytes).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
            self.text.truncate(end);
        }
        self
    }
}

/// The beginning of a text, cut between characters, and how many bytes follow it.
#[must_use]
pub fn head(text: &str, most: usize) -> (&str, usize) {
    if text.len() <= most {
        return (text, 0);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (head, left) = text.split_at(end);
    (head, left.len())
}
