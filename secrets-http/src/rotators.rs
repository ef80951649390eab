//! What rotates credentials in this process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrets_core::clock::Clock;
use secrets_core::egress::Gate;
use secrets_core::rotations::drivers::{MySqlRotator, PostgresRotator};
#[cfg(feature = "aws")]
use secrets_core::rotations::lambda::{AwsInvoker, LambdaRotator};
use secrets_core::rotations::{DatabaseRotator, Rotators, Timer, Timings};

/// Waits by the runtime's clock.
struct TokioTimer;

#[async_trait]
impl Timer for TokioTimer {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Has functions of AWS do it, where the build can.
#[cfg(feature = "aws")]
fn proxied(clock: Arc<dyn Clock>) -> Option<Arc<dyn DatabaseRotator>> {
    Some(Arc::new(LambdaRotator::new(Arc::new(AwsInvoker::new()), clock)))
}

/// Has nobody do it.
#[cfg(not(feature = "aws"))]
fn proxied(_: Arc<dyn Clock>) -> Option<Arc<dyn DatabaseRotator>> {
    None
}

/// Rotators of everything we can rotate, which go through this gate.
#[must_use]
pub fn rotators(gate: &Arc<Gate>, clock: Arc<dyn Clock>, timings: Timings) -> Rotators {
    Rotators {
        postgresql: Arc::new(PostgresRotator::new(Arc::clone(gate))),
        mysql: Arc::new(MySqlRotator::new(Arc::clone(gate))),
        proxied: proxied(clock),
        timer: Arc::new(TokioTimer),
        timings,
    }
}
