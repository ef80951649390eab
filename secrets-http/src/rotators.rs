//! What rotates credentials in this process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrets_core::egress::Gate;
use secrets_core::rotations::drivers::PostgresRotator;
use secrets_core::rotations::{Rotators, Timer, Timings};

/// Waits by the runtime's clock.
struct TokioTimer;

#[async_trait]
impl Timer for TokioTimer {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Rotators of everything we can rotate, which go through this gate.
#[must_use]
pub fn rotators(gate: &Arc<Gate>, timings: Timings) -> Rotators {
    Rotators {
        postgresql: Arc::new(PostgresRotator::new(Arc::clone(gate))),
        mysql: Arc::new(PostgresRotator::new(Arc::clone(gate))),
        proxied: None,
        timer: Arc::new(TokioTimer),
        timings,
    }
}
