//! Metrics for Prometheus, served on a separate listener.
//!
//! Recording a request takes only a few relaxed atomic operations. All other values are read during
//! a scrape, from the memory of the process: a scrape never accesses the database, so it works
//! while the database does not respond. Labels have a bounded number of values, which are names in
//! the code, never a path, ID, credential or key.

mod listener;
mod scrape;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

pub use listener::serve;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
pub use scrape::{Scrape, Sources};
pub use table::{METRICS, Metric};
use warp::http::StatusCode;

/// Upper bounds of the buckets of the histogram of request durations, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 4.0, 10.0];

/// Request metrics. All clones share the same values.
#[derive(Debug, Clone)]
pub struct RequestMetrics {
    durations: Family<RequestLabels, Histogram, fn() -> Histogram>,
    counts: Arc<RequestCounts>,
}

/// Metric labels of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: &'static str,
    status: &'static str,
}

#[derive(Debug, Default)]
struct RequestCounts {
    in_flight: AtomicI64,
    authentication_failures: AtomicU64,
}

/// Request that has no response yet. It counts as in progress until this value is dropped.
pub struct InFlight(Arc<RequestCounts>);

impl Default for RequestMetrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        Self { durations: Family::new_with_constructor(histogram), counts: Arc::default() }
    }
}

impl RequestMetrics {
    /// Counts a request as in progress until the returned value is dropped.
    #[must_use]
    pub fn begin(&self) -> InFlight {
        self.counts.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(&self.counts))
    }

    /// Records the response to a request. `method` is one of a fixed set of names; `route` is a
    /// path template, or empty if there is no route for the path.
    pub fn record(
        &self,
        method: &'static str,
        route: &'static str,
        status: StatusCode,
        duration: Duration,
    ) {
        let labels = RequestLabels {
            method,
            route: if route.is_empty() { "none" } else { route },
            status: class(status),
        };
        self.durations.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    /// Counts a credential that was refused.
    pub fn count_authentication_failure(&self) {
        self.counts.authentication_failures.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        ..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    }
}
