//! Places at which a test stops the process, to see what is found afterwards.
//!
//! Only in builds with debug assertions; elsewhere reaching one does nothing.

#[cfg(debug_assertions)]
pub use armed::{After, arm, reached};

/// Passes.
#[cfg(not(debug_assertions))]
#[inline]
pub async fn reached(_name: &str) {}

#[cfg(debug_assertions)]
mod armed {
    use std::future::pending;
    use std::sync::{Mutex, PoisonError};

    /// What comes after the hook.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum After {
        /// Nothing: whatever reached the place goes no further.
        Stay,
        /// It goes on.
        GoOn,
    }

    /// Where to stop, and what is called there.
    struct Armed {
        name: String,
        hook: fn(&str) -> After,
    }

    static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

    /// Has the hook called where this name is reached; it says what comes after. One name at a time,
    /// for the whole process.
    pub fn arm(name: &str, hook: fn(&str) -> After) {
        let armed = Armed { name: name.to_owned(), hook };
        *ARMED.lock().unwrap_or_else(PoisonError::into_inner) = Some(armed);
    }

    /// Passes, unless this name is the one that is armed.
    pub async fn reached(name: &str) {
        let hook = {
            let armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
            armed.as_ref().filter(|armed| armed.name == name).map(|armed| armed.hook)
        };
        if hook.is_some_and(|hook| hook(name) == After::Stay) {
            pending::<()>().await;
        }
    }
}
