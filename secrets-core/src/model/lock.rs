//! Locking of mutexes that ignores poisoning: after a panic of a thread that held a mutex, other
//! threads can still lock the mutex.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex and ignores poisoning by a panic. Use this function only for data that is
/// consistent at every moment, such as counters and maps.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
