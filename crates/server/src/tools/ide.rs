//! The tools of the IDE's endpoint. `openFile` and `openDiff` have their own files.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use claude_ide_protocol::mcp::CallToolResult;

use super::{
    Field, Hints, Kind, Listed, Takes, Tool, Touches, UnexpectedReply, Work, blocks, open_diff, open_file, parse_reply,
    verbatim,
};

const PATH: &str = "Path of the file, absolute or relative to the workspace";
const FILE: Field = Field::new("filePath", Kind::Path).required().described(PATH);
const FILE_PATH: Field = Field::new("file_path", Kind::Path).required().described(PATH);
const PATHS: Field = Field::new("file_paths", Kind::Paths)
    .required()
    .described("Paths of the files, absolute or relative to the workspace");
const TAB: Field = Field::new("tab_name", Kind::String)
    .required()
    .described("The tab_name given to openDiff, or the absolute path of a file");
const URI: Field = Field::new("uri", Kind::Name).described("file:// URI of the file; leave it out for all files");
const CODE: &[Field] = &[
    Field::new("code", Kind::String).required().described("The Python code to run; IPython's % and ! lines work too"),
    Field::new("notebook", Kind::Path)
        .described("Path of an .ipynb file whose kernel to use; by default that of the workspace"),
    Field::new("restart", Kind::Flag(false)).described("Begin with a fresh kernel: forgets all variables"),
];

/// In the order in which clients see them.
pub(crate) const TOOLS: [&Tool; 15] = [
    &open_file::TOOL,
    // The JetBrains protocol.
    &Tool {
        name: "open_files",
        description: "Open several files in the user's editor, without moving the focus. Use it to lay out the files of a \
                      task for the user. Answers JSON {opened_files} with the paths that could be opened.",
        hints: Hints::NONE,
        work: Work::Ask("open_files", Takes::Fields(&[PATHS], |reply| json_of(&parse_reply::<Opened<'_>>(&reply)?))),
    },
    &open_diff::TOOL,
    &Tool {
        name: "close_tab",
        description: "Close a diff that openDiff opened, by its tab_name, or an open file, by its absolute path. A pending \
                      diff that is closed counts as rejected; files with unsaved changes stay open. Answers TAB_CLOSED, \
                      also if it was closed before, or \"Tab not found\" if there never was such a tab.",
        hints: Hints::NONE,
        work: Work::Ask(
            "close_tab",
            Takes::Fields(&[TAB], |reply| {
                let Tab { closed } = parse_reply(&reply)?;
                Ok(CallToolResult::text(if closed { "TAB_CLOSED" } else { "Tab not found" }))
            }),
        ),
    },
    // Closes only the diffs of the calling client. The CLI sends it before each prompt.
    &Tool {
        name: "closeAllDiffTabs",
        description: "Close every diff that this client opened with openDiff; those still pending count as rejected. Diffs \
                      of other clients and of the user stay. Answers CLOSED_<count>_DIFF_TABS.",
        hints: Hints::NONE,
        work: Work::Ask(
            "close_all_diff_tabs",
            Takes::Fields(&[], |reply| {
                let Closed { count } = parse_reply(&reply)?;
                Ok(CallToolResult::text(format!("CLOSED_{count}_DIFF_TABS")))
            }),
        ),
    },
    // Answered from the cached selection, so it is prompt while the editor is busy.
    &Tool {
        name: "getCurrentSelection",
        description: "Get what the user has selected in the active editor, or where the cursor is. Answers JSON {success, \
                      text, filePath, fileUrl, selection: {start, end, isEmpty}} with lines and UTF-16 columns counted from \
                      0, the end exclusive; or {success: false, message} if no file is active.",
        hints: Hints::NONE,
        work: Work::Answer(|context| CallToolResult::text(context.selections.current(context.mapped))),
    },
    &Tool {
        name: "getLatestSelection",
        description: "Get the most recent selection or cursor position of the user in any file, even if the user has moved \
                      to a terminal since. Answers the same JSON as getCurrentSelection.",
        hints: Hints::NONE,
        work: Work::Answer(|context| CallToolResult::text(context.selections.latest(context.mapped))),
    },
    &Tool {
        name: "getOpenEditors",
        description: "List the files that are open in the user's editor. Answers JSON {tabs: [{uri, label, fileName, \
                      languageId, lineCount, isActive, isDirty, isUntitled, …}]}; isDirty tells of unsaved changes.",
        hints: Hints::NONE,
        work: Work::Ask("get_open_editors", Takes::Fields(&[], |reply| json_of(&parse_reply::<Editors<'_>>(&reply)?))),
    },
    // The JetBrains protocol.
    &Tool {
        name: "get_all_opened_file_paths",
        description: "List the files that are open in the user's editor, as absolute paths, one a line. For more than the \
                      paths use getOpenEditors.",
        hints: Hints::NONE,
        work: Work::Ask(
            "get_all_opened_file_paths",
            Takes::Fields(&[], |reply| Ok(CallToolResult::text(parse_reply::<Paths>(&reply)?.paths.join("\n")))),
        ),
    },
    &Tool {
        name: "getWorkspaceFolders",
        description: "Get the folders that the user works in. Answers JSON {success, folders, rootPath} with absolute \
                      paths; rootPath is the main folder.",
        hints: Hints::NONE,
        work: Work::Ask(
            "get_workspace_folders",
            Takes::Fields(&[], |reply| {
                let folders: Folders<'_> = parse_reply(&reply)?;
                json_of(&Folders { success: true, ..folders })
            }),
        ),
    },
    // The CLI asks before and after each edit and compares the results. URIs are not encoded in either direction
    // (`file://` and the raw path): it compares them as text.
    &Tool {
        name: "getDiagnostics",
        description: "Get the errors, warnings and hints that the user's editor shows, of one file or of all. Use it after \
                      an edit to check that it introduced no error. Answers JSON [{uri, diagnostics: [{message, severity, \
                      range, source, code}]}] with severity Error, Warning, Info or Hint, and lines counted from 0.",
        hints: Hints::NONE,
        work: Work::Ask(
            "get_diagnostics",
            Takes::Fields(&[URI], |reply| json_of(&parse_reply::<Vec<FileDiagnostics<'_>>>(&reply)?)),
        ),
    },
    &Tool {
        name: "checkDocumentDirty",
        description: "Check whether a file has unsaved changes in the user's editor. Use it before changing a file on disk. \
                      Answers JSON {success, filePath, isDirty, isUntitled}, or {success: false, message} if it is not open.",
        hints: Hints::NONE,
        work: Work::Ask("check_document_dirty", Takes::Fields(&[FILE], verbatim)),
    },
    &Tool {
        name: "saveDocument",
        description: "Save the unsaved changes of a file that is open in the user's editor. Answers JSON {success, filePath, \
                      saved, message}; success is false if the file is not open or could not be written.",
        hints: Hints::NONE,
        work: Work::Ask("save_document", Takes::Fields(&[FILE], verbatim)),
    },
    // The JetBrains protocol.
    &Tool {
        name: "reformat_file",
        description: "Format a file with the formatter that the user's editor uses for it. Use it after an edit instead of \
                      guessing the project's style. Answers OK, \"File not found\", or an error if the file has no formatter.",
        hints: Hints::NONE,
        work: Work::Ask("reformat_file", Takes::Fields(&[FILE_PATH], reformatted)),
    },
    // Runs code in a Jupyter kernel that keeps its state (the VS Code document).
    &Tool {
        name: "executeCode",
        description: "Run Python code in the Jupyter kernel of the user's workspace, or of a notebook. Variables, imports and \
                      the current folder stay for later calls. Answers what was printed, the value of the last expression, \
                      figures as images, and errors with their traceback; long output is cut in the middle. It cannot ask the \
                      user for input. The user sees code and output.",
        hints: Hints::new("Run code in the notebook's kernel", Touches::World, Listed::WhenAble)
            .found_by("run python code jupyter kernel notebook plot"),
        // The user may be asked first, and the code may run for hours.
        work: Work::AskUser("execute_code", Takes::Fields(CODE, |reply| blocks::parse(&reply))),
    },
];

#[derive(Serialize, Deserialize)]
struct Opened<'a> {
    #[serde(borrow)]
    opened_files: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tab {
    closed: bool,
}

#[derive(Deserialize)]
struct Closed {
    count: u64,
}

#[derive(Serialize, Deserialize)]
struct Editors<'a> {
    #[serde(borrow)]
    tabs: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Paths {
    paths: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Folders<'a> {
    #[serde(default)]
    success: bool,
    #[serde(borrow)]
    folders: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    root_path: Option<&'a RawValue>,
}

#[derive(Serialize, Deserialize)]
struct FileDiagnostics<'a> {
    #[serde(borrow)]
    uri: &'a RawValue,
    #[serde(borrow)]
    diagnostics: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Formatted {
    outcome: Outcome,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Ok,
    NotFound,
    NoFormatter,
}

fn reformatted(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    let Formatted { outcome, message } = parse_reply(&reply)?;
    Ok(match outcome {
        Outcome::Ok => CallToolResult::text("OK"),
        Outcome::NotFound => CallToolResult::text("File not found"),
        Outcome::NoFormatter => {
            CallToolResult::failure(message.unwrap_or_else(|| "no formatter is set up for this file".to_owned()))
        }
    })
}

fn json_of(reply: &impl Serialize) -> Result<CallToolResult, UnexpectedReply> {
    Ok(CallToolResult::text(serde_json::to_string(reply)?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{ask, shaped, texts};

    fn tool(name: &str) -> &'static Tool {
        TOOLS.into_iter().find(|tool| tool.name == name).unwrap()
    }

    #[test]
    fn the_editor_is_asked_with_checked_arguments() {
        for (name, args, asked) in [
            ("getDiagnostics", json!({ "uri": "file:///with space/ü" }), json!({ "uri": "file:///with space/ü" })),
            ("getDiagnostics", json!({ "uri": null }), json!({})),
            ("getDiagnostics", json!({ "uri": "" }), json!({})),
            ("open_files", json!({ "file_paths": ["b", "/a"] }), json!({ "file_paths": ["/project/b", "/a"] })),
            ("saveDocument", json!({ "filePath": "a" }), json!({ "filePath": "/project/a" })),
            ("executeCode", json!({ "code": "" }), json!({ "code": "", "restart": false })),
            (
                "executeCode",
                json!({ "code": "1+1", "notebook": "a.ipynb" }),
                json!({ "code": "1+1", "notebook": "/project/a.ipynb", "restart": false }),
            ),
        ] {
            assert_eq!(Value::from(ask(tool(name), &args).unwrap().args), asked, "{name} {args}");
        }
    }

    #[test]
    fn an_error_names_the_bad_argument() {
        for (name, args, error) in [
            ("checkDocumentDirty", json!({ "filePath": "" }), r#""filePath": must not be empty"#),
            ("close_tab", json!({}), r#""tab_name": missing"#),
            ("openDiff", json!({ "old_file_path": "/a" }), r#""new_file_contents": missing"#),
            ("open_files", json!({ "file_paths": ["/a", 5] }), r#""file_paths[1]": expected a string"#),
            ("executeCode", json!({ "code": 5 }), r#""code": expected a string, got the number 5"#),
        ] {
            let found = ask(tool(name), &args).err().unwrap();
            assert!(found.contains(error), "{name}: {found}");
        }
    }

    #[test]
    fn replies_go_out_in_the_words_of_each_tool() {
        let (file, path) = (json!({ "filePath": "/a" }), json!({ "file_path": "/a" }));
        let (tab, paths) = (json!({ "tab_name": "✻ [Claude Code] a.txt (1c9983) ⧉" }), json!({ "file_paths": ["/a"] }));
        let dirty = r#"{"filePath":"/a","isDirty":true,"isUntitled":false,"success":true}"#;
        let saved = r#"{"filePath":"/a","message":"Document saved","saved":true,"success":true}"#;
        for (name, args, reply, text) in [
            ("checkDocumentDirty", &file, dirty, dirty),
            ("saveDocument", &file, saved, saved),
            ("closeAllDiffTabs", &json!({}), r#"{"count":0}"#, "CLOSED_0_DIFF_TABS"),
            ("closeAllDiffTabs", &json!({}), r#"{"count":2}"#, "CLOSED_2_DIFF_TABS"),
            ("close_tab", &tab, r#"{"closed":true}"#, "TAB_CLOSED"),
            ("close_tab", &tab, r#"{"closed":false}"#, "Tab not found"),
            ("get_all_opened_file_paths", &json!({}), r#"{"paths":["/a","/b c"]}"#, "/a\n/b c"),
            ("get_all_opened_file_paths", &json!({}), r#"{"paths":[]}"#, ""),
            ("getDiagnostics", &json!({}), "[]", "[]"),
            ("getOpenEditors", &json!({}), r#"{"tabs":[{"isActive":true}]}"#, r#"{"tabs":[{"isActive":true}]}"#),
            (
                "getWorkspaceFolders",
                &json!({}),
                r#"{"folders":["/p"],"rootPath":"/p"}"#,
                r#"{"success":true,"folders":["/p"],"rootPath":"/p"}"#,
            ),
            (
                "getWorkspaceFolders",
                &json!({}),
                r#"{"folders":[]}"#,
                r#"{"success":true,"folders":[],"rootPath":null}"#,
            ),
            ("open_files", &paths, r#"{"opened_files":["/a"]}"#, r#"{"opened_files":["/a"]}"#),
            ("reformat_file", &path, r#"{"outcome":"ok"}"#, "OK"),
            ("reformat_file", &path, r#"{"outcome":"not_found"}"#, "File not found"),
        ] {
            let reply = serde_json::from_str(reply).unwrap();
            let result = shaped(tool(name), args, &reply).unwrap();
            assert_eq!((texts(&result), result.is_error), (vec![text.to_owned()], false), "{name} {reply}");
        }
        let failed = shaped(tool("reformat_file"), &path, &json!({ "outcome": "no_formatter" })).unwrap();
        assert!(failed.is_error);
    }

    #[test]
    fn the_result_of_code_goes_out_verbatim() {
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        let text = json!({ "type": "text", "text": "ü\n" });
        let reply = json!({ "content": [text, image], "is_error": true });
        let result = shaped(tool("executeCode"), &json!({ "code": "x" }), &reply).unwrap();
        assert_eq!(serde_json::to_value(result).unwrap(), json!({ "content": [text, image], "isError": true }));
    }
}
