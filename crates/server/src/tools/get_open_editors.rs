//! `getOpenEditors`: the open files, as tabs.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use claude_ide_protocol::mcp::CallToolResult;

use super::{Hints, LenientList, Takes, Tool, Work, parse_reply};

pub(crate) const TOOL: Tool = Tool {
    name: "getOpenEditors",
    description: "List the files that are open in the user's editor. Answers JSON {tabs: [{uri, label, fileName, \
                  languageId, lineCount, isActive, isDirty, isUntitled, …}]}; isDirty tells of unsaved changes.",
    hints: Hints::NONE,
    work: Work::Ask(
        "get_open_editors",
        Takes::Fields(&[], |reply| {
            Ok(CallToolResult::text(serde_json::to_string(&parse_reply::<Editors<'_>>(&reply)?)?))
        }),
    ),
};

#[derive(Serialize, Deserialize)]
struct Editors<'a> {
    #[serde(borrow)]
    tabs: LenientList<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::answer;

    #[test]
    fn tabs_are_passed_on_and_none_are_an_empty_list() {
        let tabs = json!({ "tabs": [{ "uri": "file:///a b", "isActive": true }] });
        assert_eq!(answer(&TOOL, &json!({}), &tabs), [tabs.to_string()]);
        assert_eq!(answer(&TOOL, &json!({}), &json!({ "tabs": {} })), [r#"{"tabs":[]}"#]);
    }
}
