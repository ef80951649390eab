//! Waiting for a condition, with a time limit.

use std::time::{Duration, Instant};

/// Maximum wait. It is long because other tests use the processors at the same time.
const LIMIT: Duration = Duration::from_secs(90);

/// Waits until `is_so` returns true. Panics with `what` after 90 seconds.
#[track_caller]
pub fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    let what = what.to_owned();
    async move {
        let began = Instant::now();
        while !is_so().await {
            assert!(began.elapsed() < LIMIT, "timeout: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
