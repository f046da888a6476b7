//! At which turn and step of its conversation a call was made.

use serde::Serialize;

use super::{Conversation, Index};
use crate::id::Key;
use crate::model::RowKind;

/// The place of a call in its conversation, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Of the session; a subagent has one only.
    pub turn: Option<u32>,
    /// Its number among the calls of that turn.
    pub number: u32,
}

impl Index {
    /// A message without an answer, such as a command of the CLI's own, begins no turn.
    pub(crate) fn step(&self, id: &str) -> Option<Step> {
        let call = *self.tool_by_id.get(&Key::of(id)?)?;
        let node = self.node(self.tool(call)?.node)?;
        let is_side = node.side || self.conversation == Conversation::Agent;
        let mut number = node.tools.iter().filter(|tool| **tool <= call).count();
        let (mut turns, mut has_answer, mut at) = (0, true, node.parent);
        while let Some(node) = at.and_then(|id| self.node(id)) {
            match node.kind {
                RowKind::Prompt | RowKind::Command if !is_side => {
                    turns += u32::from(has_answer);
                    has_answer = false;
                }
                RowKind::Reply => {
                    has_answer = true;
                    number += if turns == 0 { node.tools.len() } else { 0 };
                }
                _ => {}
            }
            at = node.parent;
        }
        Some(Step { turn: (turns > 0).then_some(turns), number: u32::try_from(number).unwrap_or(u32::MAX) })
    }
}
