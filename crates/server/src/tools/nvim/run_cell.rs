//! `run_cell`: runs a cell of a Jupyter notebook in the notebook's kernel.

use serde_json::{Value, json};

use super::path_property;
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work, blocks, schema};

pub(crate) const TOOL: Tool = Tool {
    name: "run_cell",
    description: "Run a code cell of a Jupyter notebook in its kernel, whose variables stay. Answers output and figures.",
    schema: || {
        schema(
            json!({
                "path": path_property(),
                "index": { "type": "integer", "description": "Counted from 0" },
            }),
            &["path", "index"],
        )
    },
    hints: Hints {
        title: Some("Run a cell of a notebook"),
        touches: Some(Touches::World),
        search: None,
        always_load: false,
        listed: Listed::WhenAble,
    },
    // It may run for hours, and a person may be asked first.
    work: Work::AskPerson("nvim.run_cell", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let path = context.absolute(args.path("path")?);
    let index = args.index("index")?;
    Ok(Question::new([("path", Value::from(path)), ("index", Value::from(index))], |reply| blocks::parse(&reply)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ask;

    #[test]
    fn a_cell_is_counted_from_0() {
        let question = ask(&TOOL, &json!({ "path": "a.ipynb", "index": 0 })).unwrap();
        assert_eq!(Value::from(question.args), json!({ "path": "/project/a.ipynb", "index": 0 }));
        let wrong = ask(&TOOL, &json!({ "path": "a.ipynb", "index": -1 })).err().unwrap();
        assert_eq!(wrong, r#"invalid argument "index": expected a number from 0, got the number -1"#);
        assert!(ask(&TOOL, &json!({ "path": "a.ipynb" })).is_err());
    }
}
