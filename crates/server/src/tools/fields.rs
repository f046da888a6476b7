//! Tool arguments as data: the schema for clients and the validation are derived from it.

use serde_json::{Map, Value, json};

use super::{Arguments, Context, InvalidArgument};

/// One argument.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    name: &'static str,
    kind: Kind,
    need: Need,
    description: Option<&'static str>,
}

/// The type of an argument.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A file or folder, made absolute.
    Path,
    /// A file, made absolute; and a line, if the path names one.
    Place,
    /// Files, made absolute. Always required.
    Paths,
    /// A name: not empty, not long, without NUL.
    Name,
    /// A word of an earlier answer, such as an id or a cursor; also as a number.
    Id,
    /// Text for a file, limited in size.
    Text,
    /// Any string.
    String,
    /// One of these words, and the default.
    Choice(&'static [&'static str], Option<&'static str>),
    /// One of these words, too many to list in the schema.
    Word(&'static [&'static str]),
    /// A boolean, and its default.
    Flag(bool),
    /// A line number from 1.
    Line,
    /// A number from 0.
    Index,
}

#[derive(Clone, Copy)]
enum Need {
    Optional,
    Required,
    /// Required if an earlier argument is one of these words; otherwise ignored.
    With(&'static str, &'static [&'static str]),
}

impl Field {
    /// An optional argument.
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, need: Need::Optional, description: None }
    }

    pub(crate) const fn required(self) -> Self {
        Self { need: Need::Required, ..self }
    }

    /// Required if the earlier `argument` is one of `words`; otherwise ignored.
    pub(crate) const fn required_with(self, argument: &'static str, words: &'static [&'static str]) -> Self {
        Self { need: Need::With(argument, words), ..self }
    }

    pub(crate) const fn described(self, description: &'static str) -> Self {
        Self { description: Some(description), ..self }
    }

    fn schema(&self) -> Value {
        let mut schema = Map::new();
        let mut set = |name: &str, value: Value| schema.insert(name.to_owned(), value);
        set("type", self.kind.json_type().into());
        match self.kind {
            Kind::Choice(words, _) => _ = set("enum", words.into()),
            Kind::Paths => _ = set("items", serde_json::json!({ "type": "string" })),
            _ => {}
        }
        if let Some(description) = self.description {
            set("description", description.into());
        }
        schema.into()
    }

    /// Moves the argument from `args` to the editor's call.
    fn check(
        &self,
        args: &mut Arguments,
        context: &Context<'_>,
        asked: &mut Map<String, Value>,
    ) -> Result<(), InvalidArgument> {
        let name = self.name;
        let is_required = match self.need {
            Need::Optional => false,
            Need::Required => true,
            Need::With(argument, words) => {
                if !asked.get(argument).and_then(Value::as_str).is_some_and(|word| words.contains(&word)) {
                    return Ok(());
                }
                true
            }
        };
        let mut named = || if is_required { args.path(name).map(Some) } else { args.optional_path(name) };
        let value = match self.kind {
            Kind::Name => named()?.map(Value::from),
            Kind::Id => args.optional_id(name)?.map(Value::from),
            Kind::Path => named()?.map(|path| context.absolute(path).into()),
            Kind::Place => named()?.map(|path| {
                let (path, line) = context.place(path);
                asked.extend(line.map(|line| ("line".to_owned(), line.into())));
                path.into()
            }),
            Kind::Paths => Some(args.paths(name)?.into_iter().map(|path| context.absolute(path)).collect()),
            Kind::Text => args.optional_text(name)?.map(Value::from),
            Kind::String => args.optional_string(name)?.map(Value::from),
            Kind::Choice(words, default) => args.optional_choice(name, words)?.or(default).map(Value::from),
            Kind::Word(words) => args.optional_choice(name, words)?.map(Value::from),
            Kind::Flag(default) => Some(args.flag(name, default)?.into()),
            Kind::Line => args.optional_line(name)?.map(Value::from),
            Kind::Index => args.optional_index(name)?.map(Value::from),
        };
        match value {
            Some(value) => _ = asked.insert(name.to_owned(), value),
            None if is_required => return Err(InvalidArgument::new(name, "missing")),
            None => {}
        }
        Ok(())
    }
}

impl Kind {
    const fn json_type(self) -> &'static str {
        match self {
            Self::Path
            | Self::Place
            | Self::Name
            | Self::Id
            | Self::Text
            | Self::String
            | Self::Choice(..)
            | Self::Word(_) => "string",
            Self::Paths => "array",
            Self::Flag(_) => "boolean",
            Self::Line | Self::Index => "integer",
        }
    }
}

/// The JSON Schema of these arguments.
pub(crate) fn schema(fields: &[Field]) -> Value {
    let properties: Map<_, _> = fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<_> =
        fields.iter().filter(|field| matches!(field.need, Need::Required)).map(|field| field.name).collect();
    object_schema(properties.into(), &required)
}

/// The arguments of the editor's call; in the order of the fields, so that the first bad one is named.
pub(crate) fn check(
    fields: &[Field],
    mut args: Arguments,
    context: &Context<'_>,
) -> Result<Map<String, Value>, InvalidArgument> {
    let mut asked = Map::new();
    for field in fields {
        field.check(&mut args, context, &mut asked)?;
    }
    Ok(asked)
}

/// A tool's schema: its properties, and the names of required ones.
pub(super) fn object_schema(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if let (Value::Object(schema), false) = (&mut schema, required.is_empty()) {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}
