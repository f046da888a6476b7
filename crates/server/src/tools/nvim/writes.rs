//! What the tools share that propose changes: how their schemas are put together, and what they say of the review.

use serde_json::{Value, json};

use super::{super::schema, path_property};

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
        "path": path_property(),
    });
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
    }
    schema(properties, &["path"])
}
