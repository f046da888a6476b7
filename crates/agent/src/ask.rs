//! What an agent asks of the user, or of the editor.

use serde::Serialize;
use serde_json::Value;

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
    /// A plan is to be approved.
    Plan {
        /// The call that asks.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Markdown.
        plan: String,
    },
    /// Something is to be filled in, or a page to be opened.
    Form(Form),
    /// A file is to be read.
    ReadFile {
        /// As the agent has it.
        path: String,
        /// The first line, from 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// How many lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        /// Whether a file that is not there is an empty one.
        missing_is_empty: bool,
    },
    /// A file is to be written.
    WriteFile {
        /// As the agent has it.
        path: String,
        /// All of it.
        content: String,
    },
    /// A command is to be run in a terminal.
    CreateTerminal {
        /// A program, or a line for a shell.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables.
        env: Vec<(String, String)>,
        /// The folder it runs in.
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// Bytes of its output that are kept.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_limit: Option<u64>,
    },
    /// What a terminal has shown.
    TerminalOutput {
        /// Which.
        terminal: String,
    },
    /// How a command ends.
    WaitForExit {
        /// Its terminal.
        terminal: String,
    },
    /// A command is to be ended.
    KillTerminal {
        /// Its terminal.
        terminal: String,
    },
    /// A terminal is no longer needed.
    ReleaseTerminal {
        /// Which.
        terminal: String,
    },
}

/// Whether a tool may be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Permission {
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What is asked, in a line.
    pub title: String,
    /// What is to be done.
    pub parts: Vec<Part>,
    /// The answers, the one that Enter gives first where there is one.
    pub choices: Vec<PermissionChoice>,
    /// Rules that may hold from now on, for the user.
    pub rules: Vec<String>,
    /// A no is the safe answer, and comes first.
    pub default_to_no: bool,
    /// An answer can change the arguments, and take words along.
    pub takes_changes: bool,
    /// What it changes, where that can be shown as edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// Files that it would change, as far as it says so by diffs.
    pub paths: Vec<String>,
}

/// Of what is to be done, for the user.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text {
        /// As the agent has them.
        text: String,
        /// What they are.
        style: Style,
    },
    /// An argument of the tool.
    Argument {
        /// What stands before it.
        name: String,
        /// As the agent has it.
        value: Value,
        /// What it is.
        style: Style,
    },
    /// A text that becomes another.
    Change {
        /// None: there is no such file.
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<String>,
        /// What it becomes.
        new: String,
    },
    /// Where it is done.
    Places {
        /// Files.
        paths: Vec<String>,
    },
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// What it is about.
    Input,
    /// An argument beside that.
    Argument,
    /// To be noticed.
    Notice,
    /// Why it is asked.
    Reason,
    /// What it is for.
    Dim,
    /// Nothing of this.
    Plain,
}

/// What an answer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceKind {
    /// Lets it be done now.
    AllowOnce,
    /// From now on.
    AllowAlways,
    /// Refuses it.
    RejectOnce,
    /// From now on.
    RejectAlways,
}

/// An answer to a permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PermissionChoice {
    /// Names it in [`crate::Command::Allow`] and [`crate::Command::Deny`].
    pub id: String,
    /// For the user.
    pub label: String,
    /// The same beside its key, where that is other words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_label: Option<&'static str>,
    /// What it does.
    pub kind: ChoiceKind,
}

/// What is edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Edit {
    /// One file.
    File {
        /// Absolute.
        path: String,
        /// How.
        change: Change,
    },
    /// Several, or one that goes or moves.
    Files {
        /// What it is called.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// In order.
        steps: Vec<Step>,
    },
}

/// What a file becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "becomes", rename_all = "snake_case")]
pub enum Change {
    /// This text.
    Whole {
        /// All of it.
        text: String,
    },
    /// The same with a piece replaced.
    Piece {
        /// With LF line ends.
        old: String,
        /// What stands there then.
        new: String,
        /// Each time that it is there.
        all: bool,
    },
}

/// A step of an edit of several files. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// A file is given a text.
    Make {
        /// Which.
        path: String,
        /// What it becomes.
        change: Change,
    },
    /// A file moves.
    Rename {
        /// Where it is.
        from: String,
        /// Where it is to be.
        to: String,
    },
    /// A file goes.
    Delete {
        /// Which.
        path: String,
    },
}

/// A question with choices, in the form that the page knows too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// What is asked.
    pub question: String,
    /// In a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Its choices.
    pub options: Vec<QuestionOption>,
    /// Several of them may be chosen.
    #[serde(rename = "multiSelect")]
    pub multi_select: bool,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionOption {
    /// The answer.
    pub label: String,
    /// More of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Something to be filled in, or a page to be opened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Form {
    /// Who asks.
    pub name: String,
    /// For the user.
    pub message: String,
    /// The page; then there are no fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// In the order of who asks, as far as that is known.
    pub fields: Vec<Field>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Field {
    /// Names it.
    pub key: String,
    /// For the user.
    pub title: String,
    /// More of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it takes.
    pub takes: FieldKind,
    /// It cannot be left out.
    pub required: bool,
    /// What it is set to at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<FieldValue>,
    /// What can be chosen; none: it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<FieldChoice>>,
    /// The least number, or characters of a text, or choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// What a text looks like: "email", "uri", "date", "date-time".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// Words.
    Text,
    /// A number.
    Number,
    /// A whole one.
    Integer,
    /// Yes or no.
    Boolean,
    /// Several values.
    List,
    /// Something that cannot be filled in in a line.
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
    /// Words.
    Text(String),
    /// Several.
    List(Vec<FieldValue>),
}

/// A choice of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChoice {
    /// What is answered.
    pub value: FieldValue,
    /// For the user.
    pub name: String,
    /// More of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
