//! Globs as in ignore files, but case-insensitive, as some file systems are.

use regex::Regex;

/// A pattern for whole texts. `*` and `?` stop at `/`, `**` does not; `[…]`, `[!…]` and `{…,…}` as usual.
pub(crate) fn pattern(glob: &str) -> Result<Regex, String> {
    let (mut pattern, mut rest, mut depth) = (String::from("(?is)^"), glob, 0_usize);
    while let Some(first) = rest.chars().next() {
        let (length, means) = if let Some(class) = class(rest) {
            (class.len(), in_regex(class))
        } else if rest.starts_with("**/") {
            (3, "(?:.*/)?".to_owned())
        } else if rest.starts_with("**") {
            (2, ".*".to_owned())
        } else {
            let means = match first {
                '*' => "[^/]*".to_owned(),
                '?' => "[^/]".to_owned(),
                '{' => "(?:".to_owned(),
                '}' => ")".to_owned(),
                ',' if depth > 0 => "|".to_owned(),
                other => regex::escape(other.encode_utf8(&mut [0; 4])),
            };
            (first.len_utf8(), means)
        };
        match first {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1).ok_or("a `}` without its `{`")?,
            _ => {}
        }
        pattern.push_str(&means);
        rest = rest.get(length..).unwrap_or_default();
    }
    if depth > 0 {
        return Err("a `{` without its `}`".to_owned());
    }
    pattern.push('$');
    Regex::new(&pattern).map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())
}

/// The class `[…]` that a text starts with.
fn class(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let end = inner.char_indices().skip(1).find(|(_, each)| *each == ']' || *each == '/')?;
    if inner.starts_with(['/', ']']) || !inner.get(end.0..)?.starts_with(']') {
        return None;
    }
    text.get(..end.0 + 2)
}

fn in_regex(class: &str) -> String {
    let inner = class.get(1..class.len().saturating_sub(1)).unwrap_or_default();
    let (sign, members) = match inner.strip_prefix(['!', '^']) {
        Some(members) => ("^", members),
        None => ("", inner),
    };
    let mut out = format!("[{sign}");
    for each in members.chars() {
        if matches!(each, '[' | '\\' | '&' | '~' | '^') {
            out.push('\\');
        }
        out.push(each);
    }
    out + "]"
}
