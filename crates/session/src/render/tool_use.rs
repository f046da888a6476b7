//! A tool call, as a message has it.

use serde_json::Value as Json;

use crate::message::{Block, ToolResult};
use crate::model::ToolStatus;
use crate::time::Millis;
use crate::tool_result::{FileChange, Outcome};

/// A call in a message.
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) input: &'a Json,
    pub(super) status: ToolStatus,
    pub(super) start: Option<Millis>,
    pub(super) end: Option<Millis>,
    pub(super) background: bool,
    pub(super) inner: bool,
    pub(super) result: Option<&'a ToolResult>,
}

impl<'a> Call<'a> {
    /// The call of a block; `None` for other blocks.
    pub(super) fn of(block: &'a Block) -> Option<Self> {
        let Block::ToolUse { id, name, input, status, start, end, background, inner, result } = block else {
            return None;
        };
        Some(Self {
            id,
            name,
            input: input.read(),
            status: *status,
            start: *start,
            end: *end,
            background: *background,
            inner: *inner,
            result: result.as_deref(),
        })
    }

    /// The text of an argument (`edits/1/old_string`).
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let text = match name.split_once('/') {
            None => self.input.get(name),
            Some(_) => self.edit_text(name),
        };
        text?.as_str()
    }

    /// A text within a list of edits, which count from 1.
    fn edit_text(&self, name: &str) -> Option<&Json> {
        let mut parts = name.split('/');
        let (list, at, text) = (parts.next()?, parts.next()?.parse::<usize>().ok()?, parts.next()?);
        self.input.get(list)?.get(at.checked_sub(1)?)?.get(text)
    }

    /// The file change that the CLI recorded.
    pub(super) fn change(&self) -> Option<&'a FileChange> {
        match &self.result?.outcome {
            Some(Outcome::FileChange(change)) => Some(change),
            _ => None,
        }
    }

    /// Whether it changes a file, and so is shown as a diff.
    pub(super) fn is_edit(&self) -> bool {
        let has = |name| self.input.get(name).is_some_and(Json::is_string);
        self.change().is_some()
            || has("file_path")
                && (has("content")
                    || has("new_string")
                    || self.input.get("edits").is_some_and(|edits| edits.is_array() || edits.is_object()))
    }

    /// Its arguments, by name.
    pub(super) fn arguments(&self) -> Vec<(String, &Json)> {
        let mut arguments: Vec<(String, &Json)> = match self.input {
            Json::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Json::Array(items) => (1..).zip(items).map(|(at, value): (usize, _)| (at.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        arguments.retain(|(_, value)| !value.is_null());
        arguments.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        arguments
    }
}
