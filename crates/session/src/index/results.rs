//! Where the results of tool calls lie.

use super::{Index, LineRef};
use crate::time::Millis;

impl Index {
    /// Lines at `offset` or later with results of calls that ended at `since` or later, in the file's order.
    pub(crate) fn results_from(&self, offset: u64, since: Millis) -> Vec<LineRef> {
        let is_late = |time: Option<Millis>| time.is_some_and(|time| time >= since);
        let late = self.tools.iter().filter(|tool| is_late(tool.end.and_then(|end| end.time).or(tool.started)));
        let mut found: Vec<_> = late.filter_map(|tool| tool.result).filter(|at| at.offset >= offset).collect();
        found.sort_unstable_by_key(|at| at.offset);
        found.dedup();
        found
    }
}
