//! `closeAllDiffTabs`: closes the diffs of the client that asks, and only those. The CLI sends it before each prompt.

use serde::Deserialize;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Hints, Takes, Tool, Work, parse_reply};

pub(crate) const TOOL: Tool = Tool {
    name: "closeAllDiffTabs",
    description: "Close every diff that this client opened with openDiff; those still pending count as rejected. Diffs \
                  of other clients and of the user stay. Answers CLOSED_<count>_DIFF_TABS.",
    hints: Hints::NONE,
    work: Work::Ask(
        "close_all_diff_tabs",
        Takes::Fields(&[], |reply| {
            let Reply { count } = parse_reply(&reply)?;
            Ok(CallToolResult::text(format!("CLOSED_{count}_DIFF_TABS")))
        }),
    ),
};

#[derive(Deserialize)]
struct Reply {
    count: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::answer;

    #[test]
    fn tells_how_many_were_closed() {
        assert_eq!(answer(&TOOL, &json!({}), &json!({ "count": 0 })), ["CLOSED_0_DIFF_TABS"]);
        assert_eq!(answer(&TOOL, &json!({}), &json!({ "count": 2 })), ["CLOSED_2_DIFF_TABS"]);
    }
}
