//! Timers: waiting for a duration, independent of the async runtime.

use std::time::Duration;

use async_trait::async_trait;

/// Timer that waits for a duration.
#[async_trait]
pub trait Timer: Send + Sync {
    /// Waits for the duration.
    async fn sleep(&self, duration: Duration);
}
