//! An agent's settings: mode, model, effort, and its own options.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingKind {
    /// What the agent may do without asking.
    Mode,
    /// The model.
    Model,
    /// How long it may think.
    Effort,
    /// An option of the agent's own.
    Other,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// On or off.
    Switch(bool),
    /// One of several names.
    Name(String),
}

impl SettingValue {
    /// A value in the agent's JSON.
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

/// A possible value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The value.
    pub value: SettingValue,
    /// The display name.
    pub name: String,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Choice {
    pub(crate) fn named(name: &str) -> Self {
        Self { value: name.into(), name: name.to_owned(), description: None }
    }
}

/// One setting. Its value is the one that the agent confirmed, not the requested one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its id for [`crate::Command::Set`].
    pub id: String,
    /// Its kind.
    pub kind: SettingKind,
    /// The display name.
    pub name: String,
    /// The value, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<SettingValue>,
    /// The possible values, if the agent names them.
    pub choices: Vec<Choice>,
    /// Whether it is listed with the model; other settings have their own keys.
    pub is_listed: bool,
}
