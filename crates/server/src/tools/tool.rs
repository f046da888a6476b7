//! What a tool is.

use serde_json::{Map, Value, value::RawValue};

use claude_ide_protocol::mcp::CallToolResult;

use super::{
    arguments::{Arguments, InvalidArgument},
    context::Context,
    fields::{self, Field},
    hints::Hints,
    reply::UnexpectedReply,
};

pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: &'static str,
    /// For a model: its purpose, when to use it, its answer.
    pub(crate) description: &'static str,
    /// Further properties.
    pub(crate) hints: Hints,
    /// How it is served.
    pub(crate) work: Work,
}

/// How a tool is served.
pub(crate) enum Work {
    /// From the server's state, ignoring arguments.
    Answer(fn(&Context<'_>) -> CallToolResult),
    /// By the editor: the call's name, and its arguments.
    Ask(&'static str, Takes),
    /// By the editor after the user's answer, which may take forever; nothing waits behind it.
    AskUser(&'static str, Takes),
}

/// A tool's arguments, and the conversion of the editor's reply.
pub(crate) enum Takes {
    /// The editor is called with these arguments.
    Fields(&'static [Field], fn(Box<RawValue>) -> Result<CallToolResult, UnexpectedReply>),
    /// With its own schema and validation.
    Own(fn() -> Value, fn(Arguments, &Context<'_>) -> Result<Question, InvalidArgument>),
}

impl Takes {
    /// The editor's call for a client's arguments.
    pub(crate) fn question(&self, args: Arguments, context: &Context<'_>) -> Result<Question, InvalidArgument> {
        match *self {
            Self::Fields(fields, shape) => {
                Ok(Question { args: fields::check(fields, args, context)?, shape: Box::new(shape) })
            }
            Self::Own(_, prepare) => prepare(args, context),
        }
    }
}

impl Tool {
    /// The JSON Schema of the arguments.
    pub(crate) fn schema(&self) -> Value {
        match self.work {
            Work::Answer(_) => fields::schema(&[]),
            Work::Ask(_, Takes::Fields(fields, _)) | Work::AskUser(_, Takes::Fields(fields, _)) => {
                fields::schema(fields)
            }
            Work::Ask(_, Takes::Own(schema, _)) | Work::AskUser(_, Takes::Own(schema, _)) => schema(),
        }
    }
}

/// A call of the editor.
pub(crate) struct Question {
    /// Its arguments, complete.
    pub(crate) args: Map<String, Value>,
    /// Converts the reply to the tool's answer.
    pub(crate) shape: Shape,
}

/// Converts the editor's reply to a tool's answer.
pub(crate) type Shape = Box<dyn FnOnce(Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> + Send>;

impl Question {
    pub(crate) fn new<const N: usize>(
        args: [(&str, Value); N],
        shape: impl FnOnce(Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> + Send + 'static,
    ) -> Self {
        let mut fields = Map::new();
        for (name, value) in args {
            fields.insert(name.to_owned(), value);
        }
        Self { args: fields, shape: Box::new(shape) }
    }
}

/// The editor's reply verbatim: JSON, as text.
pub(crate) fn verbatim(reply: Box<RawValue>) -> Result<CallToolResult, UnexpectedReply> {
    Ok(CallToolResult::text(String::from(Box::<str>::from(reply))))
}
