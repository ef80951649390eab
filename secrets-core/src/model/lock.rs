//! Locks whose holder panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. A lock that a panic poisoned is taken as it is: what it protects is a counter or a
/// map, which is valid between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
