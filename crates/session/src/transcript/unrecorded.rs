//! The messages that are shown, but not recorded yet.

use crate::id::NodeId;
use crate::index::Row;
use crate::message::{Block, Message};
use crate::model::RowKind;
use crate::text::Text;
use crate::time::Millis;

/// The number of the row of what is shown; no recorded message has it.
const SHOWN: NodeId = NodeId(u32::MAX);

#[derive(Debug)]
pub(super) struct Shown {
    pub(super) message: Box<str>,
    pub(super) text: String,
    pub(super) next: u64,
    pub(super) since: Millis,
}

impl Shown {
    /// Removes a recorded text; `None`: it is another one. A reply may have several texts.
    pub(super) fn without(&self, recorded: &str) -> Option<String> {
        let (shown, recorded) = (self.text.trim_start(), recorded.trim());
        if recorded.is_empty() {
            return None;
        }
        let is_all = recorded.starts_with(shown.trim_end());
        if is_all { Some(String::new()) } else { shown.strip_prefix(recorded).map(|rest| rest.trim_start().to_owned()) }
    }
}

#[derive(Debug, Default)]
pub(super) struct ShownMessages(pub(super) Vec<Shown>);

impl ShownMessages {
    pub(super) fn row(&self) -> Option<Row> {
        let bytes: usize = self.0.iter().map(|shown| shown.text.len()).sum();
        Some(Row {
            id: SHOWN,
            kind: RowKind::Reply,
            start: self.0.first()?.since.into(),
            end: None,
            model: None,
            usage: None,
            tools: Vec::new(),
            branch: None,
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            continues: false,
        })
    }

    /// The messages as one; `None` unless `id` is its number.
    pub(super) fn message(&self, id: NodeId, max_text: usize) -> Option<Message> {
        let row = self.row().filter(|_| id == SHOWN)?;
        let texts = self.0.iter().map(|shown| Block::Text(Text::cut(shown.text.clone(), max_text)));
        Some(Message { id, kind: row.kind, start: row.start, end: None, blocks: texts.collect() })
    }

    /// Drops a recorded text, and the messages before it: they will not be recorded any more. Of several that begin like
    /// it, the last one: the first may be of a stream that was cut, after which the model said it again.
    pub(super) fn recorded(&mut self, text: &str) -> bool {
        let found = self.0.iter().rposition(|shown| shown.without(text).is_some());
        let Some(at) = found else { return false };
        self.0.drain(..at);
        if let Some(first) = self.0.first_mut() {
            first.text = first.without(text).unwrap_or_default();
            if first.text.is_empty() {
                self.0.remove(0);
            }
        }
        true
    }
}
