//! Our hooks in a settings file of the CLI, which is the user's: all of its other text stays byte for byte.
//!
//! Invariant: a text that gets hooks and loses them again is the text before. What was made for them goes with them: a list or an
//! object is ours if blanks precede its first item, since items put into an empty one of the user's follow its bracket directly.

use std::ops::Range;

use serde_json::{Map, Value};

/// Tools of the server that our hooks call begin so.
const PREFIX: &str = "hook_";

/// Why settings stay as they are.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// It is no JSON.
    #[error("it is no valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// `hooks` is no object of lists, or the whole is no object.
    #[error("its hooks have another form")]
    Form,
}

/// The settings with these hooks, by event, in place of others of ours; without a text those of a new file. `None`: nothing is left.
///
/// # Errors
/// [`SettingsError`] if the text cannot be changed.
pub fn with_hooks(text: Option<&str>, hooks: &Map<String, Value>) -> Result<Option<String>, SettingsError> {
    let mut text = match text {
        Some(text) => without(text.to_owned())?,
        None => None,
    };
    for (event, entry) in hooks {
        text = Some(match text {
            Some(text) => add(&text, event, entry)?,
            None => format!("{}\n", pretty(&nested(&["hooks", event], entry), "")),
        });
    }
    Ok(text)
}

fn is_ours(entry: &Value) -> bool {
    let calls_us = |hook: &Value| {
        let is = |name: &str, value: &str| hook.get(name).and_then(Value::as_str) == Some(value);
        let tool = hook.get("tool").and_then(Value::as_str).unwrap_or_default();
        is("type", "mcp_tool") && is("server", "ide") && tool.starts_with(PREFIX)
    };
    let hooks = entry.get("hooks").and_then(Value::as_array);
    hooks.is_some_and(|hooks| !hooks.is_empty() && hooks.iter().all(calls_us))
}

/// The text without our hooks; `None`: nothing is left of it.
fn without(mut text: String) -> Result<Option<String>, SettingsError> {
    let root: Value = serde_json::from_str(&text)?;
    let hooks = match root.as_object().ok_or(SettingsError::Form)?.get("hooks") {
        None => return Ok(Some(text)),
        Some(hooks) => hooks.as_object().ok_or(SettingsError::Form)?,
    };
    for (event, entries) in hooks {
        let ours =
            entries.as_array().ok_or(SettingsError::Form)?.iter().enumerate().filter(|(_, entry)| is_ours(entry));
        // From the end: the places of those before stay.
        for (at, _) in ours.collect::<Vec<_>>().into_iter().rev() {
            match remove(&text, event, at)? {
                Some(less) => text = less,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(text))
}

/// Removes an entry, and what is empty without it and was made for it.
fn remove(text: &str, event: &str, at: usize) -> Result<Option<String>, SettingsError> {
    let root = Container::at(text, text.len().saturating_sub(text.trim_start().len())).ok_or(SettingsError::Form)?;
    let path = || {
        let (hooks_at, hooks) = root.member(text, "hooks")?;
        let hooks = Container::at(text, hooks.start)?;
        let (event_at, entries) = hooks.member(text, event)?;
        let entries = Container::at(text, entries.start)?;
        Some([(entries, at), (hooks, event_at), (root.clone(), hooks_at)])
    };
    for (container, at) in path().ok_or(SettingsError::Form)? {
        let item = container.items.get(at).ok_or(SettingsError::Form)?;
        let before = at.checked_sub(1).and_then(|before| container.items.get(before));
        let cut = match (before, container.items.get(at + 1)) {
            (Some(before), _) => before.end..item.end,
            (None, Some(after)) => item.start..after.start,
            (None, None) if item.start > container.start + 1 => continue,
            (None, None) => item.clone(),
        };
        return Ok(Some(joined(text, &cut, "")));
    }
    Ok(None)
}

/// Adds an entry to an event's list.
fn add(text: &str, event: &str, entry: &Value) -> Result<String, SettingsError> {
    let root = Container::at(text, text.len().saturating_sub(text.trim_start().len())).ok_or(SettingsError::Form)?;
    let Some((_, hooks)) = root.member(text, "hooks") else {
        return Ok(root.put(text, Some("hooks"), &nested(&[event], entry)));
    };
    let hooks = Container::at(text, hooks.start).filter(|hooks| hooks.is_object).ok_or(SettingsError::Form)?;
    let Some((_, entries)) = hooks.member(text, event) else {
        return Ok(hooks.put(text, Some(event), &nested(&[], entry)));
    };
    let entries = Container::at(text, entries.start).filter(|entries| !entries.is_object).ok_or(SettingsError::Form)?;
    Ok(entries.put(text, None, entry))
}

/// A list of the entry, in objects of these names.
fn nested(names: &[&str], entry: &Value) -> Value {
    names.iter().rev().fold(Value::Array(vec![entry.clone()]), |inner, name| {
        Value::Object(std::iter::once(((*name).to_owned(), inner)).collect())
    })
}

fn joined(text: &str, cut: &Range<usize>, put: &str) -> String {
    let part = |range: Option<&str>| range.unwrap_or_default().to_owned();
    part(text.get(..cut.start)) + put + &part(text.get(cut.end..))
}

/// JSON with a blank after each bracket, indented below `indent`.
fn pretty(value: &Value, indent: &str) -> String {
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    json.replace('\n', &format!("\n{indent}"))
}

/// An object or a list in a valid text.
#[derive(Clone)]
struct Container {
    start: usize,
    is_object: bool,
    /// Its members, or its elements.
    items: Vec<Range<usize>>,
}

impl Container {
    /// The one whose bracket is there.
    fn at(text: &str, start: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_object = match bytes.get(start)? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        let (mut items, mut depth, mut at) = (Vec::new(), 0_usize, start + 1);
        let mut item: Option<Range<usize>> = None;
        while let Some(byte) = bytes.get(at) {
            let from = at;
            at += 1;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => continue,
                b'"' => at = end_of_string(bytes, at),
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => {
                    items.extend(item);
                    return Some(Self { start, is_object, items });
                }
                b'}' | b']' => depth -= 1,
                b',' if depth == 0 => {
                    items.extend(item.take());
                    continue;
                }
                _ => {}
            }
            item = Some(item.map_or(from, |item| item.start)..at);
        }
        None
    }

    /// The last member of that name, which is the one that counts: its index, and its value.
    fn member(&self, text: &str, name: &str) -> Option<(usize, Range<usize>)> {
        self.items.iter().enumerate().rev().find_map(|(at, item)| {
            let end = end_of_string(text.as_bytes(), item.start + 1);
            let key: String = serde_json::from_str(text.get(item.start..end)?).ok()?;
            let colon = end + text.get(end..)?.find(':')? + 1;
            let value = colon + text.get(colon..)?.len() - text.get(colon..)?.trim_start().len();
            (key == name).then_some((at, value..item.end))
        })
    }

    /// The text with one more item at the end, in the form that the others have.
    fn put(&self, text: &str, name: Option<&str>, value: &Value) -> String {
        let blanks = self.items.first().and_then(|first| text.get(self.start + 1..first.start));
        let indent = blanks.or(Some("\n  ")).and_then(|blanks| blanks.rsplit_once('\n')).map(|(_, indent)| indent);
        let value = match indent {
            Some(indent) => pretty(value, indent),
            None => pretty(value, "").split('\n').map(str::trim_start).collect::<Vec<_>>().join(" "),
        };
        let name = name.map(|name| format!("{}: ", Value::from(name))).unwrap_or_default();
        match self.items.last() {
            Some(last) => joined(text, &(last.end..last.end), &format!(",{}{name}{value}", blanks.unwrap_or_default())),
            None => joined(text, &(self.start + 1..self.start + 1), &format!("{name}{value}")),
        }
    }
}

/// After the closing quote of a string whose text begins there.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn has_hooks(text: &str) -> bool {
        with_hooks(Some(text), &Map::new()).unwrap().as_deref() != Some(text)
    }

    fn ours() -> Map<String, Value> {
        let entry = |tool: &str| json!({"hooks":[{"type":"mcp_tool","server":"ide","tool":tool,"input":{"a":"${b}"}}]});
        let events = json!({"PermissionRequest": entry("hook_permission"), "Elicitation": entry("hook_form")});
        events.as_object().unwrap().clone()
    }

    #[test]
    fn a_new_file_has_our_hooks_only_and_goes_with_them() {
        let text = with_hooks(None, &ours()).unwrap().unwrap();
        assert!(has_hooks(&text) && text.ends_with("}\n"));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["hooks"].as_object().unwrap().len(), 2);
        assert_eq!(with_hooks(Some(&text), &Map::new()).unwrap(), None);
    }

    #[test]
    fn all_of_the_users_text_stays() {
        let theirs = r#"{"hooks":[{"type":"mcp_tool","server":"ide","tool":"theirs"}]}"#;
        let list = |elements: &str| {
            format!("{{\n\t\"hooks\" : {{ \"PermissionRequest\":{elements} , \"Stop\": [ ]}},\r\n \"a\":1}}\n")
        };
        for before in [
            "{}".to_owned(),
            " { } ".to_owned(),
            "{\n}\n".to_owned(),
            r#"{"a":"}]{[\",:","b":[1,{"hooks":{}}]}"#.to_owned(),
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": []\n    }\n}\n".to_owned(),
            r#"{"hooks":{}}"#.to_owned(),
            r#"{ "hooks": { } }"#.to_owned(),
            r#"{"hooks":{"PermissionRequest":[]}}"#.to_owned(),
            r#"{"\u0068ooks":{"Stop":[{"hooks":[]}]}}"#.to_owned(),
            r#"{"hooks":{"Stop":[]},"hooks":{"Elicitation":[ ]}}"#.to_owned(),
            list("[]"),
            list("[ ]"),
            list(theirs).replace(theirs, &format!("[{theirs}]")),
            list(&format!("[\n  {theirs},\n  {theirs}\n]")),
        ] {
            let with = with_hooks(Some(&before), &ours()).unwrap().unwrap();
            assert!(has_hooks(&with) && !has_hooks(&before), "{with}");
            let (mut settings, was): (Value, Value) =
                (serde_json::from_str(&with).unwrap(), serde_json::from_str(&before).unwrap());
            for (event, entry) in ours() {
                let last = settings["hooks"][&event].as_array_mut().unwrap().pop();
                assert_eq!(last, Some(entry), "{with}");
            }
            for (name, value) in was.as_object().unwrap() {
                if name != "hooks" {
                    assert_eq!(&settings[name], value);
                }
            }
            assert_eq!(with_hooks(Some(&with), &ours()).unwrap().as_ref(), Some(&with), "twice is once");
            assert_eq!(with_hooks(Some(&with), &Map::new()).unwrap().as_ref(), Some(&before), "{with}");
        }
    }

    #[test]
    fn hooks_that_were_moved_or_written_anew_are_found() {
        let with = with_hooks(Some(r#"{"hooks":{"Elicitation":[{"hooks":[]}]},"z":[]}"#), &ours()).unwrap().unwrap();
        let anew = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&with).unwrap()).unwrap();
        let left = with_hooks(Some(&anew), &Map::new()).unwrap().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&left).unwrap(),
            json!({"hooks":{"Elicitation":[{"hooks":[]}]},"z":[]})
        );
        let first = r#"{"hooks":{"Stop":[{"hooks":[{"type":"mcp_tool","server":"ide","tool":"hook_x"}]}, 7]}}"#;
        assert_eq!(with_hooks(Some(first), &Map::new()).unwrap().unwrap(), r#"{"hooks":{"Stop":[7]}}"#);
    }

    #[test]
    fn what_cannot_be_changed_stays() {
        for text in ["", "[]", "7", "{", "// a\n{}", r#"{"hooks":7}"#, r#"{"hooks":{"Elicitation":{}}}"#] {
            assert!(with_hooks(Some(text), &ours()).is_err(), "{text}");
        }
    }
}
