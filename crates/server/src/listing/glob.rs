//! The patterns of .gitignore, which `listFiles` takes too: `*` and `?` stay within a name, `**` spans folders, `[…]` is one
//! character of a set, `\` takes the next character as it is.
//!
//! Invariant: matching takes at most about pattern length × path length steps a name, so no pattern of a client and no
//! ignore file can hold a thread up. (Written here rather than taken from a library: those that read ignore files bring a
//! regex engine, which alone made the plugin's library a third larger.)

/// One pattern, ready to match paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob(Vec<Segment>);

/// What stands between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of names, also none.
    Any,
    Name(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`: one character.
    One,
    /// `*`: any number of characters, also none.
    Many,
    Set(Set),
}

/// `[a-z]`, `[!a-z]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Set {
    negated: bool,
    ranges: Vec<(char, char)>,
}

/// Why a pattern is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidPattern {
    #[error("has a `[` that no `]` closes")]
    OpenSet,
    #[error("ends in a lone `\\`")]
    LoneEscape,
    #[error("has a `{{` that no `}}` closes")]
    OpenBrace,
    #[error("has too many alternatives")]
    TooMany,
}

impl Glob {
    /// # Errors
    /// [`InvalidPattern::OpenSet`], [`InvalidPattern::LoneEscape`].
    pub(super) fn new(pattern: &str) -> Result<Self, InvalidPattern> {
        let mut segments = Vec::new();
        for name in pattern.split('/').filter(|name| !name.is_empty()) {
            let segment = if name == "**" { Segment::Any } else { Segment::Name(tokens(name)?) };
            // `**/**` says no more than `**`.
            if !(segment == Segment::Any && segments.last() == Some(&Segment::Any)) {
                segments.push(segment);
            }
        }
        // Everything in a folder, but not the folder.
        if segments.len() > 1 && segments.last() == Some(&Segment::Any) {
            segments.push(Segment::Name(vec![Token::Many]));
        }
        Ok(Self(segments))
    }

    /// Whether a path matches: relative, `/` between its names, none of them empty.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        wildcard(
            &self.0,
            &names,
            |segment| *segment == Segment::Any,
            |segment, names| match (segment, names) {
                (Segment::Name(tokens), [name, ..]) if matches_name(tokens, name) => Some(1),
                _ => None,
            },
        )
    }
}

fn matches_name(tokens: &[Token], name: &[u8]) -> bool {
    wildcard(
        tokens,
        name,
        |token| *token == Token::Many,
        |token, rest| match token {
            Token::Byte(byte) => (rest.first() == Some(byte)).then_some(1),
            Token::One => first_char(rest).map(|(_, len)| len),
            Token::Set(set) => first_char(rest).filter(|(char, _)| set.contains(*char)).map(|(_, len)| len),
            Token::Many => None,
        },
    )
}

/// Matches a sequence against a pattern in which some elements stand for any run. Only the last such element is ever
/// tried again: what an earlier one could reach by taking more, the last one reaches too.
///
/// `take` says how many items an element takes at the front of the rest, if it matches there.
fn wildcard<P, T>(
    pattern: &[P],
    items: &[T],
    is_any: impl Fn(&P) -> bool,
    take: impl Fn(&P, &[T]) -> Option<usize>,
) -> bool {
    let (mut rest_pattern, mut rest) = (pattern, items);
    let mut again: Option<(&[P], &[T])> = None;
    loop {
        match rest_pattern.split_first() {
            Some((element, after)) if is_any(element) => {
                again = Some((after, rest));
                rest_pattern = after;
                continue;
            }
            Some((element, after)) => {
                if let Some(tail) = take(element, rest).and_then(|taken| rest.get(taken..)) {
                    (rest_pattern, rest) = (after, tail);
                    continue;
                }
            }
            None if rest.is_empty() => return true,
            None => {}
        }
        match again {
            Some((after, [_, tail @ ..])) => {
                again = Some((after, tail));
                (rest_pattern, rest) = (after, tail);
            }
            Some((_, [])) | None => return false,
        }
    }
}

/// The first character and its length; a byte that is no UTF-8 counts as one character of its own.
fn first_char(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    for len in 1..=4 {
        if let Some(char) = bytes.get(..len).and_then(|part| std::str::from_utf8(part).ok()?.chars().next()) {
            return Some((char, len));
        }
    }
    Some((char::from(first), 1))
}

fn tokens(name: &str) -> Result<Vec<Token>, InvalidPattern> {
    let mut tokens = Vec::new();
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' if tokens.last() == Some(&Token::Many) => {}
            '*' => tokens.push(Token::Many),
            '?' => tokens.push(Token::One),
            '[' => tokens.push(Token::Set(set(&mut chars)?)),
            '\\' => push_char(&mut tokens, chars.next().ok_or(InvalidPattern::LoneEscape)?),
            other => push_char(&mut tokens, other),
        }
    }
    Ok(tokens)
}

fn push_char(tokens: &mut Vec<Token>, char: char) {
    tokens.extend(char.encode_utf8(&mut [0; 4]).bytes().map(Token::Byte));
}

/// Reads on after the `[`. A `]` in the first place, and a `-` in the first or last, stand for themselves.
fn set(chars: &mut std::str::Chars<'_>) -> Result<Set, InvalidPattern> {
    let mut set = Set { negated: false, ranges: Vec::new() };
    if let Some('!' | '^') = chars.as_str().chars().next() {
        chars.next();
        set.negated = true;
    }
    let mut first = true;
    loop {
        let low = match chars.next().ok_or(InvalidPattern::OpenSet)? {
            ']' if !first => return Ok(set),
            '[' if chars.as_str().starts_with(':') => {
                if let Some((name, rest)) = chars.as_str().get(1..).and_then(|rest| rest.split_once(":]")) {
                    set.ranges.extend_from_slice(class(name));
                    *chars = rest.chars();
                    first = false;
                    continue;
                }
                '['
            }
            '\\' => chars.next().ok_or(InvalidPattern::OpenSet)?,
            other => other,
        };
        first = false;
        let mut ahead = chars.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                *chars = ahead.clone();
                if high == '\\' { chars.next().ok_or(InvalidPattern::OpenSet)? } else { high }
            }
            _ => low,
        };
        set.ranges.push((low, high));
    }
}

/// The classes of POSIX, as far as ASCII goes; an unknown one holds nothing.
fn class(name: &str) -> &'static [(char, char)] {
    match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "digit" => &[('0', '9')],
        "lower" => &[('a', 'z')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "upper" => &[('A', 'Z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => &[],
    }
}

impl Set {
    fn contains(&self, char: char) -> bool {
        self.ranges.iter().any(|&(low, high)| (low..=high).contains(&char)) != self.negated
    }
}

/// How many patterns the braces of one may stand for.
const MAX_ALTERNATIVES: usize = 256;

/// `a.{js,ts}` → `a.js`, `a.ts`. Braces may nest; one without a comma stands for itself, as in a shell.
///
/// # Errors
/// [`InvalidPattern::OpenBrace`], [`InvalidPattern::TooMany`].
pub(super) fn expand_braces(pattern: &str) -> Result<Vec<String>, InvalidPattern> {
    let mut done = Vec::new();
    let mut todo = vec![(pattern.to_owned(), 0)];
    while let Some((pattern, from)) = todo.pop() {
        if done.len().saturating_add(todo.len()) > MAX_ALTERNATIVES {
            return Err(InvalidPattern::TooMany);
        }
        match first_brace(&pattern, from)? {
            None => done.push(pattern),
            Some(Brace { open, close, .. }) if !pattern.get(open..close).is_some_and(|inner| inner.contains(',')) => {
                todo.push((pattern, close));
            }
            Some(Brace { open, close, commas }) => {
                let (before, after) =
                    (pattern.get(..open).unwrap_or(""), pattern.get(close.saturating_add(1)..).unwrap_or(""));
                let starts = std::iter::once(open).chain(commas.iter().copied());
                let ends = commas.iter().copied().chain(std::iter::once(close));
                let mut alternatives: Vec<_> = starts
                    .zip(ends)
                    .filter_map(|(start, end)| pattern.get(start.saturating_add(1)..end))
                    .map(|inner| (format!("{before}{inner}{after}"), open))
                    .collect();
                alternatives.reverse();
                todo.append(&mut alternatives);
            }
        }
    }
    Ok(done)
}

struct Brace {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

/// The first brace from a byte on, and the commas at its own depth.
fn first_brace(pattern: &str, from: usize) -> Result<Option<Brace>, InvalidPattern> {
    let mut open = None;
    let (mut depth, mut commas, mut escaped) = (0_usize, Vec::new(), false);
    for (index, char) in pattern.char_indices() {
        if index < from || std::mem::take(&mut escaped) {
            continue;
        }
        match char {
            '\\' => escaped = true,
            '{' => {
                open.get_or_insert(index);
                depth = depth.saturating_add(1);
            }
            ',' if depth == 1 => commas.push(index),
            '}' if depth > 0 => {
                depth = depth.saturating_sub(1);
                if let (0, Some(open)) = (depth, open) {
                    return Ok(Some(Brace { open, close: index, commas }));
                }
            }
            _ => {}
        }
    }
    if open.is_some() { Err(InvalidPattern::OpenBrace) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Glob::new(pattern).unwrap().matches(path.as_bytes())
    }

    #[track_caller]
    fn check(pattern: &str, hits: &[&str], misses: &[&str]) {
        for path in hits {
            assert!(matches(pattern, path), "{pattern} should match {path}");
        }
        for path in misses {
            assert!(!matches(pattern, path), "{pattern} should not match {path}");
        }
    }

    #[test]
    fn a_star_stays_within_a_name() {
        check("*.js", &["a.js", ".js", "a.b.js"], &["a/b.js", "a.jsx", "js"]);
        check("src/*", &["src/a"], &["src", "src/a/b", "lib/a"]);
        check("a*b*c", &["abc", "aXbYc", "abbcc"], &["ab", "abcd", "acb"]);
        check("*", &["a", ".a"], &["a/b"]);
    }

    #[test]
    fn two_stars_span_folders() {
        check("**/a", &["a", "x/a", "x/y/a"], &["xa", "a/x"]);
        check("a/**", &["a/b", "a/b/c"], &["a", "ab/c"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/bx"]);
        check("**", &["a", "a/b/c"], &[]);
        check("**/*.rs", &["a.rs", "x/a.rs"], &["a.rs/x"]);
        check("a**b", &["ab", "axb"], &["a/b"]);
        check("**/x/**/y", &["x/y", "a/x/b/c/y", "x/x/y"], &["y/x"]);
    }

    #[test]
    fn a_question_mark_is_one_character_whatever_its_bytes() {
        check("a?c", &["abc", "aüc", "a漢c"], &["ac", "abbc", "a/c"]);
        assert!(Glob::new("a?c").unwrap().matches(b"a\xffc"));
    }

    #[test]
    fn a_set_is_one_character_of_it() {
        check("[abc]", &["a", "b"], &["d", "ab", ""]);
        check("[a-c0-9]x", &["bx", "7x"], &["dx"]);
        check("[!a-c]", &["d", "ü"], &["a", "b"]);
        check("[^a]", &["b"], &["a"]);
        check("[]a]", &["]", "a"], &["b"]);
        check("[a-]", &["a", "-"], &["b"]);
        check("[\\]]", &["]"], &["\\"]);
        check("[[:digit:]_]", &["5", "_"], &["a"]);
        check("[ä-ü]", &["ö"], &["a"]);
    }

    #[test]
    fn a_backslash_takes_the_next_character_as_it_is() {
        check("\\*", &["*"], &["a"]);
        check("a\\[b", &["a[b"], &[]);
        check("\\!a", &["!a"], &["a"]);
    }

    #[test]
    fn says_what_is_wrong_with_a_pattern() {
        assert_eq!(Glob::new("a[b"), Err(InvalidPattern::OpenSet));
        assert_eq!(Glob::new("a\\"), Err(InvalidPattern::LoneEscape));
        assert_eq!(expand_braces("a{b"), Err(InvalidPattern::OpenBrace));
        assert_eq!(expand_braces(&"{a,b}".repeat(20)), Err(InvalidPattern::TooMany));
    }

    #[test]
    fn expands_braces() {
        let expand = |pattern| expand_braces(pattern).unwrap();
        assert_eq!(expand("*.{js,ts}"), ["*.js", "*.ts"]);
        assert_eq!(expand("{a,b{c,d}}e"), ["ae", "bce", "bde"]);
        assert_eq!(expand("{a}{b,c}"), ["{a}b", "{a}c"]);
        assert_eq!(expand("a{,b}"), ["a", "ab"]);
        assert_eq!(expand("\\{a,b}"), ["\\{a,b}"]);
        assert_eq!(expand("plain"), ["plain"]);
        assert_eq!(expand("ü{ä,ö}"), ["üä", "üö"]);
    }

    #[test]
    fn no_pattern_takes_long() {
        let start = Instant::now();
        let name = "a".repeat(4_000);
        assert!(!matches(&format!("{}b", "*a?".repeat(1_000)), &name));
        let path = vec!["a"; 2_000].join("/");
        assert!(!matches(&format!("{}b", "**/a/".repeat(500)), &path));
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
