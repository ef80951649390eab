//! Database rotators of this process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrets_core::egress::Gate;
use secrets_core::model::Clock;
#[cfg(feature = "aws")]
use secrets_core::ports::rotator::DatabaseRotator;
use secrets_core::ports::rotators::{Rotators, Timings};
use secrets_core::ports::timer::Timer;
use secrets_core::rotators::drivers::{MySqlRotator, PostgresRotator};
#[cfg(feature = "aws")]
use secrets_core::rotators::lambda::{AwsInvoker, LambdaRotator};

/// Timer of the tokio runtime.
struct TokioTimer;

#[async_trait]
impl Timer for TokioTimer {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Creates the rotators of all supported databases. Direct connections go through the egress gate.
#[must_use]
pub fn rotators(gate: &Arc<Gate>, clock: Arc<dyn Clock>, timings: Timings) -> Rotators {
    #[cfg(feature = "aws")]
    let proxied: Option<Arc<dyn DatabaseRotator>> =
        Some(Arc::new(LambdaRotator::new(Arc::new(AwsInvoker::new()), clock)));
    #[cfg(not(feature = "aws"))]
    let (proxied, _) = (None, clock);
    Rotators {
        postgresql: Arc::new(PostgresRotator::new(Arc::clone(gate))),
        mysql: Arc::new(MySqlRotator::new(Arc::clone(gate))),
        proxied,
        timer: Arc::new(TokioTimer),
        timings,
    }
}
