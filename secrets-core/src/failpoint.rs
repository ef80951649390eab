//! Failpoints: named points in the code where a test stops an operation, to check the stored state.
//!
//! Active only in builds with debug assertions; in other builds [`reached`] does nothing.

#[cfg(debug_assertions)]
pub use armed::{After, arm, reached};

/// Marks a failpoint: a point in the code where a test can stop an operation. Does nothing in this
/// build, which has no debug assertions.
#[cfg(not(debug_assertions))]
#[inline]
pub async fn reached(_name: &str) {}

#[cfg(debug_assertions)]
mod armed {
    use std::future::pending;
    use std::sync::{Mutex, PoisonError};

    use futures_util::future::BoxFuture;

    /// Action to take at a failpoint, as returned by the hook: the function of the test that is
    /// called there.
    pub enum After {
        /// Wait forever, so that the operation never ends.
        Stay,
        /// Wait for this future, then continue.
        Wait(BoxFuture<'static, ()>),
        /// Continue the operation immediately.
        GoOn,
    }

    /// The failpoint that a test has armed, with the hook (function of the test) to call.
    struct Armed {
        name: String,
        hook: fn(&str) -> After,
    }

    static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

    /// Arms the failpoint with this name. When an operation reaches the failpoint, `hook` is
    /// called, and the value that it returns determines whether the operation continues. At most
    /// one failpoint is armed in the whole process.
    pub fn arm(name: &str, hook: fn(&str) -> After) {
        let armed = Armed { name: name.to_owned(), hook };
        *ARMED.lock().unwrap_or_else(PoisonError::into_inner) = Some(armed);
    }

    /// Marks a failpoint: a point in the code where a test can stop an operation. Continues
    /// immediately, unless a test has armed the failpoint with this name.
    pub async fn reached(name: &str) {
        let hook = {
            let armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
            armed.as_ref().filter(|armed| armed.name == name).map(|armed| armed.hook)
        };
        match hook.map(|hook| hook(name)) {
            Some(After::Stay) => pending().await,
            Some(After::Wait(released)) => released.await,
            Some(After::GoOn) | None => {}
        }
    }
}
