//! What is looked for: plain text, or a regular expression.
//!
//! The engine for expressions is regex-lite: regex-automata with its tables of Unicode would add 0.6 MB to a library of 2. It
//! is slow, so it sees little: plain text never reaches it, and most lines are ruled out by a text that every match must
//! hold. What it lacks: `\w`, `\d`, `\s` and `\b` know ASCII only, and `\p{…}` is unknown.

use memchr::memmem::Finder;
use regex_lite::{Regex, RegexBuilder};

use crate::error::SessionError;

/// Shorter texts rule too little out.
const MIN_REQUIRED: usize = 3;

/// A pattern, ready to search with.
pub(super) struct Pattern {
    matcher: Matcher,
    /// What the JSON of every line with a match holds.
    required: Option<Plain>,
}

enum Matcher {
    Plain(Plain),
    Regex(Regex),
}

impl Pattern {
    /// # Errors
    /// [`SessionError::Pattern`] if it is no regular expression.
    pub(super) fn new(pattern: &str, literal: bool, case_sensitive: Option<bool>) -> Result<Self, SessionError> {
        let case_sensitive = case_sensitive.unwrap_or_else(|| has_upper_case(pattern, literal));
        let is_plain = literal || !pattern.contains(is_special);
        if is_plain && (case_sensitive || pattern.is_ascii()) {
            let required = is_same_in_json(pattern).then(|| Plain::new(pattern, case_sensitive));
            return Ok(Self { matcher: Matcher::Plain(Plain::new(pattern, case_sensitive)), required });
        }
        let expression = if literal { escaped(pattern) } else { pattern.to_owned() };
        let expression = if case_sensitive { expression } else { with_both_cases(&expression) };
        let regex = RegexBuilder::new(&expression).case_insensitive(!case_sensitive).multi_line(true).build();
        let regex = regex.map_err(|error| SessionError::Pattern { message: error.to_string() })?;
        let required = if literal { None } else { required_text(pattern) };
        let required = required.map(|text| Plain::new(&text, case_sensitive));
        Ok(Self { matcher: Matcher::Regex(regex), required })
    }

    /// Whether a line of a transcript can have a match in one of its texts.
    pub(super) fn may_match_in(&self, json: &[u8]) -> bool {
        self.required.as_ref().is_none_or(|required| required.find(json).is_some())
    }

    /// Whether a text can have a match, where that is quicker to say than where it is.
    pub(super) fn may_match(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Plain(plain) => plain.find(text.as_bytes()).is_some(),
            Matcher::Regex(_) => true,
        }
    }

    /// Where the first match lies, in bytes.
    pub(super) fn find(&self, text: &str) -> Option<(usize, usize)> {
        match &self.matcher {
            Matcher::Plain(plain) => plain.find(text.as_bytes()).map(|start| (start, start + plain.len)),
            Matcher::Regex(regex) => regex.find(text).map(|found| (found.start(), found.end())),
        }
    }
}

/// Plain text; where case does not count, only ASCII letters have two.
struct Plain {
    find: Find,
    len: usize,
}

enum Find {
    Exact(Box<Finder<'static>>),
    AnyCase {
        needle: Box<[u8]>,
        /// The byte of it that is rarest, in both cases, and where it stands.
        rare: (u8, u8),
        at: usize,
    },
}

impl Plain {
    fn new(text: &str, case_sensitive: bool) -> Self {
        let len = text.len();
        if case_sensitive || text.is_empty() {
            return Self { find: Find::Exact(Box::new(Finder::new(text).into_owned())), len };
        }
        let needle: Box<[u8]> = text.bytes().collect();
        let (at, byte) = needle.iter().copied().enumerate().max_by_key(|(_, byte)| rarity(*byte)).unwrap_or_default();
        let rare = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        Self { find: Find::AnyCase { needle, rare, at }, len }
    }

    fn find(&self, text: &[u8]) -> Option<usize> {
        match &self.find {
            Find::Exact(finder) => finder.find(text),
            Find::AnyCase { needle, rare, at } => {
                let is_here = |start: &usize| {
                    text.get(*start..start + needle.len()).is_some_and(|found| found.eq_ignore_ascii_case(needle))
                };
                memchr::memchr2_iter(rare.0, rare.1, text.get(*at..).unwrap_or_default()).find(is_here)
            }
        }
    }
}

/// How rare a byte is in prose and code, roughly.
fn rarity(byte: u8) -> usize {
    const COMMON_FIRST: &[u8] = b" etaoinsrhldcu_m.fp/g\"wyb,v=k-():;x{}jqz";
    COMMON_FIRST.iter().position(|common| *common == byte.to_ascii_lowercase()).unwrap_or(COMMON_FIRST.len())
}

/// Whether a character can mean something else than itself in an expression.
fn is_special(letter: char) -> bool {
    matches!(letter, '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' | '\\')
}

/// Whether a person typed an upper-case letter: `\W` and its like are none.
fn has_upper_case(pattern: &str, literal: bool) -> bool {
    let mut escaped = false;
    pattern.chars().any(|letter| {
        let counts = letter.is_uppercase() && !escaped;
        escaped = !literal && letter == '\\' && !escaped;
        counts
    })
}

/// An expression that means exactly this text.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|letter| is_special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

/// The expression, with the letters beyond ASCII in both cases: the engine knows only those of ASCII.
fn with_both_cases(expression: &str) -> String {
    let (mut out, mut in_class, mut escaped) = (String::with_capacity(expression.len()), false, false);
    let mut letters = expression.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let other = other_case(letter).filter(|_| !escaped);
        let in_range = in_class && (before == '-' || letters.peek() == Some(&'-'));
        match other {
            Some(other) if in_class && !in_range => out.extend([letter, other]),
            Some(other) if !in_class => out.extend(['[', letter, other, ']']),
            Some(_) | None => out.push(letter),
        }
        match letter {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        escaped = letter == '\\' && !escaped;
        before = letter;
    }
    out
}

fn other_case(letter: char) -> Option<char> {
    let only = |mut letters: std::vec::IntoIter<char>| letters.next().filter(|_| letters.next().is_none());
    let lower = only(letter.to_lowercase().collect::<Vec<_>>().into_iter());
    let upper = only(letter.to_uppercase().collect::<Vec<_>>().into_iter());
    [lower, upper].into_iter().flatten().find(|other| *other != letter && !letter.is_ascii())
}

/// The longest text that every match holds and that JSON writes as it is; `None` where there is none or it is hard to say.
fn required_text(expression: &str) -> Option<String> {
    if expression.contains(['|', '(', '[', '{']) {
        return None; // Alternatives, flags, classes and counts: then a match may lack any of it.
    }
    let (mut best, mut run, mut escaped) = (String::new(), String::new(), false);
    for letter in expression.chars().chain(['^']) {
        if letter.is_ascii() && is_same_in_json(letter.encode_utf8(&mut [0; 4])) && !escaped {
            run.push(letter);
            continue;
        }
        if matches!(letter, '?' | '*') && !escaped {
            run.pop();
        }
        if run.len() > best.len() {
            best = run;
        }
        run = String::new();
        escaped = letter == '\\' && !escaped;
    }
    (best.len() >= MIN_REQUIRED).then_some(best)
}

/// Whether JSON writes a text as it is, and an expression means it as it is.
fn is_same_in_json(text: &str) -> bool {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b' ' | b'_' | b'-' | b',' | b':' | b';' | b'=' | b'@' | b'#' | b'!' | b'%')
    };
    !text.is_empty() && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pattern: &str, text: &str) -> Option<(usize, usize)> {
        Pattern::new(pattern, false, None).unwrap().find(text)
    }

    #[test]
    fn finds_plain_text_and_expressions() {
        assert_eq!(find("needle", "a Needle"), Some((2, 8)));
        assert_eq!(find("Needle", "a needle, a Needle"), Some((12, 18)));
        assert_eq!(find("n.+le$", "a needle"), Some((2, 8)));
        assert_eq!(find("needle", "a needl"), None);
        assert_eq!(find("", "any"), Some((0, 0)));
    }

    #[test]
    fn the_case_of_letters_beyond_ascii_does_not_count_either() {
        assert_eq!(find("größe", "GRÖßE"), Some((0, 7)));
        assert_eq!(find("[äö]l", "ÖL"), Some((0, 3)));
        assert_eq!(find("[а-я]+!", "да!"), Some((0, 5)));
        assert_eq!(find(r"\wül", "xÜL"), Some((0, 4)));
    }

    #[test]
    fn a_literal_means_itself() {
        let all: String = (' '..='~').collect();
        for text in [all.as_str(), "a.b", "(", "ö(", "[x"] {
            let pattern = Pattern::new(text, true, Some(false)).unwrap();
            assert_eq!(pattern.find(&format!("..{text}..")), Some((2, 2 + text.len())), "{text}");
        }
        assert_eq!(Pattern::new("a.b", true, None).unwrap().find("axb"), None);
    }

    #[test]
    fn what_every_match_holds_rules_lines_out() {
        let required = |expression| required_text(expression);
        assert_eq!(required("find .* here$").as_deref(), Some("find "));
        assert_eq!(required("colours?").as_deref(), Some("colour"));
        assert_eq!(required(r"\needle\b").as_deref(), Some("eedle"));
        assert_eq!(required("ab+c"), None, "too short");
        assert_eq!(required("(?i)needle"), None);
        assert_eq!(required("needle|thread"), None);
    }

    #[test]
    fn upper_case_counts_where_a_person_typed_it() {
        assert!(has_upper_case("aB", false) && has_upper_case(r"\W", true) && has_upper_case(r"\\W", false));
        assert!(!has_upper_case(r"\W", false));
    }
}
