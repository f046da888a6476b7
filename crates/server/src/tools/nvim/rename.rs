//! `rename`: a symbol under another name, everywhere at once, reviewed by the person.

use serde_json::{Value, json};

use super::{ask, symbol_arguments, symbol_schema, writes::required};
use crate::tools::{Arguments, Context, Hints, InvalidArgument, Listed, Question, Tool, Touches, Work};

pub(crate) const TOOL: Tool = Tool {
    name: "rename",
    description: "Rename a symbol and every use of it in the whole project: one call, however many files.",
    schema: || {
        required(
            symbol_schema(json!({
                "new_name": { "type": "string" },
            })),
            &["new_name"],
        )
    },
    hints: Hints {
        title: Some("Rename symbol"),
        touches: Some(Touches::Files),
        search: None,
        always_load: true,
        listed: Listed::WhenAble,
    },
    work: Work::Ask("nvim.rename", prepare),
};

fn prepare(mut args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
    let mut asked = symbol_arguments(&mut args, context)?;
    asked.insert("new_name".to_owned(), Value::from(args.path("new_name")?));
    Ok(ask(asked))
}
