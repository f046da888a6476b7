//! What the tools share that propose changes: how their schemas are put together, and what they say of the review.

use serde_json::{Map, Value, json};

use super::super::schema;
use crate::tools::{Arguments, Context, InvalidArgument};

/// A schema that requires more of its properties.
pub(crate) fn required(mut schema: Value, names: &[&str]) -> Value {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.extend(names.iter().copied().map(Value::from));
    }
    schema
}

/// The schema of a tool that is about a file, with what else it takes.
pub(crate) fn file_schema(more: Value) -> Value {
    let mut properties = json!({
        "path": { "type": "string", "description": "The file, absolute or relative to the workspace" },
    });
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
    }
    schema(properties, &["path"])
}

/// The path, as [`file_schema`] has it.
pub(crate) fn file_argument(
    args: &mut Arguments,
    context: &Context<'_>,
) -> Result<Map<String, Value>, InvalidArgument> {
    let mut asked = Map::new();
    asked.insert("path".to_owned(), context.absolute(args.path("path")?).into());
    Ok(asked)
}
