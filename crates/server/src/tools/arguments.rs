//! Validates a tool's arguments one by one, so that an error names the bad one.
//!
//! Unknown members are ignored (clients add their own), and `null` counts as absent.

use std::fmt;

use serde_json::{Map, Value, value::RawValue};

/// An error that names the bad argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid argument {name:?}: {problem}")]
pub(crate) struct InvalidArgument {
    name: String,
    problem: String,
}

impl InvalidArgument {
    pub(crate) fn new(name: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self { name: name.into(), problem: problem.to_string() }
    }
}

/// The arguments of a call.
#[derive(Debug, Default)]
pub(crate) struct Arguments(Map<String, Value>);

impl From<Map<String, Value>> for Arguments {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}

impl Arguments {
    /// `whole` names the object itself in errors: `params` or `arguments`.
    pub(crate) fn parse(whole: &str, raw: Option<&RawValue>) -> Result<Self, InvalidArgument> {
        let Some(raw) = raw.filter(|raw| raw.get() != "null") else {
            return Ok(Self::default());
        };
        if !raw.get().starts_with('{') {
            return Err(InvalidArgument::new(whole, "expected an object"));
        }
        serde_json::from_str(raw.get()).map(Self).map_err(|error| InvalidArgument::new(whole, error))
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn required<T>(name: &str, value: Option<T>) -> Result<T, InvalidArgument> {
        value.ok_or_else(|| InvalidArgument::new(name, "missing"))
    }

    pub(crate) fn optional_string(&mut self, name: &str) -> Result<Option<String>, InvalidArgument> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(unexpected(name, "a string", &other)),
        }
    }

    /// A word that we have given; models write it as the number that it looks like, too.
    pub(crate) fn optional_id(&mut self, name: &str) -> Result<Option<String>, InvalidArgument> {
        match self.0.get(name) {
            Some(Value::Number(number)) if number.is_u64() => {
                let id = number.to_string();
                self.0.remove(name);
                Ok(Some(id))
            }
            _ => self.optional_path(name),
        }
    }

    /// An object; empty if absent.
    pub(crate) fn optional_object(&mut self, name: &str) -> Result<Map<String, Value>, InvalidArgument> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(other) => Err(unexpected(name, "an object", &other)),
        }
    }

    /// A text for a file.
    pub(crate) fn optional_text(&mut self, name: &str) -> Result<Option<String>, InvalidArgument> {
        let text = self.optional_string(name)?;
        text.as_deref().map_or(Ok(()), |text| check_length(name, text, MAX_TEXT_BYTES))?;
        Ok(text)
    }

    pub(crate) fn string(&mut self, name: &str) -> Result<String, InvalidArgument> {
        Self::required(name, self.optional_string(name)?)
    }

    /// A name: not empty, and without NUL, which would cut it short.
    pub(crate) fn path(&mut self, name: &str) -> Result<String, InvalidArgument> {
        let path = self.string(name)?;
        check_path(name, &path)?;
        Ok(path)
    }

    pub(crate) fn optional_path(&mut self, name: &str) -> Result<Option<String>, InvalidArgument> {
        let path = self.optional_string(name)?.filter(|path| !path.is_empty());
        path.as_deref().map_or(Ok(()), |path| check_path(name, path))?;
        Ok(path)
    }

    pub(crate) fn paths(&mut self, name: &str) -> Result<Vec<String>, InvalidArgument> {
        let Value::Array(items) = Self::required(name, self.take(name))? else {
            return Err(InvalidArgument::new(name, "expected an array of strings"));
        };
        items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                let name = format!("{name}[{index}]");
                match item {
                    Value::String(path) => check_path(&name, &path).map(|()| path),
                    other => Err(unexpected(&name, "a string", &other)),
                }
            })
            .collect()
    }

    pub(crate) fn flag(&mut self, name: &str, default: bool) -> Result<bool, InvalidArgument> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(unexpected(name, "a boolean", &other)),
        }
    }

    /// One of these words.
    pub(crate) fn optional_choice(
        &mut self,
        name: &str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, InvalidArgument> {
        let Some(word) = self.optional_string(name)?.filter(|word| !word.is_empty()) else { return Ok(None) };
        let known = words.iter().copied().find(|known| *known == word);
        known.map(Some).ok_or_else(|| InvalidArgument::new(name, format!("expected one of {}", words.join(", "))))
    }

    /// A number from 0.
    pub(crate) fn optional_index(&mut self, name: &str) -> Result<Option<u32>, InvalidArgument> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let index = value.as_u64().and_then(|index| u32::try_from(index).ok());
        index.map(Some).ok_or_else(|| unexpected(name, "a number from 0", &value))
    }

    /// A line number from 1.
    pub(crate) fn optional_line(&mut self, name: &str) -> Result<Option<u32>, InvalidArgument> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_u64().and_then(|line| u32::try_from(line).ok()) {
                Some(line) if line > 0 => Ok(Some(line)),
                Some(_) | None => Err(unexpected(name, "a line number from 1", &value)),
            },
        }
    }
}

/// No system accepts longer paths.
const MAX_PATH_BYTES: usize = 4096;
const MAX_TEXT_BYTES: usize = 1024 * 1024;

fn check_length(name: &str, text: &str, most: usize) -> Result<(), InvalidArgument> {
    if text.len() > most {
        return Err(InvalidArgument::new(name, format!("must not be longer than {most} bytes")));
    }
    Ok(())
}

fn check_path(name: &str, path: &str) -> Result<(), InvalidArgument> {
    check_length(name, path, MAX_PATH_BYTES)?;
    if path.is_empty() {
        return Err(InvalidArgument::new(name, "must not be empty"));
    }
    if path.contains('\0') {
        return Err(InvalidArgument::new(name, "must not contain a NUL character"));
    }
    Ok(())
}

fn unexpected(name: &str, wanted: &str, got: &Value) -> InvalidArgument {
    let got = match got {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    InvalidArgument::new(name, format!("expected {wanted}, got {got}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(json: &str) -> Arguments {
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        Arguments::parse("arguments", Some(&raw)).unwrap()
    }

    fn message<T: fmt::Debug>(result: Result<T, InvalidArgument>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_the_bad_argument() {
        let mut args = arguments(r#"{"a":5,"b":null,"c":"","d":["x",{}],"e":0,"f":"no"}"#);
        assert_eq!(message(args.string("a")), r#"invalid argument "a": expected a string, got the number 5"#);
        assert_eq!(message(args.string("b")), r#"invalid argument "b": missing"#);
        assert_eq!(message(args.path("c")), r#"invalid argument "c": must not be empty"#);
        assert_eq!(message(args.paths("d")), r#"invalid argument "d[1]": expected a string, got an object"#);
        assert_eq!(
            message(args.optional_line("e")),
            r#"invalid argument "e": expected a line number from 1, got the number 0"#
        );
        assert_eq!(message(args.flag("f", true)), r#"invalid argument "f": expected a boolean, got a string"#);
    }

    #[test]
    fn an_id_may_be_written_as_the_number_that_it_looks_like() {
        let mut args = arguments(r#"{"a":"7","b":7,"c":7.5,"d":null}"#);
        assert_eq!(args.optional_id("a").unwrap().as_deref(), Some("7"));
        assert_eq!(args.optional_id("b").unwrap().as_deref(), Some("7"));
        assert!(args.optional_id("c").is_err());
        assert_eq!(args.optional_id("d").unwrap(), None);
    }

    #[test]
    fn absent_and_null_take_the_default() {
        let mut args = arguments(r#"{"null":null}"#);
        assert!(args.flag("null", true).unwrap());
        assert!(args.flag("absent", true).unwrap());
        assert_eq!(args.optional_string("absent").unwrap(), None);
        assert_eq!(args.optional_line("null").unwrap(), None);
    }

    #[test]
    fn no_arguments_at_all_are_an_empty_object() {
        assert!(Arguments::parse("arguments", None).unwrap().0.is_empty());
        let null = RawValue::from_string("null".to_owned()).unwrap();
        assert!(Arguments::parse("arguments", Some(&null)).unwrap().0.is_empty());
    }

    #[test]
    fn anything_but_an_object_is_refused() {
        for json in ["[]", "5", "\"x\"", "true"] {
            let raw = RawValue::from_string(json.to_owned()).unwrap();
            assert_eq!(
                message(Arguments::parse("arguments", Some(&raw))),
                r#"invalid argument "arguments": expected an object"#
            );
        }
    }

    #[test]
    fn a_path_with_nul_is_refused() {
        let mut args = arguments(r#"{"path":"a\u0000b"}"#);
        assert_eq!(message(args.path("path")), r#"invalid argument "path": must not contain a NUL character"#);
    }
}
