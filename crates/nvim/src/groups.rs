//! Process groups started by Lua: each ends as a whole on request, and with Neovim, however that ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use claude_ide_system::group::Keeper;
use once_cell::sync::Lazy;

use crate::error::Error;

static KEEPERS: Lazy<Mutex<HashMap<u64, Keeper>>> = Lazy::new(Mutex::default);
static LAST: AtomicU64 = AtomicU64::new(0);

fn keepers() -> MutexGuard<'static, HashMap<u64, Keeper>> {
    // Entries are only added and removed whole.
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the group led by a process; returns its number.
///
/// # Errors
/// [`Error::Group`].
pub(crate) fn keep(leader: u64) -> Result<u64, Error> {
    let keeper = Keeper::of(u32::try_from(leader).unwrap_or_default()).map_err(Error::Group)?;
    let number = LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    keepers().insert(number, keeper);
    Ok(number)
}

/// Ends a group. Returns whether it was kept.
pub(crate) fn end(number: u64) -> bool {
    keepers().remove(&number).is_some()
}
