//! Converts the JSON schema of a form (Model Context Protocol 2025-11-25, Agent Client Protocol) to fields.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::ask::{Field, FieldChoice, FieldKind, FieldValue};
use crate::json::text;

/// The fields of a schema in `order`, which is the schema's; without it required ones first, then by name.
pub(crate) fn fields(schema: &Value, order: Option<&[String]>) -> Vec<Field> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(key)));
    let properties = schema.get("properties").and_then(Value::as_object);
    let known = properties.into_iter().flatten().filter(|(_, of_field)| of_field.is_object());
    let mut fields: Vec<Field> = known.map(|(key, of_field)| field(key, of_field, is_required(key))).collect();
    let places: HashMap<&str, usize> =
        order.unwrap_or_default().iter().enumerate().map(|(at, key)| (key.as_str(), at)).collect();
    let place = |key: &str| places.get(key).copied().unwrap_or(usize::MAX);
    fields.sort_by_cached_key(|field| (place(&field.key), !field.required, field.key.clone()));
    fields
}

/// The order of a request's fields, which a `Value` does not keep.
pub(crate) fn order_in_request(json: &str) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Request {
        #[serde(rename = "requestedSchema", alias = "requested_schema")]
        schema: Schema,
    }
    serde_json::from_str::<Request>(json).ok().map(|request| request.schema.properties.0)
}

/// The order of a schema's fields.
pub(crate) fn order_in_schema(json: &str) -> Option<Vec<String>> {
    serde_json::from_str::<Schema>(json).ok().map(|schema| schema.properties.0)
}

#[derive(serde::Deserialize)]
struct Schema {
    properties: Names,
}

/// The names of an object, in its order.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;

        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_map(NamesVisitor)
    }
}

fn field(key: &str, schema: &Value, required: bool) -> Field {
    let takes = match schema.get("type").and_then(Value::as_str) {
        Some("string") | None => FieldKind::Text,
        Some("number") => FieldKind::Number,
        Some("integer") => FieldKind::Integer,
        Some("boolean") => FieldKind::Boolean,
        Some("array") => FieldKind::List,
        Some(_) => FieldKind::Other,
    };
    let (least, most) = match takes {
        FieldKind::Number | FieldKind::Integer => ("minimum", "maximum"),
        FieldKind::List => ("minItems", "maxItems"),
        _ => ("minLength", "maxLength"),
    };
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let title = text(schema.get("title")).unwrap_or_else(|| key.to_owned());
    Field {
        key: key.to_owned(),
        // On one line.
        title: title.split([' ', '\t', '\n', '\r', '\0']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "),
        description: text(schema.get("description")),
        takes,
        required,
        default: schema.get("default").and_then(value),
        choices: choices(schema, takes),
        least: number(least),
        most: number(most),
        format: text(schema.get("format")),
    }
}

fn choices(schema: &Value, takes: FieldKind) -> Option<Vec<FieldChoice>> {
    let items = if takes == FieldKind::List { schema.get("items")? } else { schema };
    let named = |value: FieldValue, name: Option<String>, description: Option<String>| {
        let name = name.unwrap_or_else(|| match &value {
            FieldValue::Text(text) => text.clone(),
            other => serde_json::to_string(other).unwrap_or_default(),
        });
        FieldChoice { value, name, description }
    };
    let titled =
        items.get("oneOf").filter(|list| list.is_array()).or_else(|| items.get("anyOf").filter(|list| list.is_array()));
    if let Some(Value::Array(options)) = titled {
        let choice = |one: &Value| {
            Some(named(one.get("const").and_then(value)?, text(one.get("title")), text(one.get("description"))))
        };
        return Some(options.iter().filter_map(choice).collect());
    }
    if let Some(Value::Array(values)) = items.get("enum") {
        let names = items.get("enumNames").and_then(Value::as_array);
        let choice =
            |(at, one): (usize, &Value)| Some(named(value(one)?, names.and_then(|names| text(names.get(at))), None));
        return Some(values.iter().enumerate().filter_map(choice).collect());
    }
    let switch =
        |on: bool, name: &str| FieldChoice { value: FieldValue::Bool(on), name: name.to_owned(), description: None };
    (takes == FieldKind::Boolean).then(|| vec![switch(true, "yes"), switch(false, "no")])
}

fn value(value: &Value) -> Option<FieldValue> {
    match value {
        Value::Bool(on) => Some(FieldValue::Bool(*on)),
        Value::Number(number) => Some(FieldValue::Number(number.clone())),
        Value::String(text) => Some(FieldValue::Text(text.clone())),
        Value::Array(values) => Some(FieldValue::List(values.iter().filter_map(self::value).collect())),
        Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(fields: &[Field]) -> Vec<&str> {
        fields.iter().map(|field| field.key.as_str()).collect()
    }

    #[test]
    fn fields_keep_the_requesters_order_or_put_required_ones_first() {
        let schema = json!({"properties":{"c":{},"b":{"type":"integer"},"a":{},"odd":7},"required":["b"]});
        assert_eq!(keys(&fields(&schema, None)), ["b", "a", "c"]);
        let order = ["c".to_owned(), "gone".to_owned()];
        assert_eq!(keys(&fields(&schema, Some(&order))), ["c", "b", "a"]);
        let schema_text = r#"{"properties":{"z":{},"a":{"x":{}},"m":{}}}"#;
        assert_eq!(order_in_schema(schema_text).unwrap(), ["z", "a", "m"]);
        let request = format!(r#"{{"message":"m","requested_schema":{schema_text}}}"#);
        assert_eq!(order_in_request(&request), order_in_schema(schema_text));
        assert_eq!(order_in_request(&request.replace("requested_schema", "requestedSchema")).unwrap().len(), 3);
        assert_eq!((order_in_schema("7"), order_in_request("{}")), (None, None));
        for odd in [json!(null), json!({"properties":7}), json!({"properties":{},"required":7})] {
            assert!(fields(&odd, None).is_empty());
        }
    }

    #[test]
    fn a_field_says_what_it_takes() {
        let schema = json!({"properties":{"n":{"type":"integer","title":" How \n many ","minimum":1,"maximum":9,"default":2,
            "description":"Nights"}, "o":{"type":"object"}, "m":{"format":"email","minLength":3}}});
        let fields = fields(&schema, None);
        let [mail, number, other] = &fields[..] else { panic!("{fields:?}") };
        assert_eq!((number.title.as_str(), number.takes), ("How many", FieldKind::Integer));
        assert_eq!((number.least, number.most), (Some(1.0), Some(9.0)));
        assert_eq!(serde_json::to_value(number).unwrap()["default"], json!(2));
        assert_eq!((other.takes, other.choices.is_none()), (FieldKind::Other, true));
        assert_eq!((mail.format.as_deref(), mail.least), (Some("email"), Some(3.0)));
    }

    #[test]
    fn choices_are_read_in_each_form_that_there_is() {
        let names = |schema: Value| {
            let fields = fields(&json!({"properties":{"x":schema}}), None);
            let choices = fields[0].choices.clone();
            choices.map(|choices| choices.into_iter().map(|one| one.name).collect::<Vec<_>>())
        };
        let own = |list: &[&str]| Some(list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(json!({"enum":["a",1,null],"enumNames":["A"]})), own(&["A", "1"]));
        assert_eq!(names(json!({"oneOf":[{"const":"a","title":"A"},{"const":"b"},{"title":"c"}]})), own(&["A", "b"]));
        assert_eq!(names(json!({"type":"array","items":{"anyOf":[{"const":"a"}]}})), own(&["a"]));
        assert_eq!(names(json!({"type":"array","items":{"enum":["a"]}})), own(&["a"]));
        assert_eq!(names(json!({"type":"boolean"})), own(&["yes", "no"]));
        assert_eq!((names(json!({"type":"array"})), names(json!({}))), (None, None));
    }
}
