//! The tools of the agents' endpoint, one row each: a model's queries and changes through the editor and its language
//! servers.
//!
//! Each answers one text, made by the editor: see [`said`].

use std::collections::BTreeSet;

use claude_ide_protocol::{SYMBOL_KINDS, mcp::CallToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Field, Hints,
    Kind::{Choice, Flag, Id, Index, Line, Name, Path, Place, Text, Word},
    Listed::{Always, WhenAble, WhenAbleInPart, WhenServed},
    Takes, Tool,
    Touches::{Files, Nothing, World},
    UnexpectedReply, Work, blocks, parse_reply,
};

/// The file of a tool.
const FILE: Field = Field::new("path", Place).required();
const NOTEBOOK: Field = Field::new("path", Path).required();
const SYMBOL: Field = Field::new("symbol", Name).required();
const LINE: Field = Field::new("line", Line);
/// Requests the rest of a long answer.
const CURSOR: Field = Field::new("cursor", Id);
const COMMENT: Field = Field::new("id", Index).required();
const LINES: Field = Field::new("text", Text).required().described("Lines with their indent");

/// The tools of the agents' endpoint, in the order in which clients see them.
pub(crate) const TOOLS: &[&Tool] = &[
    &Tool {
        name: "definition",
        description: "Find where a symbol is defined or declared, or where its type is: exact, where text search guesses.",
        hints: Hints::new(
            "Go to definition",
            Nothing,
            WhenServed(&["textDocument/definition", "textDocument/declaration", "textDocument/typeDefinition"]),
        )
        .always_loaded(),
        work: ask(
            "nvim.definition",
            &[FILE, SYMBOL, LINE, Field::new("kind", Choice(&["definition", "declaration", "type"], None)), CURSOR],
        ),
    },
    &Tool {
        name: "references",
        description: "Find every use of a symbol in the project, callers too: exact, where text search also finds namesakes.",
        hints: Hints::new("Find references", Nothing, WhenServed(&["textDocument/references"]))
            .found_by("usages")
            .always_loaded(),
        work: ask("nvim.references", &[FILE, SYMBOL, LINE, Field::new("include_declaration", Flag(true)), CURSOR]),
    },
    &Tool {
        name: "symbols",
        description: "Find classes, functions, methods, variables of the whole project by name, if only in part.",
        hints: Hints::new("Search symbols", Nothing, WhenServed(&["workspace/symbol"])),
        work: ask(
            "nvim.symbols",
            &[
                Field::new("query", Name).required(),
                Field::new("kind", Word(&SYMBOL_KINDS)).described("Only these, e.g. class"),
                Field::new("path", Path).described("Only below this folder or in this file"),
                CURSOR,
            ],
        ),
    },
    &Tool {
        name: "outline",
        description: "List the classes, functions and methods of one file as a tree with their lines, without reading it.",
        hints: Hints::new("Outline of a file", Nothing, Always).found_by("structure"),
        work: ask("nvim.outline", &[FILE, CURSOR]),
    },
    &Tool {
        name: "hover",
        description: "Get the type, signature and documentation of a symbol without reading its file.",
        hints: Hints::new("Type and documentation", Nothing, WhenServed(&["textDocument/hover"])),
        work: ask("nvim.hover", &[FILE, SYMBOL, LINE]),
    },
    &Tool {
        name: "implementations",
        description: "Find what implements an interface, trait or abstract method, or overrides a method.",
        hints: Hints::new("Find implementations", Nothing, WhenServed(&["textDocument/implementation"])),
        work: ask("nvim.implementations", &[FILE, SYMBOL, LINE, CURSOR]),
    },
    &Tool {
        name: "call_hierarchy",
        description: "Find the functions that call a function (incoming, the default), or those that it calls (outgoing).",
        hints: Hints::new("Call hierarchy", Nothing, WhenServed(&["textDocument/prepareCallHierarchy"])),
        work: ask(
            "nvim.call_hierarchy",
            &[FILE, SYMBOL, LINE, Field::new("direction", Choice(&["incoming", "outgoing"], Some("incoming"))), CURSOR],
        ),
    },
    &Tool {
        name: "type_hierarchy",
        description: "Find the subtypes (the default) or supertypes of a class or interface.",
        hints: Hints::new("Type hierarchy", Nothing, WhenServed(&["textDocument/prepareTypeHierarchy"]))
            .found_by("inheritance"),
        work: ask(
            "nvim.type_hierarchy",
            &[
                FILE,
                SYMBOL,
                LINE,
                Field::new("direction", Choice(&["supertypes", "subtypes"], Some("subtypes"))),
                CURSOR,
            ],
        ),
    },
    &Tool {
        name: "diagnostics",
        description: "Get the errors and warnings of one file, or of all known; right after an edit it waits for the new ones.",
        hints: Hints::new("Diagnostics", Nothing, Always).found_by("lint problems"),
        work: ask(
            "nvim.diagnostics",
            &[
                Field::new("path", Place),
                Field::new("severity", Choice(&["error", "warning", "info", "hint"], Some("hint")))
                    .described("The least"),
                CURSOR,
            ],
        ),
    },
    &Tool {
        name: "open_buffers",
        description: "List the files that the user has open: which they look at and where, unsaved changes, error counts.",
        hints: Hints::new("Open buffers", Nothing, Always).found_by("tabs"),
        work: ask("nvim.open_buffers", &[CURSOR]),
    },
    &Tool {
        name: "quickfix",
        description: "Read the user's quickfix or location list: what their last build, tests or grep found.",
        hints: Hints::new("Quickfix list", Nothing, Always),
        work: ask("nvim.quickfix", &[Field::new("list", Choice(&["quickfix", "location"], Some("quickfix"))), CURSOR]),
    },
    &Tool {
        name: "comments",
        description: "List the user's comments on the code, and the answers.",
        hints: Hints::new("Review comments", Nothing, Always),
        work: ask(
            "nvim.comments",
            &[Field::new("state", Choice(&["open", "answered", "done", "resolved"], Some("open")))],
        ),
    },
    &Tool {
        name: "comment_reply",
        description: "Answer a comment of the user's, beside the code.",
        hints: Hints::new("Answer a comment", Nothing, Always).always_loaded(),
        work: ask(
            "nvim.comment_reply",
            &[COMMENT, Field::new("text", Text).required(), Field::new("done", Flag(false))],
        ),
    },
    &Tool {
        name: "comment_add",
        description: "Show the user a remark beside lines of a file.",
        hints: Hints::new("Comment on lines", Nothing, Always),
        work: ask(
            "nvim.comment_add",
            &[
                FILE,
                LINE.required(),
                Field::new("end_line", Line),
                Field::new("text", Text).required(),
                Field::new("step", Index).described("Of a tour, from 1"),
            ],
        ),
    },
    &Tool {
        name: "notebook_cells",
        description: "List the cells of a Jupyter notebook (.ipynb): index, type and source.",
        hints: Hints::new("Cells of a notebook", Nothing, WhenAble),
        work: ask("nvim.notebook_cells", &[NOTEBOOK, CURSOR]),
    },
    &Tool {
        name: "run_cell",
        description: "Run a code cell of a Jupyter notebook in its kernel, whose variables stay. Answers output and figures.",
        hints: Hints::new("Run a cell of a notebook", World, WhenAble),
        // It may run for hours, and the user may be asked first.
        work: Work::AskUser(
            "nvim.run_cell",
            Takes::Fields(&[NOTEBOOK, Field::new("index", Index).required().described("Counted from 0")], |reply| {
                blocks::parse(&reply)
            }),
        ),
    },
    &Tool {
        name: "rename",
        description: "Rename a symbol and every use of it in the whole project: one call, however many files.",
        hints: Hints::new("Rename symbol", Files, WhenServed(&["textDocument/rename"])).always_loaded(),
        work: ask("nvim.rename", &[FILE, SYMBOL, LINE, Field::new("new_name", Name).required()]),
    },
    &Tool {
        name: "code_actions",
        description: "List the quick fixes and refactorings (add a missing import, extract, inline) offered for lines of a file.",
        hints: Hints::new("Code actions", Nothing, WhenServed(&["textDocument/codeAction"])),
        work: ask(
            "nvim.code_actions",
            &[
                FILE,
                LINE,
                Field::new("end_line", Line),
                Field::new("symbol", Name),
                Field::new("kind", Name).described("quickfix, refactor, source, or narrower"),
            ],
        ),
    },
    &Tool {
        name: "apply_action",
        description: "Do one of the actions that code_actions has listed.",
        hints: Hints::new("Apply code action", Files, WhenServed(&["textDocument/codeAction"])),
        work: ask("nvim.apply_action", &[Field::new("id", Id).required()]),
    },
    &Tool {
        name: "organize_imports",
        description: "Sort the imports of a file and remove unused ones.",
        hints: Hints::new("Organize imports", Files, WhenServed(&["textDocument/codeAction"])),
        work: ask("nvim.organize_imports", &[FILE]),
    },
    &Tool {
        name: "format",
        description: "Format a whole file in the project's code style.",
        hints: Hints::new("Format file", Files, WhenServed(&["textDocument/formatting"])),
        work: ask("nvim.format", &[FILE]),
    },
    &Tool {
        name: "replace_symbol_body",
        description: "Replace the whole definition of a function, method or class without quoting the old one.",
        hints: Hints::new("Replace symbol", Files, WhenServed(&["textDocument/documentSymbol"])),
        work: ask(
            "nvim.replace_symbol_body",
            &[
                FILE,
                SYMBOL,
                LINE,
                Field::new("body", Text).required().described("All of it, signature included, with its indent"),
            ],
        ),
    },
    &Tool {
        name: "insert_before_symbol",
        description: "Insert lines before the definition of a symbol and its decorators.",
        hints: Hints::new("Insert before symbol", Files, WhenServed(&["textDocument/documentSymbol"])),
        work: ask("nvim.insert_before_symbol", &[FILE, SYMBOL, LINE, LINES]),
    },
    &Tool {
        name: "insert_after_symbol",
        description: "Insert lines after the definition of a symbol, e.g. another method.",
        hints: Hints::new("Insert after symbol", Files, WhenServed(&["textDocument/documentSymbol"])),
        work: ask("nvim.insert_after_symbol", &[FILE, SYMBOL, LINE, LINES]),
    },
    &Tool {
        name: "safe_delete",
        description: "Delete the definition of a symbol if nothing uses it; else the answer lists who does.",
        hints: Hints::new("Delete symbol", Files, WhenServed(&["textDocument/references"])),
        work: ask("nvim.safe_delete", &[FILE, SYMBOL, LINE]),
    },
    &Tool {
        name: "run_test",
        description: "Run tests as the user's editor is set up to: of a file, the one nearest to a line, or the last run again.",
        hints: Hints::new("Run tests", World, WhenAbleInPart { argument: "scope", words: &["nearest"] })
            .found_by("pytest jest cargo"),
        work: ask(
            "nvim.run_test",
            &[
                Field::new("scope", Choice(&["nearest", "file", "last"], None)).required(),
                Field::new("path", Path).required_with("scope", &["nearest", "file"]),
                LINE.required_with("scope", &["nearest"]),
            ],
        ),
    },
];

/// The LSP methods that tools need. The editor reports which are supported.
pub fn lsp_methods() -> BTreeSet<&'static str> {
    TOOLS.iter().flat_map(|tool| tool.hints.listed.methods().iter().copied()).collect()
}

/// A call of the editor with these arguments; the answer is its text.
const fn ask(call: &'static str, fields: &'static [Field]) -> Work {
    Work::Ask(call, Takes::Fields(fields, said))
}

/// The editor's reply to a call of these tools.
#[derive(Deserialize)]
struct Said {
    text: String,
}

fn said(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    let Said { text } = parse_reply(&reply)?;
    Ok(CallToolResult::text(text))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{answer, ask as question};

    fn asked(name: &str, args: &Value) -> Result<Value, String> {
        question(tool(name), args).map(|question| question.args.into())
    }

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().copied().find(|tool| tool.name == name).unwrap()
    }

    #[test]
    fn arguments_reach_the_editor_as_intended() {
        let symbol = json!({ "path": "/project/a.rs", "symbol": "run" });
        let with = |more: &Value| {
            let mut whole = symbol.clone();
            whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            whole
        };
        for (name, args, expected) in [
            ("definition", json!({ "line": 3, "other": 1 }), with(&json!({ "line": 3 }))),
            ("references", json!({}), with(&json!({ "include_declaration": true }))),
            ("call_hierarchy", json!({}), with(&json!({ "direction": "incoming" }))),
            ("type_hierarchy", json!({ "cursor": "" }), with(&json!({ "direction": "subtypes" }))),
            ("diagnostics", json!({ "path": "" }), json!({ "severity": "hint" })),
            ("quickfix", json!({}), json!({ "list": "quickfix" })),
            (
                "symbols",
                json!({ "query": "x", "kind": "class" }),
                json!({ "query": "x", "kind": "class", "path": "/project/a.rs" }),
            ),
            ("run_cell", json!({ "index": 0 }), json!({ "path": "/project/a.rs", "index": 0 })),
            ("run_test", json!({ "scope": "last", "line": 0 }), json!({ "scope": "last" })),
            ("run_test", json!({ "scope": "file", "line": 3 }), json!({ "scope": "file", "path": "/project/a.rs" })),
            (
                "run_test",
                json!({ "scope": "nearest", "line": 3 }),
                json!({ "scope": "nearest", "path": "/project/a.rs", "line": 3 }),
            ),
        ] {
            let mut whole = json!({ "path": "a.rs", "symbol": "run" });
            whole.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
            assert_eq!(asked(name, &whole).unwrap(), expected, "{name} {args}");
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (name, args, problem) in [
            (
                "definition",
                json!({ "path": "a.rs", "symbol": "run", "line": 0 }),
                r#"invalid argument "line": expected a line number from 1, got the number 0"#,
            ),
            ("definition", json!({ "path": "a.rs", "symbol": "" }), r#"invalid argument "symbol": must not be empty"#),
            ("rename", json!({ "path": "a.rs", "symbol": "run" }), r#"invalid argument "new_name": missing"#),
            (
                "run_cell",
                json!({ "path": "a.ipynb", "index": -1 }),
                r#"invalid argument "index": expected a number from 0, got the number -1"#,
            ),
            ("run_cell", json!({ "path": "a.ipynb" }), r#"invalid argument "index": missing"#),
            ("run_test", json!({}), r#"invalid argument "scope": missing"#),
            ("run_test", json!({ "scope": "all" }), r#"invalid argument "scope": expected one of nearest, file, last"#),
            ("run_test", json!({ "scope": "file" }), r#"invalid argument "path": missing"#),
            ("run_test", json!({ "scope": "nearest", "path": "t.py" }), r#"invalid argument "line": missing"#),
            ("diagnostics", json!({ "path": 5 }), r#"invalid argument "path": expected a string, got the number 5"#),
        ] {
            assert_eq!(asked(name, &args).unwrap_err(), problem, "{name} {args}");
        }
    }

    #[test]
    fn a_path_may_be_a_uri_or_name_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b.rs");
        std::fs::write(&file, "").unwrap();
        let path = file.to_str().unwrap();
        let asked = |path: &str, line: Value| {
            let args = asked("definition", &json!({ "path": path, "symbol": "run", "line": line })).unwrap();
            (args["path"].as_str().unwrap().to_owned(), args["line"].as_u64())
        };
        let place = |line| (path.to_owned(), line);
        assert_eq!(asked(&format!("file://{}", path.replace(' ', "%20")), Value::Null), place(None));
        assert_eq!(asked(&format!("{path}:12"), Value::Null), place(Some(12)));
        assert_eq!(asked(&format!("{path}:12:4"), Value::Null), place(Some(12)));
        assert_eq!(asked(&format!("{path}:12"), json!(3)), place(Some(3)), "what is said of its own counts");
        let odd = format!("{path}:7");
        std::fs::write(&odd, "").unwrap();
        assert_eq!(asked(&odd, Value::Null), (odd, None), "a file that is called so");
        assert_eq!(asked("/none.rs:7", Value::Null), ("/none.rs:7".to_owned(), None));
    }

    #[test]
    fn every_string_is_bounded() {
        let long = "x".repeat(40_000);
        for tool in TOOLS {
            let schema = tool.schema();
            let properties = schema["properties"].as_object().unwrap();
            for (name, _) in properties.iter().filter(|(_, property)| property["type"] == "string") {
                let mut args = json!({ "path": "a.rs", "symbol": "run", "new_name": "x", "query": "x", "id": "1", "text": "", "body": "", "index": 0, "scope": "file", "line": 1 });
                let text = if ["text", "body"].contains(&name.as_str()) { "x".repeat(2_000_000) } else { long.clone() };
                args[name] = Value::from(text);
                let problem = asked(tool.name, &args).err().unwrap_or_else(|| panic!("{}.{name}", tool.name));
                assert!(problem.len() < 300, "{}.{name}: {problem}", tool.name);
            }
        }
    }

    #[test]
    fn the_editors_words_are_the_answer() {
        let args = json!({ "path": "a.rs", "symbol": "run" });
        assert_eq!(answer(tool("definition"), &args, &json!({ "text": "found" })), ["found"]);
    }
}
