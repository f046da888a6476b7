//! `executeCode`: runs code in a Jupyter kernel that keeps its state (seed 002).

use super::{Field, Hints, Kind, Listed, Takes, Tool, Touches, Work, blocks};

const FIELDS: &[Field] = &[
    Field::new("code", Kind::String).required().described("The Python code to run; IPython's % and ! lines work too"),
    Field::new("notebook", Kind::Path)
        .described("Path of an .ipynb file whose kernel to use; by default that of the workspace"),
    Field::new("restart", Kind::Flag(false)).described("Begin with a fresh kernel: forgets all variables"),
];

pub(crate) const TOOL: Tool = Tool {
    name: "executeCode",
    description: "Run Python code in the Jupyter kernel of the user's workspace, or of a notebook. Variables, imports and \
                  the current folder stay for later calls. Answers what was printed, the value of the last expression, \
                  figures as images, and errors with their traceback; long output is cut in the middle. It cannot ask the \
                  user for input. The user sees code and output.",
    hints: Hints::new("Run code in the notebook's kernel", Touches::World, Listed::WhenAble)
        .found_by("run python code jupyter kernel notebook plot"),
    // A user may be asked first, and the code may run for hours.
    work: Work::AskUser("execute_code", Takes::Fields(FIELDS, |reply| blocks::parse(&reply))),
};

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::{ask, shaped};

    #[test]
    fn a_notebook_is_named_by_its_absolute_path() {
        let question = ask(&TOOL, &json!({ "code": "1+1", "notebook": "a.ipynb" })).unwrap();
        assert_eq!(
            Value::from(question.args),
            json!({ "code": "1+1", "notebook": "/project/a.ipynb", "restart": false })
        );
        let question = ask(&TOOL, &json!({ "code": "" })).unwrap();
        assert_eq!(Value::from(question.args), json!({ "code": "", "restart": false }));
    }

    #[test]
    fn wants_code() {
        let error = ask(&TOOL, &json!({ "code": 5 })).err().unwrap();
        assert_eq!(error, r#"invalid argument "code": expected a string, got the number 5"#);
    }

    #[test]
    fn what_came_of_it_goes_out_as_it_is() {
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        let text = json!({ "type": "text", "text": "ü\n" });
        let reply = json!({ "content": [text, image], "is_error": true });
        let result = serde_json::to_value(shaped(&TOOL, &json!({ "code": "x" }), &reply).unwrap()).unwrap();
        assert_eq!(result, json!({ "content": [text, image], "isError": true }));
    }
}
