//! Places at which a test stops the process, to see what is found afterwards.
//!
//! Only in builds with debug assertions; elsewhere reaching one does nothing.

#[cfg(debug_assertions)]
pub use armed::{arm, reached};

/// Passes.
#[cfg(not(debug_assertions))]
#[inline]
pub async fn reached(_name: &str) {}

#[cfg(debug_assertions)]
mod armed {
    use std::future::pending;
    use std::sync::{Mutex, PoisonError};

    /// Where to stop, and what is called there.
    struct Armed {
        name: String,
        hook: fn(&str),
    }

    static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

    /// Stops the process where this name is reached: the hook is called with it, and what reached
    /// it goes no further. One name at a time, for the whole process.
    pub fn arm(name: &str, hook: fn(&str)) {
        let armed = Armed { name: name.to_owned(), hook };
        *ARMED.lock().unwrap_or_else(PoisonError::into_inner) = Some(armed);
    }

    /// Passes, unless this name is the one that is armed: then it never returns.
    pub async fn reached(name: &str) {
        let hook = {
            let armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
            armed.as_ref().filter(|armed| armed.name == name).map(|armed| armed.hook)
        };
        if let Some(hook) = hook {
            hook(name);
            pending::<()>().await;
        }
    }
}
