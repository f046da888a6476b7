//! `getLatestSelection`: what was selected last, even if the user has gone elsewhere since.

use claude_ide_protocol::mcp::CallToolResult;

use super::{Hints, Tool, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "getLatestSelection",
    description: "Get the most recent selection or cursor position of the user in any file, even if the user has moved \
                  to a terminal since. Answers the same JSON as getCurrentSelection.",
    hints: Hints::NONE,
    work: Work::Answer(|context| CallToolResult::text(context.selections.latest())),
};
