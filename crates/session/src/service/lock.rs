//! Locks that outlive a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic cannot leave this state half-changed, so a poisoned lock is fine.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
