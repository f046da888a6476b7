//! Limits how much of a call's arguments is shown. The limit spans all arguments together: each may be as long as a
//! message, and a call is drawn in one go.

use serde_json::Value as Json;

use super::text::left_note;
use crate::text::head;

/// What remains to be shown.
pub(super) struct Budget {
    bytes: usize,
    lines: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 64 * 1024, lines: 1000 }
    }
}

impl Budget {
    /// As many lines of a text as fit, and a note of the rest.
    pub(super) fn lines(&mut self, text: &str, lines_of: fn(&str) -> Vec<String>) -> (Vec<String>, Option<String>) {
        let (head, mut left) = head(text, self.bytes);
        self.bytes -= head.len();
        let mut lines = lines_of(head);
        let over = lines.split_off(lines.len().min(self.lines));
        if left > 0 {
            left += over.iter().map(|line| line.len() + 1).sum::<usize>();
        }
        self.lines -= lines.len();
        (lines, left_note(over.len(), left))
    }

    /// A value as JSON, and a note if part of it is left out.
    pub(super) fn json(&self, value: &Json) -> (String, Option<String>) {
        let mut left = self.bytes;
        let shown = part(value, &mut left).to_string();
        (shown, (left == 0).then(|| "… and more".to_owned()))
    }
}

fn part(value: &Json, left: &mut usize) -> Json {
    match value {
        Json::String(text) => {
            let (head, _) = head(text, *left);
            *left = left.saturating_sub(text.len());
            Json::String(head.to_owned())
        }
        Json::Array(items) => items.iter().map_while(|item| within(item, left)).collect(),
        Json::Object(fields) => {
            fields.iter().map_while(|(name, field)| Some((name.clone(), within(field, left)?))).collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

/// An element, which costs some bytes itself.
fn within(value: &Json, left: &mut usize) -> Option<Json> {
    *left = left.saturating_sub(8);
    (*left > 0).then(|| part(value, left))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn split(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn all_arguments_have_one_budget() {
        let mut budget = Budget { bytes: 10, lines: 3 };
        assert_eq!(budget.lines("a\nb\n", split), (split("a\nb"), None));
        assert_eq!(budget.lines("c\nd\ne\n", split), (split("c"), Some("… 2 more lines".to_owned())));
        assert_eq!(budget.lines("fgh", split), (vec![], Some("… 3 B more".to_owned())));
    }

    #[test]
    fn a_large_value_is_cut_to_the_remaining_budget() {
        let budget = Budget { bytes: 20, lines: 1 };
        assert_eq!(budget.json(&json!({"a": 1})), (r#"{"a":1}"#.to_owned(), None));
        let (shown, note) = budget.json(&json!(["0123456789abcdef", 2, 3]));
        assert_eq!((shown.as_str(), note.as_deref()), (r#"["0123456789ab"]"#, Some("… and more")));
    }
}
