//! Table of all metrics, and the functions that read their values.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::metrics::MetricType;
use secrets_core::engine::Counts;
use secrets_core::limits::{SharedState, SharedWindows};
use secrets_core::ports::identity::KeySetUsage;
use secrets_core::runtime::WorkerHealth;
use secrets_core::store::{CacheUsage, PoolUsage};

use super::Sources;

/// A metric: its name, type and description, and the function that reads its values.
pub struct Metric {
    /// Name of the metric.
    pub name: &'static str,
    /// Description of the metric.
    pub help: &'static str,
    pub(super) values: Values,
}

/// Type of a metric, and the function that reads its current samples.
pub(super) enum Values {
    /// Histogram of the durations of requests.
    RequestDurations,
    /// Number that only increases.
    Counter(fn(&Sources) -> Samples),
    /// Number that increases and decreases.
    Gauge(fn(&Sources) -> Samples),
}

/// Samples of a metric: for each sample, the label, if any, and the value.
type Samples = Vec<(Option<[(&'static str, &'static str); 1]>, f64)>;

/// All metrics. The documentation for operators repeats their names, types and descriptions.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "secrets_http_request_duration_seconds",
        help: "Time from a request to the head of its response",
        values: Values::RequestDurations,
    },
    gauge("secrets_http_requests_in_flight", "Requests without a response yet", |sources| {
        let in_flight = sources.requests.counts.in_flight.load(Ordering::Relaxed);
        one(u64::try_from(in_flight).unwrap_or_default())
    }),
    counter(
        "secrets_refusals_total",
        "Requests refused by a bound of the service",
        Sources::refusals,
    ),
    gauge("secrets_redis_up", "1 if the last access to Redis succeeded", |sources| {
        sources.redis(|windows| u64::from(windows.state() == SharedState::Available))
    }),
    counter("secrets_redis_failures_total", "Accesses to Redis that failed", |sources| {
        sources.redis(SharedWindows::failures)
    }),
    counter(
        "secrets_authentication_failures_total",
        "Credentials that were invalid or expired",
        |sources| one(sources.requests.counts.authentication_failures.load(Ordering::Relaxed)),
    ),
    gauge(
        "secrets_key_set_age_seconds",
        "Time since the keys of the identity provider were last fetched",
        |sources| sources.key_set(|keys| seconds(keys.age)),
    ),
    counter(
        "secrets_key_set_fetches_total",
        "Fetches of the keys of the identity provider",
        |sources| {
            sources.key_set(|keys| {
                labelled("result", [("ok", keys.succeeded), ("failed", keys.failed)])
            })
        },
    ),
    counter(
        "secrets_operation_failures_total",
        "Operations that failed in the service",
        Sources::operation_failures,
    ),
    counter(
        "secrets_decryption_failures_total",
        "Stored records that could not be decrypted",
        |sources| labelled("reason", sources.counts().decryption_failures),
    ),
    gauge("secrets_database_up", "1 if the last health check reached the database", |sources| {
        one(u64::from(sources.counts().is_store_up))
    }),
    gauge("secrets_database_connections", "Open connections to the database", |sources| {
        sources.pools(|pool| f64::from(pool.open))
    }),
    gauge("secrets_database_connections_idle", "Open connections that are not in use", |sources| {
        sources.pools(|pool| f64::from(pool.idle))
    }),
    gauge("secrets_database_connections_max", "Maximum number of connections", |sources| {
        sources.pools(|pool| f64::from(pool.max))
    }),
    counter(
        "secrets_database_connection_wait_seconds_total",
        "Time that was spent waiting for a connection to the database",
        |sources| sources.pools(|pool| pool.waited.as_secs_f64()),
    ),
    counter(
        "secrets_database_connection_failures_total",
        "Waits that ended without a connection to the database",
        |sources| sources.pools(|pool| number(pool.failures)),
    ),
    gauge("secrets_cache_bytes", "Size of the cache of encrypted records", |sources| {
        sources.cache(|cache| one(cache.bytes))
    }),
    gauge("secrets_cache_max_bytes", "Maximum size of the cache", |sources| {
        sources.cache(|cache| one(cache.max_bytes))
    }),
    counter("secrets_cache_lookups_total", "Lookups in the cache", |sources| {
        sources.cache(|cache| labelled("result", [("hit", cache.hits), ("miss", cache.misses)]))
    }),
    counter(
        "secrets_audit_batches_total",
        "Batches of audit entries of reads that were stored",
        |sources| one(sources.counts().audit_batches),
    ),
    counter("secrets_audit_entries_total", "Audit entries of reads that were stored", |sources| {
        one(sources.counts().audit_entries)
    }),
    counter(
        "secrets_audit_failures_total",
        "Batches of audit entries that could not be stored",
        |sources| one(sources.counts().audit_failures),
    ),
    counter(
        "secrets_manifests_created_total",
        "Manifests that were created for environments without a current one",
        |sources| one(sources.counts().created_manifests),
    ),
    gauge("secrets_audit_entries_waiting", "Audit entries that wait for their batch", |sources| {
        one(sources.counts().audit_waiting)
    }),
    gauge(
        "secrets_audit_sealed_age_seconds",
        "Time since the node last found all entries in the hash chains of the audit log",
        |sources| seconds(sources.counts().audit_sealed_ago),
    ),
    counter(
        "secrets_rotation_attempts_total",
        "Attempts to rotate a credential that ended",
        |sources| labelled("result", sources.counts().rotations),
    ),
    counter("secrets_delivery_attempts_total", "Attempts to send mail or webhooks", |sources| {
        labelled("result", sources.counts().deliveries)
    }),
    gauge("secrets_watches", "Open watches of environments and projects", |sources| {
        one(sources.watches.usage().0 as u64)
    }),
    gauge("secrets_watches_max", "Maximum number of watches", |sources| {
        one(sources.watches.usage().1 as u64)
    }),
    gauge(
        "secrets_worker_lag_seconds",
        "Age of the oldest due item that waits because a node is busy",
        Sources::worker_lags,
    ),
    gauge("secrets_worker_up", "1 if a worker looks for work in time", |sources| {
        sources.workers(|worker| u64::from(worker.is_running))
    }),
    gauge(
        "secrets_worker_heartbeat_age_seconds",
        "Time since a worker last looked for work",
        |sources| sources.workers(|worker| worker.age.as_secs()),
    ),
    gauge(
        "secrets_failing_items",
        "Items of background work, and workers, that fail on this node",
        Sources::failing_items,
    ),
    gauge(
        "secrets_memory_budget_bytes",
        "Memory for large bodies, decryption and key derivation",
        |sources| one(sources.memory.size()),
    ),
    gauge(
        "secrets_memory_used_bytes",
        "Memory that large bodies, decryption and key derivation use",
        |sources| one(sources.memory.used()),
    ),
    gauge("secrets_build_info", "1, with the version as a label", |_| {
        vec![(Some([("version", env!("CARGO_PKG_VERSION"))]), 1.0)]
    }),
    gauge("process_start_time_seconds", "Start of the process, in Unix time", |sources| {
        one(u64::try_from(sources.started.timestamp()).unwrap_or_default())
    }),
    gauge("process_resident_memory_bytes", "Memory of the process", |_| {
        resident_memory().map(one).unwrap_or_default()
    }),
];

const fn counter(name: &'static str, help: &'static str, read: fn(&Sources) -> Samples) -> Metric {
    Metric { name, help, values: Values::Counter(read) }
}

const fn gauge(name: &'static str, help: &'static str, read: fn(&Sources) -> Samples) -> Metric {
    Metric { name, help, values: Values::Gauge(read) }
}

impl Metric {
    /// Returns the type of the metric.
    #[must_use]
    pub fn kind(&self) -> MetricType {
        match self.values {
            Values::RequestDurations => MetricType::Histogram,
            Values::Counter(_) => MetricType::Counter,
            Values::Gauge(_) => MetricType::Gauge,
        }
    }
}

impl Sources {
    fn counts(&self) -> Counts {
        self.service.engine().counts()
    }

    fn refusals(&self) -> Samples {
        let refusals = self.service.engine().refusals().values();
        labelled("bound", refusals.map(|(bound, count)| (bound.as_str(), count)))
    }

    fn operation_failures(&self) -> Samples {
        let counts = self.counts();
        labelled("reason", [("unavailable", counts.unavailable), ("internal", counts.internal)])
    }

    /// Returns a sample without a label if the nodes share counters on a Redis server.
    fn redis(&self, value: fn(&SharedWindows) -> u64) -> Samples {
        let windows = self.service.engine().windows();
        if windows.state() == SharedState::Absent { Vec::new() } else { one(value(windows)) }
    }

    /// Returns the samples of the identity provider's key set, if there is a provider.
    fn key_set(&self, samples: fn(KeySetUsage) -> Samples) -> Samples {
        self.service.engine().key_set().map(samples).unwrap_or_default()
    }

    /// Returns a sample for each pool of database connections.
    fn pools(&self, value: fn(&PoolUsage) -> f64) -> Samples {
        let pools = self.service.engine().store_usage().pools;
        pools.iter().map(|pool| (Some([("pool", pool.name)]), value(pool))).collect()
    }

    /// Returns the samples of the cache, if the store has one.
    fn cache(&self, samples: fn(CacheUsage) -> Samples) -> Samples {
        self.service.engine().store_usage().cache.map(samples).unwrap_or_default()
    }

    /// Returns a sample for each worker.
    fn workers(&self, value: fn(&WorkerHealth) -> u64) -> Samples {
        let workers = self.supervisor.health();
        labelled("worker", workers.iter().map(|worker| (worker.name, value(worker))))
    }

    fn worker_lags(&self) -> Samples {
        let lags = self.service.engine().lags().into_iter();
        labelled("worker", lags.map(|(worker, lag)| (worker, lag.as_secs())))
    }

    fn failing_items(&self) -> Samples {
        let mut kinds = BTreeMap::new();
        for failing in self.service.engine().failing() {
            *kinds.entry(failing.item.kind()).or_insert(0) += 1;
        }
        labelled("work", kinds)
    }
}

fn labelled(label: &'static str, values: impl IntoIterator<Item = (&'static str, u64)>) -> Samples {
    values.into_iter().map(|(name, value)| (Some([(label, name)]), number(value))).collect()
}

fn one(value: u64) -> Samples {
    vec![(None, number(value))]
}

/// Returns a sample of a duration in seconds; no sample for `None`.
fn seconds(duration: Option<Duration>) -> Samples {
    duration.map(|duration| one(duration.as_secs())).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus stores numbers as floats")]
fn number(value: u64) -> f64 {
    value as f64
}

/// Returns the resident memory of the process, in bytes. Available only on Linux.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024)
}
