//! Where the results of tool calls lie.

use super::{Index, LineRef};
use crate::model::ToolStatus;
use crate::time::Millis;

/// The result of a finished call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultAt {
    pub(crate) at: LineRef,
    /// When the call began.
    pub(crate) started: Option<Millis>,
    /// When the call ended.
    pub(crate) ended: Option<Millis>,
}

impl Index {
    /// Results at `offset` or later of calls that ran and ended at `since` or later, in the file's order, one a line.
    pub(crate) fn results_from(&self, offset: u64, since: Millis) -> Vec<ResultAt> {
        let mut found: Vec<_> = self
            .tools
            .iter()
            .filter_map(|tool| {
                let end = tool.end.filter(|end| end.status == ToolStatus::Done)?;
                Some(ResultAt { at: tool.result?, started: tool.started, ended: end.time })
            })
            .filter(|result| result.ended.or(result.started).is_some_and(|time| time >= since))
            .filter(|result| result.at.offset >= offset)
            .collect();
        found.sort_unstable_by_key(|result| result.at.offset);
        found.dedup_by_key(|result| result.at.offset);
        found
    }
}
