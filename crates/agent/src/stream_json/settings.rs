//! Mode, model and effort of the CLI. Source: CLI 2.1.329 and 2.1.330, and `initialize` as the Agent SDK (0.3.330) has it.

use serde_json::{Value, json};

use crate::json::{list, text};
use crate::settings::{Choice, Setting, SettingKind, SettingValue};

pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
pub(super) const EFFORT: &str = "effort";

/// The modes that the key cycles through. Others must be set when the CLI starts.
const MODES: [&str; 3] = ["default", "acceptEdits", "plan"];
/// The cycle's order when the mode is another one or unknown.
const MODES_FROM_ANOTHER: [&str; 3] = ["acceptEdits", "plan", "default"];

#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) mode: Option<String>,
    pub(super) model: Option<String>,
    effort: Option<String>,
    models: Vec<Model>,
}

#[derive(Debug)]
struct Model {
    choice: Choice,
    /// The model's name in replies.
    resolved: Option<String>,
    efforts: Vec<Choice>,
}

impl Settings {
    /// Reads the result of `initialize`.
    pub(super) fn begin(&mut self, result: &Value) {
        if let Some(mode) = text(result.get("current_permission_mode")) {
            self.mode = Some(mode);
        }
        self.models = list(result.get("models")).filter_map(model).collect();
    }

    /// Reads the `init` of a session.
    pub(super) fn session(&mut self, init: &Value) {
        self.mode = text(init.get("permissionMode")).or(self.mode.take());
        self.model = text(init.get("model")).or(self.model.take());
    }

    pub(super) fn request(&self, id: &str, value: &SettingValue) -> Option<(&'static str, [(String, Value); 1])> {
        let (subtype, field, value) = match id {
            MODE => ("set_permission_mode", "mode", json!(value)),
            MODEL => ("set_model", "model", json!(value)),
            EFFORT => ("apply_flag_settings", "settings", json!({ "effortLevel": value })),
            _ => return None,
        };
        Some((subtype, [(field.to_owned(), value)]))
    }

    /// Reads the response to a change. The effort is read back: see [`Self::read_effort`].
    pub(super) fn was_set(&mut self, id: &str, value: &SettingValue, result: &Value) {
        let SettingValue::Name(asked) = value else { return };
        match id {
            MODE => self.mode = text(result.get("mode")).or(self.mode.take()),
            MODEL => {
                let chosen = self.models.iter().find(|model| model.choice.value == *value);
                let resolved = chosen.and_then(|model| model.resolved.clone());
                self.model = text(result.get("model")).or(resolved).or_else(|| Some(asked.clone()));
            }
            _ => {}
        }
    }

    /// Reads the applied effort from `get_settings`.
    pub(super) fn read_effort(&mut self, result: &Value) {
        self.effort = text(result.pointer("/applied/effort"));
    }

    pub(super) fn listed(&self) -> Vec<Setting> {
        let is_known = self.mode.as_deref().is_some_and(|mode| MODES.contains(&mode));
        let modes = if is_known { MODES } else { MODES_FROM_ANOTHER };
        let current = self.current();
        let setting = |kind: SettingKind, id: &str, name: &str, value: Option<&str>, choices: Vec<Choice>| Setting {
            id: id.to_owned(),
            kind,
            name: name.to_owned(),
            value: value.map(SettingValue::from),
            choices,
            is_listed: kind == SettingKind::Model,
            never_asks: false,
        };
        let mut model = setting(
            SettingKind::Model,
            MODEL,
            "Model",
            self.model.as_deref(),
            self.models.iter().map(|model| model.choice.clone()).collect(),
        );
        if let Some(current) = current {
            model.value = Some(current.choice.value.clone());
        }
        let efforts = current.filter(|model| !model.efforts.is_empty());
        let efforts = efforts.or_else(|| self.models.iter().find(|model| !model.efforts.is_empty()));
        let efforts = efforts.map(|model| model.efforts.clone()).unwrap_or_default();
        vec![
            setting(
                SettingKind::Mode,
                MODE,
                "Permission mode",
                self.mode.as_deref(),
                modes.map(Choice::named).to_vec(),
            )
            .judged(),
            model,
            setting(SettingKind::Effort, EFFORT, "Effort", self.effort.as_deref(), efforts),
        ]
    }

    fn current(&self) -> Option<&Model> {
        let name = self.model.as_deref()?;
        let by_value = self.models.iter().find(|model| model.choice.value == name.into());
        by_value.or_else(|| self.models.iter().find(|model| model.resolved.as_deref() == Some(name)))
    }
}

fn model(reported: &Value) -> Option<Model> {
    let value = text(reported.get("value"))?;
    let efforts = list(reported.get("supportedEffortLevels"));
    Some(Model {
        choice: Choice {
            value: value.as_str().into(),
            name: text(reported.get("displayName")).unwrap_or(value),
            description: text(reported.get("description")),
            never_asks: false,
        },
        resolved: text(reported.get("resolvedModel")),
        efforts: efforts.filter_map(Value::as_str).map(Choice::named).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> Settings {
        let mut settings = Settings::default();
        settings.begin(&json!({"current_permission_mode":"plan","models":[
            {"value":"default","resolvedModel":"claude-opus-4-1","displayName":"Default","description":"Opus"},
            {"value":"sonnet","resolvedModel":"claude-sonnet-4-5","supportedEffortLevels":["low","high"]},
            {"value":"haiku","resolvedModel":"claude-haiku-4-5","supportedEffortLevels":["max",7]},
            {"displayName":"without a name"}, 7,
        ]}));
        settings
    }

    fn values(settings: &Settings) -> Vec<Option<SettingValue>> {
        settings.listed().into_iter().map(|one| one.value).collect()
    }

    fn efforts(settings: &Settings) -> Vec<String> {
        settings
            .listed()
            .into_iter()
            .filter(|one| one.kind == SettingKind::Effort)
            .flat_map(|one| one.choices)
            .map(|choice| choice.name)
            .collect()
    }

    #[test]
    fn the_clis_answer_counts_not_the_requested_value() {
        let mut settings = begun();
        assert_eq!(values(&settings), [Some("plan".into()), None, None]);
        settings.session(&json!({"permissionMode":"default","model":"claude-haiku-4-5"}));
        assert_eq!(values(&settings), [Some("default".into()), Some("haiku".into()), None]);
        settings.was_set(MODE, &"plan".into(), &json!({"mode":"acceptEdits"}));
        settings.was_set(MODEL, &"sonnet".into(), &json!({}));
        settings.read_effort(&json!({"applied":{"effort":"high"}}));
        assert_eq!(values(&settings), [Some("acceptEdits".into()), Some("sonnet".into()), Some("high".into())]);
        settings.was_set(MODEL, &"sonnet".into(), &json!({"model":"another"}));
        settings.read_effort(&json!({"applied":[]}));
        assert_eq!(values(&settings), [Some("acceptEdits".into()), Some("another".into()), None]);
        settings.session(&json!({"model":7}));
        assert_eq!(values(&settings)[1], Some("another".into()));
    }

    #[test]
    fn from_another_mode_the_next_one_is_not_the_default() {
        let first = |settings: &Settings| settings.listed()[0].choices[0].name.clone();
        let mut settings = Settings::default();
        assert_eq!(first(&settings), "acceptEdits");
        settings.session(&json!({"permissionMode":"bypassPermissions"}));
        assert_eq!(first(&settings), "acceptEdits");
        settings.session(&json!({"permissionMode":"plan"}));
        assert_eq!(first(&settings), "default");
    }

    #[test]
    fn the_levels_of_effort_are_those_of_the_model() {
        let mut settings = begun();
        assert_eq!(efforts(&settings), ["low", "high"], "of the first that has any, where the model is not known");
        settings.session(&json!({"model":"haiku"}));
        assert_eq!(efforts(&settings), ["max"]);
        assert!(efforts(&Settings::default()).is_empty());
    }

    #[test]
    fn each_is_asked_for_in_the_words_of_the_cli() {
        let asked = |id: &str| {
            begun().request(id, &"x".into()).map(|(subtype, [(field, value)])| (subtype, json!({ field: value })))
        };
        assert_eq!(asked(MODE), Some(("set_permission_mode", json!({"mode":"x"}))));
        assert_eq!(asked(MODEL), Some(("set_model", json!({"model":"x"}))));
        assert_eq!(asked(EFFORT), Some(("apply_flag_settings", json!({"settings":{"effortLevel":"x"}}))));
        assert_eq!(asked("theme"), None);
    }
}
