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
    /// Whether the agent then does everything without asking, as far as its words say: never set without the user's
    /// confirmation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub never_asks: bool,
}

impl Choice {
    pub(crate) fn named(name: &str) -> Self {
        Self { value: name.into(), name: name.to_owned(), description: None, never_asks: false }
    }

    /// Sets `never_asks` from its words and those of its setting.
    fn judge(&mut self, setting: &[&str]) {
        let value = match &self.value {
            SettingValue::Switch(false) => return,
            SettingValue::Switch(true) => "",
            SettingValue::Name(name) => name.as_str(),
        };
        let is_switch = matches!(self.value, SettingValue::Switch(_));
        let own = [value, &self.name, self.description.as_deref().unwrap_or_default()];
        let mut words = own.into_iter().chain(setting.iter().copied().filter(|_| is_switch));
        self.never_asks = words.any(never_asks);
    }
}

/// Whether a mode's id, name or description says that the agent asks for nothing. The protocol has no field for it.
/// Ids of claude-agent-acp 0.100, codex-acp 2.6, Gemini 0.61, Goose and Copilot are among them.
fn never_asks(words: &str) -> bool {
    const SAYING: [&str; 13] = [
        "yolo",
        "bypass",
        "fullaccess",
        "danger",
        "unrestricted",
        "autopilot",
        "allowall",
        "approveall",
        "neverask",
        "withoutasking",
        "withoutapproval",
        "skippermission",
        "approvetoolcalls",
    ];
    const GRANTS: [&str; 4] = ["approve", "accept", "allow", "grant"];
    const EVERYTHING: [&str; 4] = ["allpermissions", "alltools", "allcommands", "everything"];
    let letters: String = words.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let says = |list: &[&str]| list.iter().any(|one| letters.contains(one));
    letters == "never" || says(&SAYING) || (says(&GRANTS) && says(&EVERYTHING))
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
    /// Whether its value lets the agent do everything without asking.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub never_asks: bool,
}

impl Setting {
    /// Marks what never asks. A mode with such a choice is listed: no other key reaches it.
    #[must_use]
    pub(crate) fn judged(mut self) -> Self {
        if !matches!(self.kind, SettingKind::Mode | SettingKind::Other) {
            return self;
        }
        for choice in &mut self.choices {
            choice.judge(&[&self.id, &self.name]);
        }
        let known = self.choices.iter().find(|choice| Some(&choice.value) == self.value.as_ref());
        self.never_asks = match (&self.value, known) {
            (_, Some(choice)) => choice.never_asks,
            (Some(SettingValue::Name(name)), None) => never_asks(name),
            _ => false,
        };
        self.is_listed |= self.choices.iter().any(|choice| choice.never_asks);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: &str, name: &str, description: &str) -> bool {
        let choice = Choice { description: Some(description.to_owned()), ..Choice::named(name) };
        let choices = vec![Choice { value: id.into(), ..choice }];
        let setting = Setting {
            id: "mode".to_owned(),
            kind: SettingKind::Mode,
            name: "Mode".to_owned(),
            value: Some(id.into()),
            choices,
            is_listed: false,
            never_asks: false,
        };
        let judged = setting.judged();
        assert_eq!((judged.choices[0].never_asks, judged.is_listed), (judged.never_asks, judged.never_asks));
        judged.never_asks
    }

    #[test]
    fn modes_of_real_agents_that_never_ask_are_known() {
        for (id, name, description) in [
            ("bypassPermissions", "Bypass permissions", "Accepts all permissions"),
            ("agent-full-access", "Full access", "Unrestricted access to the internet and any file on your computer"),
            ("yolo", "YOLO", "Auto-approves all tools"),
            ("auto", "auto", "Automatically approve tool calls"),
            ("https://agentclientprotocol.com/protocol/session-modes#autopilot", "Autopilot", ""),
        ] {
            assert!(of(id, name, description), "{id}");
        }
        for (id, name, description) in [
            ("default", "Manual", "Always ask before making changes"),
            ("acceptEdits", "Accept edits", "Automatically accept all file edits"),
            ("plan", "Plan", "Create a plan before making changes"),
            ("auto", "Auto", "Claude handles permission decisions"),
            ("read-only", "Read-only", "Requires approval to edit files and access the internet."),
            ("agent", "Auto review", "Only ask for actions detected as potentially unsafe"),
            ("workspace-write", "Workspace access", "Edit workspace files; ask before writing outside the workspace."),
            ("autoEdit", "Auto Edit", "Auto-approves edit tools"),
            ("default", "Default", "Prompts for approval"),
            ("smart_approve", "smart_approve", "Ask only for sensitive tool calls"),
            ("build", "build", ""),
        ] {
            assert!(!of(id, name, description), "{id}");
        }
    }

    #[test]
    fn a_switch_is_judged_by_the_name_of_its_setting_and_only_when_on() {
        let switch = |on: bool| Choice { value: SettingValue::Switch(on), ..Choice::named("x") };
        let setting = Setting {
            id: "yolo".to_owned(),
            kind: SettingKind::Other,
            name: "Go".to_owned(),
            value: Some(SettingValue::Switch(false)),
            choices: vec![switch(true), switch(false)],
            is_listed: true,
            never_asks: false,
        };
        let judged = setting.clone().judged();
        assert_eq!(judged.choices.iter().map(|one| one.never_asks).collect::<Vec<_>>(), [true, false]);
        assert!(!judged.never_asks);
        assert!(Setting { value: Some(SettingValue::Switch(true)), ..setting.clone() }.judged().never_asks);
        assert!(!Setting { kind: SettingKind::Model, ..setting }.judged().choices[0].never_asks);
    }
}
