//! Reduces a prompt to the user's own words: without the wrapping of the CLI and editors, and without invisible or
//! direction-changing characters.

use crate::prompt_input::plain;
use crate::text::Text;

/// Elements added to a prompt by others than the user; removed whole.
const NOT_SAID: [&str; 5] =
    ["ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder", "local-command-caveat"];
/// Pasted text; only its tags are removed, and typed text takes precedence.
const PASTED: &str = "pasted_content";

/// The user's words in a prompt; `None` if there are none.
pub(crate) fn of_prompt(text: &str) -> Option<String> {
    let text = NOT_SAID.iter().fold(text.to_owned(), |text, tag| cut(&text, tag).0);
    let (typed, pasted) = cut(&text, PASTED);
    [plain(without_picture(typed.trim())), plain(&pasted)].into_iter().find(|words| !words.is_empty())
}

/// A slash command as typed: `/review the parser`.
pub(crate) fn of_command(text: &str) -> Option<String> {
    let name = plain(within(text, "command-name")?);
    let arguments = plain(within(text, "command-args").unwrap_or_default());
    (!name.is_empty()).then(|| format!("{name} {arguments}").trim().to_owned())
}

/// What the report of a background task's end says; `None` if it is none. Its tags stand before the result, which may
/// contain anything.
pub(crate) fn of_notification(text: &str) -> Option<String> {
    let text = text.trim_start().strip_prefix("<task-notification>")?;
    let text = text.split_once("<result>").map_or(text, |(before, _)| before);
    let tag = |name| within(text, name).map(plain).filter(|words| !words.is_empty());
    let status = || tag("status").map(|status| format!("A background task ended: {status}"));
    Some(tag("summary").or_else(status).unwrap_or_else(|| "A background task ended".to_owned()))
}

/// A title on one line, without invisible characters; `None` if nothing is left.
pub(super) fn of_title(text: &str) -> Option<String> {
    let title = plain(text);
    (!title.is_empty()).then_some(title)
}

impl Text {
    /// Reduces the CLI's report of a background task's end to what it says.
    pub(crate) fn take_notification(&mut self) {
        if let Some(shown) = of_notification(&self.text) {
            self.bytes = shown.len();
            self.text = shown;
        }
    }

    /// Removes the CLI's marks around pasted text from a prompt.
    pub(crate) fn take_paste_marks(&mut self) {
        if let Some(shown) = without_paste_marks(&self.text, self.bytes > self.text.len()) {
            self.bytes = self.bytes.saturating_sub(self.text.len() - shown.len());
            self.text = shown;
        }
    }
}

fn within<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inner, _)| inner))
}

/// Removes every element of this tag; returns the rest, and the removed content. An unclosed element extends to the
/// end.
fn cut(text: &str, tag: &str) -> (String, String) {
    let begin = format!("<{tag}");
    let (mut left, mut taken) = (String::new(), String::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&begin) {
        let Some((attributes, after)) = after.split_once('>') else { break };
        if !attributes.is_empty() && !attributes.starts_with(char::is_whitespace) {
            // Another tag with the same beginning.
            left.push_str(before);
            left.push_str(&begin);
            left.push_str(attributes);
            left.push('>');
            rest = after;
            continue;
        }
        left.push_str(before);
        let (inner, after) = split_at_end(after, tag).unwrap_or((after, ""));
        taken.push_str(inner);
        taken.push('\n');
        rest = after;
    }
    left.push_str(rest);
    (left, taken)
}

/// Splits at the end of an element. The end of a paste has an attribute (measured): `</pasted_content id="7f40">`.
fn split_at_end<'a>(text: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let (inner, after) = text.split_once(&format!("</{tag}"))?;
    let (attributes, after) = after.split_once('>')?;
    (attributes.is_empty() || attributes.starts_with(char::is_whitespace)).then_some((inner, after))
}

/// A prompt without the CLI's marks around pasted text. An unclosed mark counts only if the text was cut.
pub(crate) fn without_paste_marks(text: &str, is_cut: bool) -> Option<String> {
    let (mut shown, mut rest, mut found) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once(&format!("<{PASTED}")) {
        let begun = after.split_once('>').filter(|(attributes, _)| attributes.starts_with(" id=\""));
        let Some((_, inner)) = begun else { break };
        let Some((inner, after)) = split_at_end(inner, PASTED).or(is_cut.then_some((inner, ""))) else { break };
        let inner = inner.strip_prefix('\n').unwrap_or(inner);
        shown.push_str(before);
        shown.push_str(inner.strip_suffix('\n').unwrap_or(inner));
        (rest, found) = (after, true);
    }
    shown.push_str(rest);
    found.then_some(shown)
}

/// `"[Image #1] what is this"` → "what is this"; an image alone keeps its name.
fn without_picture(text: &str) -> &str {
    let mut rest = text;
    while let Some((_, after)) = rest.strip_prefix("[Image").and_then(|inner| inner.split_once(']')) {
        rest = after.trim_start();
    }
    if rest.is_empty() { text } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<String> {
        of_prompt(text)
    }

    #[test]
    fn a_notification_is_what_it_says() {
        let told = "<task-notification>\n<task-id>t</task-id>\n<status>completed</status>\n";
        let summary = "<summary>Background command \"make\" completed (exit code 0)</summary>";
        let whole = format!("{told}{summary}\n<result><summary>no</summary></result></task-notification>");
        assert_eq!(of_notification(&whole).as_deref(), Some("Background command \"make\" completed (exit code 0)"));
        assert_eq!(of_notification(told).as_deref(), Some("A background task ended: completed"));
        assert_eq!(of_notification("hello"), None);
    }

    #[test]
    fn typed_words_win_over_pasted_ones() {
        let pasted = "explain this:\n<pasted_content id=\"a1b2\">\ntrace line\n</pasted_content>";
        assert_eq!(words(pasted).as_deref(), Some("explain this:"));
        assert_eq!(words("<pasted_content id=\"a1b2\">\ntrace\n</pasted_content>").as_deref(), Some("trace"));
        assert_eq!(words("<pasted_content id=\"a1b2\">\ncut sho").as_deref(), Some("cut sho"));
    }

    #[test]
    fn words_typed_after_a_paste_count_too() {
        let text = "\n\n<pasted_content id=\"7f40\">\ntrace\n</pasted_content id=\"7f40\">\nexplain this";
        assert_eq!(words(text).as_deref(), Some("explain this"));
        assert_eq!(
            words("<pasted_content id=\"7f40\">\ntrace\n</pasted_content id=\"7f40\">").as_deref(),
            Some("trace")
        );
    }

    #[test]
    fn a_paste_is_shown_without_its_marks() {
        let paste = |text: &str| format!("<pasted_content id=\"a\">\n{text}\n</pasted_content id=\"a\">");
        let text = format!("see\n\n{}\n\n{}\nand say", paste("one\n\n  two"), paste("three"));
        assert_eq!(without_paste_marks(&text, false).as_deref(), Some("see\n\none\n\n  two\n\nthree\nand say"));
        let open = "see\n\n<pasted_content id=\"a\">\none";
        assert_eq!(without_paste_marks(open, true).as_deref(), Some("see\n\none"));
        assert_eq!(without_paste_marks(open, false), None, "an ordinary mention");
        assert_eq!(without_paste_marks("what is <pasted_content> or <pasted_contents id=\"1\">?", true), None);
    }

    #[test]
    fn additions_of_an_editor_or_the_cli_are_left_out() {
        let text =
            "<ide_opened_file>The user opened a.rs</ide_opened_file>\n<system-reminder>x</system-reminder>fix it";
        assert_eq!(words(text).as_deref(), Some("fix it"));
        assert_eq!(words("<ide_opened_file>The user opened a.rs</ide_opened_file>"), None);
        assert_eq!(words("a <ide_opened_filex> tag").as_deref(), Some("a <ide_opened_filex> tag"));
        assert_eq!(words("is 1 <ide_selection or").as_deref(), Some("is 1 <ide_selection or"));
    }

    #[test]
    fn pictures_before_the_words_go() {
        assert_eq!(words("[Image #1] [Image #2] what is this").as_deref(), Some("what is this"));
        assert_eq!(words("[Image #1]").as_deref(), Some("[Image #1]"));
    }

    #[test]
    fn marks_that_do_not_show_go_and_joiners_stay() {
        assert_eq!(words("\u{202e}\u{feff}a\u{200b}b\u{2066}").as_deref(), Some("ab"));
        assert_eq!(words("\u{200b}\u{200f}"), None);
        assert_eq!(words("👩\u{200d}💻").as_deref(), Some("👩\u{200d}💻"));
    }

    #[test]
    fn a_command_is_as_it_was_typed() {
        let text = "<command-message>review is running</command-message>\n<command-name>/review</command-name>\n<command-args>the parser</command-args>";
        assert_eq!(of_command(text).as_deref(), Some("/review the parser"));
        assert_eq!(of_command("<command-name>/compact</command-name>").as_deref(), Some("/compact"));
        assert_eq!(of_command("<bash-input>ls</bash-input>"), None);
    }
}
