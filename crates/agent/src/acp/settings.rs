//! Modes, models and options of an agent, as it reports them. Malformed entries are dropped on receipt.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::json::{list, text};
use crate::settings::{Choice, Setting, SettingKind, SettingValue};

/// The choices of each agent (by its name in the options) without the current values: some agents report them only with
/// a new session, not with a resumed one.
static KNOWN: Mutex<Option<HashMap<String, Vec<Setting>>>> = Mutex::new(None);

/// Ids for the modes and models of agents without options.
pub(super) const MODES: &str = "mode of the session";
const MODELS: &str = "model of the session";

#[derive(Debug, Default)]
pub(super) struct Settings {
    agent: String,
    modes: Option<Setting>,
    models: Option<Setting>,
    options: Vec<Setting>,
    /// Reported for a loaded session before the modes are.
    mode: Option<String>,
    /// Reported since a mode was last requested.
    reported_mode: Option<String>,
}

impl Settings {
    pub(super) fn new(agent: &str) -> Self {
        Self { agent: agent.to_owned(), ..Self::default() }
    }

    /// A session began. Missing choices are taken from the last session that reported them, without values.
    pub(super) fn began(&mut self, result: &Value) {
        let modes = choice(result.get("modes"), MODES, SettingKind::Mode);
        let models = choice(result.get("models"), MODELS, SettingKind::Model);
        let options = options(result.get("configOptions"));
        let known = self.known();
        let before = |id: &str| known.iter().find(|one| one.id == id).cloned();
        self.modes = modes.or(self.modes.take()).or_else(|| before(MODES));
        self.models = models.or(self.models.take()).or_else(|| before(MODELS));
        if !options.is_empty() {
            self.options = options;
        } else if self.options.is_empty() {
            self.options = known.into_iter().filter(|one| one.id != MODES && one.id != MODELS).collect();
        }
        self.remember();
        if let Some(mode) = self.mode.take()
            && self.mode().is_none()
        {
            self.set_mode(&mode);
        }
    }

    fn known(&self) -> Vec<Setting> {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().and_then(|known| known.get(&self.agent)).cloned().unwrap_or_default()
    }

    fn remember(&self) {
        let choices = self.all().map(|one| Setting { value: None, ..one.clone() }).collect();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().insert(self.agent.clone(), choices);
    }

    fn all(&self) -> impl Iterator<Item = &Setting> {
        self.modes.iter().chain(&self.models).chain(&self.options)
    }

    fn of_kind(&mut self, kind: SettingKind) -> Option<&mut Setting> {
        self.options.iter_mut().find(|option| option.kind == kind)
    }

    fn mode(&mut self) -> Option<SettingValue> {
        let option = self.of_kind(SettingKind::Mode).and_then(|option| option.value.clone());
        option.or_else(|| self.modes.as_ref().and_then(|modes| modes.value.clone()))
    }

    /// The agent changed its mode by itself.
    pub(super) fn mode_changed(&mut self, update: &Value) {
        self.reported_mode = text(update.get("currentModeId"));
        if let Some(mode) = self.reported_mode.clone() {
            self.set_mode(&mode);
        }
    }

    pub(super) fn set_mode(&mut self, mode: &str) {
        let value = Some(mode.into());
        if let Some(modes) = &mut self.modes {
            modes.value.clone_from(&value);
        }
        if let Some(option) = self.of_kind(SettingKind::Mode) {
            option.value.clone_from(&value);
        }
        self.mode = Some(mode.to_owned());
    }

    /// The agent reported all options.
    pub(super) fn options_changed(&mut self, reported: Option<&Value>) {
        self.options = options(reported);
    }

    /// The request that sets something: method and parameters.
    pub(super) fn request(&mut self, id: &str, value: &SettingValue) -> Option<(&'static str, Value)> {
        match id {
            MODES => {
                self.reported_mode = None;
                Some(("session/set_mode", json!({ "modeId": value })))
            }
            MODELS => Some(("session/set_model", json!({ "modelId": value }))),
            _ => {
                let option = self.options.iter().find(|option| option.id == id)?;
                let mut params = json!({ "configId": option.id, "value": value });
                if let (SettingValue::Switch(_), Some(params)) = (value, params.as_object_mut()) {
                    params.insert("type".to_owned(), json!("boolean"));
                }
                Some(("session/set_config_option", params))
            }
        }
    }

    /// The agent confirmed a setting.
    pub(super) fn was_set(&mut self, id: &str, value: &SettingValue, result: &Value) {
        match (id, value) {
            // It may have reported another mode before it answered.
            (MODES, SettingValue::Name(mode)) => {
                let mode = self.reported_mode.take().unwrap_or_else(|| mode.clone());
                self.set_mode(&mode);
            }
            (MODELS, value) => {
                if let Some(models) = &mut self.models {
                    models.value = Some(value.clone());
                }
            }
            _ if result.get("configOptions").is_some_and(Value::is_array) => {
                self.options_changed(result.get("configOptions"));
            }
            _ => {
                if let Some(option) = self.options.iter_mut().find(|option| option.id == id) {
                    option.value = Some(value.clone());
                }
            }
        }
    }

    /// All settings. If an agent has both, its modes and models are for clients without options.
    pub(super) fn listed(&self) -> Vec<Setting> {
        let has =
            |kind: SettingKind| self.options.iter().any(|option| option.kind == kind && !option.choices.is_empty());
        let models =
            self.models.iter().filter(|_| !self.options.iter().any(|option| option.kind == SettingKind::Model));
        let modes = self.modes.iter().filter(|_| !has(SettingKind::Mode));
        let mut listed: Vec<Setting> = modes.chain(models).chain(&self.options).cloned().collect();
        if let Some(mode) = &self.mode
            && !listed.iter().any(|one| one.kind == SettingKind::Mode)
        {
            listed.push(Setting {
                id: MODES.to_owned(),
                kind: SettingKind::Mode,
                name: "Mode".to_owned(),
                value: Some(mode.as_str().into()),
                choices: Vec::new(),
                is_listed: false,
                never_asks: false,
            });
        }
        listed.into_iter().map(Setting::judged).collect()
    }
}

/// Modes, or models.
fn choice(reported: Option<&Value>, id: &str, kind: SettingKind) -> Option<Setting> {
    let (names, key, current, name) = match kind {
        SettingKind::Mode => ("availableModes", "id", "currentModeId", "Mode"),
        _ => ("availableModels", "modelId", "currentModelId", "Model"),
    };
    let reported = reported?;
    let choices = choices(reported.get(names), key);
    (!choices.is_empty()).then(|| Setting {
        id: id.to_owned(),
        kind,
        name: name.to_owned(),
        value: text(reported.get(current)).map(SettingValue::Name),
        choices,
        is_listed: kind == SettingKind::Model,
        never_asks: false,
    })
}

/// The entries of a list that have a name.
fn choices(entries: Option<&Value>, key: &str) -> Vec<Choice> {
    let choice = |one: &Value| {
        let value = one.get(key)?.as_str()?;
        let name = text(one.get("name")).unwrap_or_else(|| value.to_owned());
        Some(Choice { value: value.into(), name, description: text(one.get("description")), never_asks: false })
    };
    list(entries).filter_map(choice).collect()
}

fn options(entries: Option<&Value>) -> Vec<Setting> {
    list(entries).filter_map(option).collect()
}

fn option(reported: &Value) -> Option<Setting> {
    let id = reported.get("id")?.as_str()?.to_owned();
    let choices = if reported.get("type").and_then(Value::as_str) == Some("boolean") {
        let switch = |on: bool, name: &str| Choice { value: SettingValue::Switch(on), ..Choice::named(name) };
        vec![switch(true, "on"), switch(false, "off")]
    } else {
        // Values may be in groups.
        let grouped = list(reported.get("options")).flat_map(|one| match one.get("options") {
            Some(Value::Array(group)) => group.iter().collect::<Vec<_>>(),
            _ => vec![one],
        });
        let flat: Vec<Value> = grouped.cloned().collect();
        choices(Some(&Value::Array(flat)), "value")
    };
    let kind = match reported.get("category").and_then(Value::as_str) {
        Some("mode") => SettingKind::Mode,
        Some("model") => SettingKind::Model,
        Some("thought_level") => SettingKind::Effort,
        _ => SettingKind::Other,
    };
    Some(Setting {
        name: text(reported.get("name")).unwrap_or_else(|| id.clone()),
        id,
        kind,
        value: reported.get("currentValue").and_then(SettingValue::of),
        choices,
        is_listed: true,
        never_asks: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes() -> Value {
        json!({"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code"}]})
    }

    fn models() -> Value {
        json!({"currentModelId":"a","availableModels":[{"modelId":"a","name":"A"},{"modelId":"b","name":"B"}]})
    }

    fn names(setting: &Setting) -> Vec<&str> {
        setting.choices.iter().map(|choice| choice.name.as_str()).collect()
    }

    fn value(settings: &Settings, kind: SettingKind) -> Option<SettingValue> {
        settings.listed().into_iter().find(|one| one.kind == kind).and_then(|one| one.value)
    }

    #[test]
    fn malformed_entries_are_dropped() {
        let mut settings = Settings::new("malformed");
        settings.began(&json!({
            "modes": {"currentModeId":"ask","availableModes":[{"id":"ask"}, null, "x", {"name":"none"}, {"id":"code"}]},
            "models": ["x"],
            "configOptions": [
                {"id":"s","name":"Slide","type":"slider","currentValue":{"a":1}}, 7, null, {"name":"no id"},
                {"id":"n","name":null,"type":"select","options":null},
                {"id":"y","category":"model","type":"select","currentValue":{"v":1},
                    "options":[{"value":"v"}, null, "text", {"name":"group","options":[{"value":"w","name":"W"}, 1]}]},
                {"id":"b","type":"boolean","currentValue":true},
            ],
        }));
        let listed = settings.listed();
        let found: Vec<_> = listed.iter().map(|one| (one.id.as_str(), names(one), one.value.clone())).collect();
        assert_eq!(
            found,
            [
                (MODES, vec!["ask", "code"], Some("ask".into())),
                ("s", vec![], None),
                ("n", vec![], None),
                ("y", vec!["v", "W"], None),
                ("b", vec!["on", "off"], Some(SettingValue::Switch(true))),
            ]
        );
        for odd in [json!([]), json!("text"), json!({"a":1}), Value::Null] {
            settings.options_changed(Some(&odd));
            assert_eq!(settings.listed().len(), 1);
        }
    }

    #[test]
    fn a_resumed_session_has_known_settings_but_no_known_values() {
        Settings::new("known").began(&json!({"modes":modes(),"models":models()}));
        let mut loaded = Settings::new("known");
        loaded.began(&json!({}));
        assert_eq!(loaded.listed().iter().map(|one| names(one).len()).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((value(&loaded, SettingKind::Mode), value(&loaded, SettingKind::Model)), (None, None));
        let mut other = Settings::new("another");
        other.began(&json!({}));
        assert!(other.listed().is_empty());
    }

    #[test]
    fn the_agents_reported_value_counts_not_the_requested_one() {
        let mut settings = Settings::new("counts");
        settings.began(&json!({"modes":modes(),"models":models()}));
        let (method, params) = settings.request(MODES, &"code".into()).unwrap();
        assert_eq!((method, params), ("session/set_mode", json!({"modeId":"code"})));
        settings.mode_changed(&json!({"currentModeId":"plan"}));
        settings.was_set(MODES, &"code".into(), &json!({}));
        assert_eq!(value(&settings, SettingKind::Mode), Some("plan".into()));
        assert_eq!(settings.request(MODELS, &"b".into()).unwrap().1, json!({"modelId":"b"}));
        settings.was_set(MODELS, &"b".into(), &Value::Null);
        assert_eq!(value(&settings, SettingKind::Model), Some("b".into()));
        settings.mode_changed(&json!({"currentModeId":7}));
        assert_eq!(value(&settings, SettingKind::Mode), Some("plan".into()));
    }

    #[test]
    fn options_stand_for_modes_and_models_of_the_same_kind() {
        let option = |category: &str, value: Value| json!({"id":category,"category":category,"currentValue":value,"options":[{"value":"small"},{"value":"large"}]});
        let mut settings = Settings::new("options");
        settings.began(&json!({"modes":modes(),"models":models(),
            "configOptions":[option("mode", json!("small")), option("model", json!("small")), option("thought_level", json!(null))]}));
        let kinds: Vec<_> = settings.listed().iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [SettingKind::Mode, SettingKind::Model, SettingKind::Effort]);
        let large = SettingValue::from("large");
        assert_eq!(settings.request("mode", &large).unwrap().1, json!({"configId":"mode","value":"large"}));
        settings.was_set("mode", &large, &json!({"configOptions":[option("mode", json!("large"))]}));
        assert_eq!(value(&settings, SettingKind::Mode), Some(large.clone()));
        assert_eq!(settings.listed().len(), 2, "the models are there again");
        settings.was_set("mode", &"small".into(), &json!({}));
        assert_eq!(value(&settings, SettingKind::Mode), Some("small".into()));
        let (_, params) = settings.request("mode", &SettingValue::Switch(true)).unwrap();
        assert_eq!(params["type"], "boolean");
        assert!(settings.request("none", &large).is_none());
    }

    #[test]
    fn a_mode_reported_before_the_list_of_modes_counts() {
        let mut settings = Settings::new("early");
        settings.mode_changed(&json!({"currentModeId":"code"}));
        assert_eq!(value(&settings, SettingKind::Mode), Some("code".into()), "though there is nothing to choose");
        settings.began(&json!({"modes":{"availableModes":[{"id":"code"}]}}));
        assert_eq!(value(&settings, SettingKind::Mode), Some("code".into()));
        settings.began(&json!({"modes":modes()}));
        assert_eq!(value(&settings, SettingKind::Mode), Some("ask".into()));
    }
}
