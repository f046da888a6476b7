//! `run_test`: runs tests of the project, as the editor is set up for it.

use serde_json::{Map, json};

use super::{ask, path_property};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, schema};

const SCOPES: &[&str] = &["nearest", "file", "last"];

pub(crate) const TOOL: Tool = Tool {
    name: "run_test",
    description: "Run tests as the user's editor is set up to: of a file, the one nearest to a line, or the last run again.",
    schema: || {
        schema(
            json!({
                "scope": { "type": "string", "enum": SCOPES },
                "path": path_property(),
                "line": { "type": "integer" },
            }),
            &["scope"],
        )
    },
    hints: Hints {
        title: Some("Run tests"),
        touches: Some(Touches::World),
        search: Some("pytest jest cargo"),
        always_load: false,
        listed: Listed::WhenAbleInPart { argument: "scope", words: &["nearest"] },
    },
    work: Work::Ask("nvim.run_test", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = Map::new();
    let scope = args.optional_choice("scope", SCOPES)?.ok_or_else(|| InvalidArgument::new("scope", "missing"))?;
    asked.insert("scope".to_owned(), scope.into());
    if scope != "last" {
        asked.insert("path".to_owned(), context.absolute(args.path("path")?).into());
    }
    if scope == "nearest" {
        let line = args.optional_line("line")?.ok_or_else(|| InvalidArgument::new("line", "missing"))?;
        asked.insert("line".to_owned(), line.into());
    }
    Ok(ask(asked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ask;

    #[test]
    fn a_scope_needs_what_it_is_about() {
        let asked = ask(&TOOL, &json!({ "scope": "nearest", "path": "t.py", "line": 3 })).unwrap();
        assert_eq!(
            serde_json::Value::from(asked.args),
            json!({ "scope": "nearest", "path": "/project/t.py", "line": 3 })
        );
        assert!(ask(&TOOL, &json!({ "scope": "last" })).is_ok());
        for wrong in [
            json!({}),
            json!({ "scope": "file" }),
            json!({ "scope": "nearest", "path": "t.py" }),
            json!({ "scope": "all" }),
        ] {
            assert!(ask(&TOOL, &wrong).is_err(), "{wrong}");
        }
    }
}
