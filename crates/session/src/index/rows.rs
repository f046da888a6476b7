//! Rows of the index, for display.

use super::tree::MAX_BRANCHES;
use super::{Branch, Index, Row, ToolRow};
use crate::id::NodeId;
use crate::model::ToolStatus;

impl Index {
    pub(crate) fn row(&self, id: NodeId) -> Option<Row> {
        let node = self.node(id)?;
        let tools: Vec<_> = node.tools.iter().filter_map(|tool| self.tool(*tool)).collect();
        let results = tools.iter().filter_map(|tool| tool.result).map(|result| u64::from(result.len));
        let bytes = node.lines.iter().map(|line| u64::from(line.len)).chain(results).sum();
        Some(Row {
            id,
            kind: node.kind,
            start: node.start,
            end: node.end,
            model: node.model.clone(),
            usage: node.usage,
            tools: tools
                .iter()
                .map(|tool| ToolRow {
                    name: tool.name.clone(),
                    status: tool.end.map_or(ToolStatus::Running, |end| end.status),
                    start: tool.started,
                    end: tool.end.and_then(|end| end.time),
                    background: tool.background,
                    sidechain: tool.sidechain,
                })
                .collect(),
            branch: self.branch(id),
            bytes,
            continues: false,
        })
    }

    /// A message and its siblings, whose rows change too when it begins.
    pub(crate) fn with_siblings(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let siblings = self.siblings(id);
        // One more than shown: the last row with a branch loses it when the siblings become too many.
        let few = siblings.len() <= MAX_BRANCHES + 1;
        siblings.iter().copied().filter(move |sibling| few || *sibling == id)
    }

    /// The message that a line of the file belongs to.
    pub(crate) fn at_line(&self, number: u32) -> Option<NodeId> {
        let of_tool = || {
            self.tools
                .iter()
                .find(|tool| tool.result.is_some_and(|result| result.number == number))
                .map(|tool| tool.node)
        };
        let node = self.nodes.iter().position(|node| node.lines.iter().any(|line| line.number == number));
        node.map(NodeId::from_index).or_else(of_tool)
    }

    fn branch(&self, id: NodeId) -> Option<Branch> {
        let siblings = self.siblings(id);
        if !(2..=MAX_BRANCHES).contains(&siblings.len()) || self.node(id)?.side {
            return None;
        }
        let number = siblings.iter().position(|sibling| *sibling == id)?;
        Some(Branch { number: u32::try_from(number + 1).ok()?, siblings: siblings.to_vec() })
    }
}
