//! `close_tab`: closes a diff, or a file, by name.

use serde::Deserialize;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Field, Hints, Kind, Takes, Tool, Work, parse_reply};

const NAME: Field = Field::new("tab_name", Kind::String)
    .required()
    .described("The tab_name given to openDiff, or the absolute path of a file");

pub(crate) const TOOL: Tool = Tool {
    name: "close_tab",
    description: "Close a diff that openDiff opened, by its tab_name, or an open file, by its absolute path. A pending \
                  diff that is closed counts as rejected; files with unsaved changes stay open. Answers TAB_CLOSED, \
                  also if it was closed before, or \"Tab not found\" if there never was such a tab.",
    hints: Hints::NONE,
    work: Work::Ask(
        "close_tab",
        Takes::Fields(&[NAME], |reply| {
            let Reply { closed } = parse_reply(&reply)?;
            Ok(CallToolResult::text(if closed { "TAB_CLOSED" } else { "Tab not found" }))
        }),
    ),
};

#[derive(Deserialize)]
struct Reply {
    closed: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{answer, ask};

    #[test]
    fn a_tab_that_is_gone_is_no_error() {
        let args = json!({ "tab_name": "✻ [Claude Code] a.txt (1c9983) ⧉" });
        assert_eq!(answer(&TOOL, &args, &json!({ "closed": true })), ["TAB_CLOSED"]);
        assert_eq!(answer(&TOOL, &args, &json!({ "closed": false })), ["Tab not found"]);
    }

    #[test]
    fn wants_a_name() {
        assert_eq!(ask(&TOOL, &json!({})).err().unwrap(), r#"invalid argument "tab_name": missing"#);
    }
}
