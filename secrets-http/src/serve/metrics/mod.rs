//! Metrics for Prometheus, served on a separate listener.
//!
//! Recording a request takes only a few relaxed atomic operations. All other values are read during
//! a scrape, from the memory of the process: a scrape never accesses the database, so it works
//! while the database does not respond. Labels have a bounded number of values, which are names in
//! the code, never a path, ID, credential or key.

mod listener;
mod scrape;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

pub use listener::serve;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
pub use scrape::{Scrape, Sources};
use warp::http::StatusCode;

/// Name, type and description of each metric. The documentation for operators repeats this table.
pub const METRICS: &[(&str, &str, &str)] = &[
    (REQUESTS, "histogram", "Time from a request to the head of its response"),
    ("secrets_http_requests_in_flight", "gauge", "Requests without a response yet"),
    ("secrets_refusals_total", "counter", "Requests refused by a bound of the service"),
    ("secrets_redis_up", "gauge", "1 if the last access to Redis succeeded"),
    ("secrets_redis_failures_total", "counter", "Accesses to Redis that failed"),
    (
        "secrets_authentication_failures_total",
        "counter",
        "Credentials that were invalid or expired",
    ),
    (
        "secrets_key_set_age_seconds",
        "gauge",
        "Time since the keys of the identity provider were last fetched",
    ),
    ("secrets_key_set_fetches_total", "counter", "Fetches of the keys of the identity provider"),
    ("secrets_operation_failures_total", "counter", "Operations that failed in the service"),
    ("secrets_decryption_failures_total", "counter", "Stored records that could not be decrypted"),
    ("secrets_database_up", "gauge", "1 if the last health check reached the database"),
    ("secrets_database_connections", "gauge", "Open connections to the database"),
    ("secrets_database_connections_idle", "gauge", "Open connections that are not in use"),
    ("secrets_database_connections_max", "gauge", "Maximum number of connections"),
    (
        "secrets_database_connection_wait_seconds_total",
        "counter",
        "Time that was spent waiting for a connection to the database",
    ),
    (
        "secrets_database_connection_failures_total",
        "counter",
        "Waits that ended without a connection to the database",
    ),
    ("secrets_cache_bytes", "gauge", "Size of the cache of encrypted records"),
    ("secrets_cache_max_bytes", "gauge", "Maximum size of the cache"),
    ("secrets_cache_lookups_total", "counter", "Lookups in the cache"),
    (
        "secrets_audit_batches_total",
        "counter",
        "Batches of audit entries of reads that were stored",
    ),
    ("secrets_audit_entries_total", "counter", "Audit entries of reads that were stored"),
    (
        "secrets_audit_failures_total",
        "counter",
        "Batches of audit entries that could not be stored",
    ),
    (
        "secrets_manifests_created_total",
        "counter",
        "Manifests that were created for environments without a current one",
    ),
    ("secrets_audit_entries_waiting", "gauge", "Audit entries that wait for their batch"),
    (
        "secrets_audit_sealed_age_seconds",
        "gauge",
        "Time since the node last found all entries in the hash chains of the audit log",
    ),
    ("secrets_rotation_attempts_total", "counter", "Attempts to rotate a credential that ended"),
    ("secrets_delivery_attempts_total", "counter", "Attempts to send mail or webhooks"),
    ("secrets_watches", "gauge", "Open watches of environments and projects"),
    ("secrets_watches_max", "gauge", "Maximum number of watches"),
    (
        "secrets_worker_lag_seconds",
        "gauge",
        "Age of the oldest due item that waits because a node is busy",
    ),
    ("secrets_worker_up", "gauge", "1 if a worker completes its rounds in time"),
    ("secrets_worker_heartbeat_age_seconds", "gauge", "Time since a worker's last completed round"),
    ("secrets_failing_items", "gauge", "Items of background work that fail on this node"),
    (
        "secrets_memory_budget_bytes",
        "gauge",
        "Memory for large bodies, decryption and key derivation",
    ),
    (
        "secrets_memory_used_bytes",
        "gauge",
        "Memory that large bodies, decryption and key derivation use",
    ),
    ("secrets_build_info", "gauge", "1, with the version as a label"),
    ("process_start_time_seconds", "gauge", "Start of the process, in Unix time"),
    ("process_resident_memory_bytes", "gauge", "Memory of the process"),
];

/// Name of the histogram of request durations.
const REQUESTS: &str = "secrets_http_request_duration_seconds";

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
