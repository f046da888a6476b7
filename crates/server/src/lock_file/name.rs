//! What a discovery file calls the editor: people tell servers apart by it.

use std::sync::{Arc, Mutex, PoisonError};

/// What the file calls the editor, as it is now.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdeName(Arc<Mutex<Chosen>>);

#[derive(Debug, Clone, Default)]
struct Chosen {
    /// As configured.
    base: String,
    /// The same, with a number where another server is called so.
    name: String,
}

impl IdeName {
    pub(crate) fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).name.clone()
    }

    /// Chooses a name that is not taken. One that was chosen stays: the user has seen it.
    pub(super) fn choose(&self, base: &str, taken: &[String]) -> String {
        let mut chosen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let keeps = chosen.base == base && !taken.contains(&chosen.name);
        if !keeps {
            let numbered = (2..).map(|number| format!("{base} ({number})"));
            let name = std::iter::once(base.to_owned()).chain(numbered).find(|name| !taken.contains(name));
            *chosen = Chosen { base: base.to_owned(), name: name.unwrap_or_default() };
        }
        chosen.name.clone()
    }
}
