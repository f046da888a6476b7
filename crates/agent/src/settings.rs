//! What a user can set of an agent: its mode, its model, its effort, and options of its own.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a setting is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingKind {
    /// What the agent may do unasked.
    Mode,
    /// Who answers.
    Model,
    /// How long that may think.
    Effort,
    /// Something of the agent's own.
    Other,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// On or off.
    Switch(bool),
    /// One of several.
    Name(String),
}

impl SettingValue {
    /// A value as an agent has it.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(on) => Some(Self::Switch(*on)),
            Value::String(name) => Some(Self::Name(name.clone())),
            _ => None,
        }
    }
}

impl From<&str> for SettingValue {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// A value that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// It.
    pub value: SettingValue,
    /// For the user.
    pub name: String,
    /// More of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Choice {
    pub(crate) fn named(name: &str) -> Self {
        Self { value: name.into(), name: name.to_owned(), description: None }
    }
}

/// One setting. What the agent says is set counts, not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Names it in [`crate::Command::Set`].
    pub id: String,
    /// What it is about.
    pub kind: SettingKind,
    /// For the user.
    pub name: String,
    /// What is set, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<SettingValue>,
    /// What can be set, as far as the agent says.
    pub choices: Vec<Choice>,
    /// Whether it is listed with the model; the others have keys of their own.
    pub is_listed: bool,
}

/// A text that says something.
pub(crate) fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}
