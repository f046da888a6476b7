//! `get_all_opened_file_paths`: the paths of the open files, one a line (seed 001).

use serde::Deserialize;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Hints, LenientList, Takes, Tool, Work, parse_reply};

pub(crate) const TOOL: Tool = Tool {
    name: "get_all_opened_file_paths",
    description: "List the files that are open in the user's editor, as absolute paths, one a line. For more than the \
                  paths use getOpenEditors.",
    hints: Hints::NONE,
    work: Work::Ask(
        "get_all_opened_file_paths",
        Takes::Fields(&[], |reply| Ok(CallToolResult::text(parse_reply::<Reply>(&reply)?.paths.0.join("\n")))),
    ),
};

#[derive(Deserialize)]
struct Reply {
    paths: LenientList<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::answer;

    #[test]
    fn paths_come_one_a_line() {
        assert_eq!(answer(&TOOL, &json!({}), &json!({ "paths": ["/a", "/b c"] })), ["/a\n/b c"]);
        assert_eq!(answer(&TOOL, &json!({}), &json!({ "paths": {} })), [""]);
    }
}
