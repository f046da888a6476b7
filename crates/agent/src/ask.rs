//! Questions of an agent to the user or the editor.

use serde::Serialize;
use serde_json::Value;

use crate::destructive;

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ask {
    /// Whether a tool may be used.
    Permission(Box<Permission>),
    /// Questions with choices.
    Questions {
        /// The call that asks.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// At least one.
        questions: Vec<Question>,
    },
    /// Approval of a plan.
    Plan {
        /// The call that asks.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Markdown.
        plan: String,
    },
    /// A form, or a page to open.
    Form(Form),
    /// Reads a file.
    ReadFile {
        /// The agent's path.
        path: String,
        /// The first line, from 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// How many lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        /// Whether a missing file counts as empty.
        missing_is_empty: bool,
    },
    /// Writes a file.
    WriteFile {
        /// The agent's path.
        path: String,
        /// The whole text.
        content: String,
    },
    /// Runs a command in a terminal.
    CreateTerminal {
        /// A program, or a shell command line.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables.
        env: Vec<(String, String)>,
        /// The working folder.
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// Limit of its stored output in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_limit: Option<u64>,
    },
    /// Asks for a terminal's output.
    TerminalOutput {
        /// The terminal.
        terminal: String,
    },
    /// Waits for a command's end.
    WaitForExit {
        /// Its terminal.
        terminal: String,
    },
    /// Ends a command.
    KillTerminal {
        /// Its terminal.
        terminal: String,
    },
    /// Releases a terminal.
    ReleaseTerminal {
        /// The terminal.
        terminal: String,
    },
}

/// A permission to use a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Permission {
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The request, in one line.
    pub title: String,
    /// The details.
    pub parts: Vec<Part>,
    /// The answers; the first one is for Enter, if there is one.
    pub choices: Vec<PermissionChoice>,
    /// Suggested permanent rules, in words.
    pub rules: Vec<String>,
    /// Whether the safe default is to refuse.
    pub default_to_no: bool,
    /// Whether an answer can change the arguments, and carry a message.
    pub takes_changes: bool,
    /// The name of the argument in the first part, if a buffer can hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changeable: Option<&'static str>,
    /// The edit, if all of its changes can be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// Files that it would change, from its diffs.
    pub paths: Vec<String>,
    /// Whether its command destroys what cannot be got back; the title says how.
    pub is_destructive: bool,
}

impl Permission {
    /// Marks a request whose command destroys something.
    pub(crate) fn mark_command(mut self, command: Option<&str>) -> Self {
        if let Some(what) = command.and_then(destructive::of) {
            self.title = format!("{} · destructive: {what}", self.title);
            self.is_destructive = true;
        }
        self
    }
}

/// A detail of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// A text.
    Text {
        /// The agent's text.
        text: String,
        /// Its style.
        style: Style,
    },
    /// A text and its replacement.
    Change {
        /// `None`: the file does not exist.
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<String>,
        /// The replacement.
        new: String,
    },
    /// The affected files.
    Places {
        /// Their paths.
        paths: Vec<String>,
    },
}

impl Part {
    /// An argument of the tool, after its name: a text as it is, another value as JSON. The further lines of a named text
    /// are indented: none of them looks like another argument.
    pub(crate) fn argument(name: &str, value: &Value, style: Style) -> Self {
        let text = match value.as_str() {
            Some(text) if name.is_empty() => text.to_owned(),
            Some(text) => format!("{name}{}", text.replace('\n', "\n    ")),
            None => format!("{name}{value}"),
        };
        Self::Text { text, style }
    }
}

/// The role of a detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// The subject.
    Input,
    /// The subject, a shell's command.
    Command,
    /// A further argument.
    Argument,
    /// A warning.
    Notice,
    /// The reason for the request.
    Reason,
    /// A description.
    Dim,
    /// None of these.
    Plain,
}

/// The effect of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceKind {
    /// Allows it once.
    AllowOnce,
    /// Allows it from now on.
    AllowAlways,
    /// Refuses it once.
    RejectOnce,
    /// Refuses it from now on.
    RejectAlways,
}

/// An answer to a permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionChoice {
    /// Its id for [`crate::Command::Allow`] and [`crate::Command::Deny`].
    pub id: String,
    /// The display text.
    pub label: String,
    /// The display text beside its key, if different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_label: Option<&'static str>,
    /// Its effect.
    pub kind: ChoiceKind,
}

/// A proposed edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Edit {
    /// Of one file.
    File {
        /// The absolute path.
        path: String,
        /// The change.
        change: Change,
    },
    /// Of several files, or a deletion or rename.
    Files {
        /// Its title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The steps, in order.
        steps: Vec<Step>,
    },
}

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "becomes", rename_all = "snake_case")]
pub enum Change {
    /// A whole text.
    Whole {
        /// The text.
        text: String,
    },
    /// A replaced piece.
    Piece {
        /// The old text, with LF line ends.
        old: String,
        /// The new text.
        new: String,
        /// Whether to replace every occurrence.
        all: bool,
    },
}

/// A step of an edit of several files. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Writes a file.
    Make {
        /// The path.
        path: String,
        /// The new content.
        change: Change,
    },
    /// Renames a file.
    Rename {
        /// The old path.
        from: String,
        /// The new path.
        to: String,
    },
    /// Deletes a file.
    Delete {
        /// The path.
        path: String,
    },
}

/// A question with choices, in a form that the page supports too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// A one-word heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Its choices.
    pub options: Vec<QuestionOption>,
    /// Whether several can be chosen.
    #[serde(rename = "multiSelect")]
    pub multi_select: bool,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionOption {
    /// The answer.
    pub label: String,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it would look like: a text of several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// A form, or a page to open.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Form {
    /// The requester.
    pub name: String,
    /// The message to the user.
    pub message: String,
    /// The page's address; then there are no fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The fields, in the requester's order if known.
    pub fields: Vec<Field>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Field {
    /// Its id.
    pub key: String,
    /// The display name.
    pub title: String,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The kind of its value.
    pub takes: FieldKind,
    /// Whether it must be filled in.
    pub required: bool,
    /// The initial value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<FieldValue>,
    /// The choices; `None` for free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<FieldChoice>>,
    /// The minimum of a number, a text's length, or the number of choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// The format of a text: "email", "uri", "date", "date-time".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// The kind of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// An integer.
    Integer,
    /// Yes or no.
    Boolean,
    /// Several values.
    List,
    /// A value that cannot be entered in one line.
    Other,
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<FieldValue>),
}

/// A choice of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChoice {
    /// The value.
    pub value: FieldValue,
    /// The display name.
    pub name: String,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
