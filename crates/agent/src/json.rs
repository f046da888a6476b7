//! Reads parts of an agent's JSON, of which any may be missing or of another type.

use serde_json::Value;

/// A non-empty text.
pub(crate) fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The elements of a list.
pub(crate) fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
