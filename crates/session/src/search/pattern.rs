//! A search pattern: plain text or a regular expression.
//!
//! Expressions are those of the `regex` crate, with Unicode. Plain text never reaches the engine, and most lines are
//! ruled out on their raw bytes by a literal that every match contains. That literal is taken from the parsed
//! expression, so its meaning is the engine's.

use memchr::memmem::{self, Finder};
use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::{Hir, HirKind};

use crate::error::SessionError;

/// Shorter literals rule out too little.
const MIN_REQUIRED: usize = 3;

/// A compiled pattern.
pub(super) struct Pattern {
    matcher: Matcher,
    required: Option<Required>,
}

enum Matcher {
    Plain(Plain),
    Regex(Box<Regex>),
}

impl Pattern {
    /// # Errors
    /// [`SessionError::Pattern`] if it is no regular expression.
    pub(super) fn new(pattern: &str, literal: bool, case_sensitive: Option<bool>) -> Result<Self, SessionError> {
        let expression = if literal { regex_syntax::escape(pattern) } else { pattern.to_owned() };
        let invalid = |message: String| SessionError::Pattern { message };
        let ast = ast::parse::Parser::new().parse(&expression).map_err(|error| invalid(error.to_string()))?;
        let case_sensitive = case_sensitive.unwrap_or_else(|| has_upper_case(&ast));
        if (literal || regex_syntax::escape(pattern) == pattern) && (case_sensitive || pattern.is_ascii()) {
            let required = is_same_in_json(pattern).then(|| Required::new(pattern, case_sensitive));
            return Ok(Self { matcher: Matcher::Plain(Plain::new(pattern, case_sensitive)), required });
        }
        let regex = RegexBuilder::new(&expression).case_insensitive(!case_sensitive).multi_line(true).build();
        let regex = regex.map_err(|error| invalid(error.to_string()))?;
        let required = regex_syntax::Parser::new().parse(&expression).ok().and_then(|hir| required_text(&hir));
        let required = required.map(|text| Required::new(&text, case_sensitive));
        Ok(Self { matcher: Matcher::Regex(Box::new(regex)), required })
    }

    /// Whether a transcript line may contain a match.
    pub(super) fn may_match_in(&self, json: &[u8]) -> bool {
        self.required.as_ref().is_none_or(|required| required.may_be_in(json))
    }

    /// Whether a text contains a match; cheaper than [`Pattern::find`].
    pub(super) fn may_match(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Plain(plain) => plain.find(text.as_bytes()).is_some(),
            Matcher::Regex(regex) => regex.is_match(text),
        }
    }

    /// The byte range of the first match.
    pub(super) fn find(&self, text: &str) -> Option<(usize, usize)> {
        match &self.matcher {
            Matcher::Plain(plain) => plain.find(text.as_bytes()).map(|start| (start, start + plain.len)),
            Matcher::Regex(regex) => regex.find(text).map(|found| (found.start(), found.end())),
        }
    }
}

/// An ASCII literal that every match contains, in JSON's spelling.
struct Required {
    plain: Plain,
    /// Other spellings when case is ignored: Unicode folds the long s and the Kelvin sign too.
    others: Vec<Finder<'static>>,
}

impl Required {
    fn new(text: &str, case_sensitive: bool) -> Self {
        let has = |letter: char| !case_sensitive && text.contains([letter, letter.to_ascii_uppercase()]);
        let others = [('s', "\u{17f}"), ('k', "\u{212a}")].into_iter().filter(|(letter, _)| has(*letter));
        Self {
            plain: Plain::new(text, case_sensitive),
            others: others.map(|(_, other)| Finder::new(other).into_owned()).collect(),
        }
    }

    fn may_be_in(&self, json: &[u8]) -> bool {
        self.plain.find(json).is_some() || self.others.iter().any(|other| other.find(json).is_some())
    }
}

/// Plain text; when case is ignored, only ASCII letters have two cases.
struct Plain {
    find: Find,
    len: usize,
}

enum Find {
    Exact(Box<Finder<'static>>),
    AnyCase {
        needle: Box<[u8]>,
        /// Its rarest byte, in both cases, and its offset.
        rare: (u8, u8),
        at: usize,
    },
}

impl Plain {
    fn new(text: &str, case_sensitive: bool) -> Self {
        let len = text.len();
        if case_sensitive || text.is_empty() {
            return Self { find: Find::Exact(Box::new(memmem::Finder::new(text).into_owned())), len };
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

/// Roughly how rare a byte is in prose and code.
fn rarity(byte: u8) -> usize {
    const COMMON_FIRST: &[u8] = b" etaoinsrhldcu_m.fp/g\"wyb,v=k-():;x{}jqz";
    COMMON_FIRST.iter().position(|common| *common == byte.to_ascii_lowercase()).unwrap_or(COMMON_FIRST.len())
}

/// Whether the pattern has an upper-case letter that stands for itself: `\W` and `\p{Lu}` do not count.
fn has_upper_case(ast: &Ast) -> bool {
    struct Visitor(bool);
    impl ast::Visitor for Visitor {
        type Output = bool;
        type Err = std::convert::Infallible;

        fn finish(self) -> Result<bool, Self::Err> {
            Ok(self.0)
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
            self.0 |= matches!(ast, Ast::Literal(literal) if literal.c.is_uppercase());
            Ok(())
        }

        fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
            self.0 |= match item {
                ClassSetItem::Literal(literal) => literal.c.is_uppercase(),
                ClassSetItem::Range(range) => range.start.c.is_uppercase() || range.end.c.is_uppercase(),
                _ => false,
            };
            Ok(())
        }
    }
    ast::visit(ast, Visitor(false)).unwrap_or_default()
}

/// The longest literal that every match contains and that JSON leaves unescaped.
fn required_text(hir: &Hir) -> Option<String> {
    let mut best = match hir.kind() {
        HirKind::Literal(literal) => longest_run(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Capture(capture) => required_text(&capture.sub)?,
        HirKind::Repetition(repetition) if repetition.min > 0 => required_text(&repetition.sub)?,
        HirKind::Concat(parts) => parts.iter().filter_map(required_text).max_by_key(String::len)?,
        HirKind::Repetition(_) | HirKind::Alternation(_) | HirKind::Class(_) | HirKind::Look(_) | HirKind::Empty => {
            return None;
        }
    };
    best.shrink_to_fit();
    (best.len() >= MIN_REQUIRED).then_some(best)
}

fn longest_run(text: &str) -> String {
    let runs = text.split(|letter: char| !is_same_in_json(letter.encode_utf8(&mut [0; 4])));
    runs.max_by_key(|run| run.len()).unwrap_or_default().to_owned()
}

/// Whether every JSON writer leaves a text unescaped.
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

    /// Whether a matching text passes the filter on the line's bytes.
    fn found_in_line(pattern: &str, text: &str) -> bool {
        let pattern = Pattern::new(pattern, false, None).unwrap();
        pattern.may_match_in(serde_json::to_string(text).unwrap().as_bytes()) && pattern.find(text).is_some()
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
    fn words_and_cases_are_those_of_every_script() {
        assert_eq!(find("größe", "GRÖßE"), Some((0, 7)));
        assert_eq!(find("[äö]l", "ÖL"), Some((0, 3)));
        assert_eq!(find("[а-я]+!", "да!"), Some((0, 5)));
        assert_eq!(find(r"\wül", "xÜL"), Some((0, 4)));
        assert_eq!(find(r"\bпривет\b", "скажи привет, мир"), Some((11, 23)));
        assert_eq!(find(r"\bпривет\b", "приветствие"), None);
        assert_eq!(find(r"^\w+$", "größe"), Some((0, 7)));
        assert_eq!(find(r"\p{Greek}+", "a λόγος"), Some((2, 12)));
    }

    #[test]
    fn an_escaped_text_rules_no_line_out() {
        assert!(found_in_line(r"\x41bc", "an Abc"));
        assert!(found_in_line(r"\x{41}bcdef\u0067", "Abcdefg"));
        assert!(found_in_line(r"needle\x20here", "needle here"));
        assert!(found_in_line(r"(?x) need le # a remark", "needle"));
        assert!(found_in_line(r"(?i)NEEDLE", "needle"));
        assert!(found_in_line(r"(?:abc){2}def", "abcabcdef"));
        assert!(found_in_line(r"task", "TAS\u{212a}") == found_in_line("task", "tas\u{212a}"));
        assert!(found_in_line(r"tas[k]s", "TAS\u{212a}S"));
        assert!(found_in_line(r"mas{2}e", "ma\u{17f}\u{17f}e"));
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
    fn a_required_literal_rules_lines_out() {
        let required = |expression| required_text(&regex_syntax::Parser::new().parse(expression).unwrap());
        assert_eq!(required("find .* here$").as_deref(), Some(" here"));
        assert_eq!(required("colours?").as_deref(), Some("colour"));
        assert_eq!(required(r"\needle\b").as_deref(), Some("eedle"));
        assert_eq!(required(r"a\.(needle|thread)s?").as_deref(), None);
        assert_eq!(required(r"(needle)+").as_deref(), Some("needle"));
        assert_eq!(required("(needle)*x"), None);
        assert_eq!(required("ab+c"), None, "too short");
        assert_eq!(required("(?i)needle"), None);
        assert_eq!(required("größer").as_deref(), None, "another program's JSON may spell it out");
    }

    #[test]
    fn upper_case_counts_where_a_user_typed_it() {
        let upper = |pattern: &str| has_upper_case(&ast::parse::Parser::new().parse(pattern).unwrap());
        assert!(upper("aB") && upper(r"\\W") && upper("[A-Z]") && upper("[xY]") && upper("(a|É)"));
        assert!(!upper(r"\W") && !upper(r"\p{Lu}") && !upper(r"[\S]") && !upper("[[:^alpha:]]"));
    }
}
