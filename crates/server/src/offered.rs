//! The resources and prompts of the editor, as clients get them.
//!
//! The editor reports the lists when they change (`lua/claude-ide/tools/offers.lua`), so a client gets them also while it is busy.

use std::{collections::BTreeMap, sync::Arc};

use claude_ide_protocol::mcp::{Prompt, Resource};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;

/// The lists' names on the wire.
const RESOURCES: &str = "resources";
const PROMPTS: &str = "prompts";

/// Both lists, from the editor.
#[derive(Debug, Default, Deserialize)]
pub struct Offers {
    /// The resources that clients may read.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// The prompts that they may get.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
}

/// Both lists, as clients get them.
pub(crate) struct Offered {
    pub(crate) resources: watch::Sender<Arc<RawValue>>,
    pub(crate) prompts: watch::Sender<Arc<RawValue>>,
}

impl Default for Offered {
    fn default() -> Self {
        let nothing = |name| watch::Sender::new(result(name, &[(); 0]));
        Self { resources: nothing(RESOURCES), prompts: nothing(PROMPTS) }
    }
}

impl Offered {
    /// Replaces the lists; returns the names of those that changed.
    pub(crate) fn set(&self, Offers { resources, prompts }: &Offers) -> Vec<&'static str> {
        let changed = [
            (RESOURCES, replace(&self.resources, result(RESOURCES, resources))),
            (PROMPTS, replace(&self.prompts, result(PROMPTS, prompts))),
        ];
        changed.into_iter().filter_map(|(name, changed)| changed.then_some(name)).collect()
    }
}

fn result(name: &str, list: &[impl Serialize]) -> Arc<RawValue> {
    to_raw_value(&BTreeMap::from([(name, list)])).unwrap_or_default().into()
}

fn replace(list: &watch::Sender<Arc<RawValue>>, new: Arc<RawValue>) -> bool {
    list.send_if_modified(|now| {
        let changed = now.get() != new.get();
        *now = new;
        changed
    })
}
