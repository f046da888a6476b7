//! Code blocks of Markdown.

use serde::Serialize;

use super::text::is_blank;

/// The code block that a line is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fence {
    mark: String,
    language: String,
}

impl Fence {
    /// The code block that is open after a line, as `fences.lua` finds it.
    #[must_use]
    pub fn after(open: Option<Self>, line: &str) -> Option<Self> {
        let line = line.trim_start_matches(is_blank);
        let Some(sign) = line.chars().next().filter(|sign| matches!(sign, '`' | '~')) else { return open };
        let info = line.trim_start_matches(sign);
        let mark = line.strip_suffix(info).unwrap_or_default();
        let info = info.trim_start_matches(is_blank);
        if mark.len() < 3 || sign == '`' && info.contains('`') {
            return open;
        }
        match open {
            None => {
                let is_name = |char: char| char.is_ascii_alphanumeric() || "_+#-".contains(char);
                let language = info.split(|char| !is_name(char)).next().unwrap_or_default().to_ascii_lowercase();
                Some(Self { mark: mark.to_owned(), language })
            }
            Some(open) => {
                (!info.is_empty() || mark.len() < open.mark.len() || !open.mark.starts_with(sign)).then_some(open)
            }
        }
    }
}
