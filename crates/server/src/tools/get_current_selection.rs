//! `getCurrentSelection`: what is selected in the active editor. Answered from what the editor told last, so it is
//! prompt while the editor is busy.

use claude_ide_protocol::mcp::CallToolResult;

use super::{Hints, Tool, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "getCurrentSelection",
    description: "Get what the user has selected in the active editor, or where the cursor is. Answers JSON {success, \
                  text, filePath, fileUrl, selection: {start, end, isEmpty}} with lines and UTF-16 columns counted from \
                  0, the end exclusive; or {success: false, message} if no file is active.",
    hints: Hints::NONE,
    work: Work::Answer(|context| CallToolResult::text(context.selections.current())),
};
