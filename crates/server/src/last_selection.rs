//! Caches the editor's last selection, so that it is available without asking.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use claude_ide_protocol::ide::SelectionChanged;

use crate::path_map::Sides;

/// The last selection, and whether a file is active.
#[derive(Debug, Default)]
pub(crate) struct Selections(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    params: Option<Sides<Box<RawValue>>>,
    /// The whole notification, for clients that connect later.
    notification: Option<Sides<Bytes>>,
    /// Whether the editor reported that no file is active any more.
    inactive: bool,
}

/// `active_editor`, an internal notification.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ActiveEditor {
    #[serde(default)]
    file_path: Option<String>,
}

#[derive(Serialize)]
struct Found<'a> {
    success: bool,
    #[serde(flatten)]
    selection: SelectionChanged<'a>,
}

#[derive(Serialize)]
struct Missing {
    success: bool,
    message: &'static str,
}

impl Selections {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cursor moved, or the selection changed.
    pub(crate) fn set(&self, params: Sides<Box<RawValue>>, notification: Sides<Bytes>) {
        let mut state = self.state();
        state.inactive = false;
        state.params = Some(params);
        state.notification = Some(notification);
    }

    /// Another window became active, with or without a file.
    pub(crate) fn set_active(&self, params: &RawValue) {
        let active = serde_json::from_str::<ActiveEditor>(params.get()).is_ok_and(|editor| editor.file_path.is_some());
        self.state().inactive = !active;
    }

    /// For a client that has just become ready.
    pub(crate) fn notification(&self, mapped: bool) -> Option<Bytes> {
        self.state().notification.as_ref().map(|notification| notification.of(mapped).clone())
    }

    /// `getCurrentSelection`, as JSON.
    pub(crate) fn current(&self, mapped: bool) -> String {
        let state = self.state();
        let active = state.params.as_ref().filter(|_| !state.inactive);
        tell(active.map(|params| params.of(mapped).as_ref()), "No active editor found")
    }

    /// `getLatestSelection`, as JSON.
    pub(crate) fn latest(&self, mapped: bool) -> String {
        tell(self.state().params.as_ref().map(|params| params.of(mapped).as_ref()), "No selection available")
    }
}

fn tell(params: Option<&RawValue>, missing: &'static str) -> String {
    let selection = params
        .and_then(|params| serde_json::from_str::<SelectionChanged<'_>>(params.get()).ok())
        .filter(|selection| selection.file_path.is_some_and(|path| path.get() != "null"));
    let json = match selection {
        Some(selection) => serde_json::to_string(&Found { success: true, selection }),
        None => serde_json::to_string(&Missing { success: false, message: missing }),
    };
    json.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    fn set(selections: &Selections, value: &Value) {
        selections.set(Sides { here: raw(value), there: None }, Sides { here: Bytes::new(), there: None });
    }

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    fn selected() -> Value {
        json!({
            "text": "abc", "filePath": "/a.txt", "fileUrl": "file:///a.txt",
            "selection": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 3 }, "isEmpty": false },
        })
    }

    #[test]
    fn no_selection_yet_is_reported_as_such() {
        let selections = Selections::default();
        assert_eq!(
            parsed(&selections.current(false)),
            json!({ "success": false, "message": "No active editor found" })
        );
        assert_eq!(parsed(&selections.latest(false)), json!({ "success": false, "message": "No selection available" }));
    }

    #[test]
    fn the_last_selection_is_reported() {
        let selections = Selections::default();
        set(&selections, &selected());
        let mut expected = selected();
        expected["success"] = json!(true);
        assert_eq!(parsed(&selections.current(false)), expected);
        assert_eq!(parsed(&selections.latest(false)), expected);
    }

    #[test]
    fn the_latest_outlives_the_active_editor() {
        let selections = Selections::default();
        set(&selections, &selected());
        selections.set_active(&raw(&json!({ "filePath": null })));
        assert_eq!(parsed(&selections.current(false))["success"], false);
        assert_eq!(parsed(&selections.latest(false))["text"], "abc");
        selections.set_active(&raw(&json!({ "filePath": "/a.txt" })));
        assert_eq!(parsed(&selections.current(false))["success"], true);
    }

    #[test]
    fn a_selection_without_a_file_is_none() {
        let selections = Selections::default();
        set(&selections, &json!({ "text": "", "filePath": null, "selection": null }));
        assert_eq!(parsed(&selections.current(false))["success"], false);
    }
}
