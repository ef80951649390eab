//! Timers.

use std::time::Duration;

use async_trait::async_trait;

/// Waits.
#[async_trait]
pub trait Timer: Send + Sync {
    /// Returns after the duration has passed.
    async fn sleep(&self, duration: Duration);
}
