//! A flag that stops long work early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks long work to stop; clones share the flag.
///
/// Cancelled work returns its results so far, marked as incomplete where that matters.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// An unset flag.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
