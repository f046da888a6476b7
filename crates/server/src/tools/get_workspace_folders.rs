//! `getWorkspaceFolders`: the folders that the user works in.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Hints, LenientList, Takes, Tool, Work, parse_reply};

pub(crate) const TOOL: Tool = Tool {
    name: "getWorkspaceFolders",
    description: "Get the folders that the user works in. Answers JSON {success, folders, rootPath} with absolute \
                  paths; rootPath is the main folder.",
    hints: Hints::NONE,
    work: Work::Ask(
        "get_workspace_folders",
        Takes::Fields(&[], |reply| {
            let folders: Folders<'_> = parse_reply(&reply)?;
            Ok(CallToolResult::text(serde_json::to_string(&Folders { success: true, ..folders })?))
        }),
    ),
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Folders<'a> {
    #[serde(default)]
    success: bool,
    #[serde(borrow)]
    folders: LenientList<&'a RawValue>,
    #[serde(borrow, default)]
    root_path: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::answer;

    #[test]
    fn folders_are_plain_paths() {
        let reply = json!({ "folders": ["/p"], "rootPath": "/p" });
        assert_eq!(answer(&TOOL, &json!({}), &reply), [r#"{"success":true,"folders":["/p"],"rootPath":"/p"}"#]);
        assert_eq!(
            answer(&TOOL, &json!({}), &json!({ "folders": {} })),
            [r#"{"success":true,"folders":[],"rootPath":null}"#]
        );
    }
}
