//! Values of the metrics at the time of a scrape.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use secrets_core::Service;
use secrets_core::limits::SharedState;
use secrets_core::model::Time;
use secrets_core::runtime::{Supervisor, WatchRegistry};

use super::{METRICS, REQUESTS, RequestMetrics};
use crate::serve::memory::MemoryBudget;

/// Registry of all metrics of a server.
pub struct Scrape(Registry);

/// Objects from which the values of the metrics are read.
pub struct Sources {
    /// Request metrics.
    pub requests: RequestMetrics,
    /// Service whose state is measured.
    pub service: Arc<Service>,
    /// Supervisor of the background workers.
    pub supervisor: Supervisor,
    /// Memory budget for large request and response bodies.
    pub memory: Arc<MemoryBudget>,
    /// Environments and projects that clients watch.
    pub watches: Arc<WatchRegistry>,
    /// Time at which the server was started.
    pub started: Time,
}

/// Samples of a metric: for each sample, the label, if any, and the value.
type Samples = Vec<(Option<[(&'static str, &'static str); 1]>, f64)>;

impl Scrape {
    /// Creates the metrics of a server. Their values are read from these sources.
    pub fn new(sources: Sources) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(sources));
        Self(registry)
    }

    /// Returns all metrics in the text format of Prometheus. Returns `None` if formatting fails.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.0).ok().map(|()| text)
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

impl Collector for Sources {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for &(name, kind, help) in METRICS {
            // The encoder adds the suffix of counters.
            let base = name.strip_suffix("_total").unwrap_or(name);
            if name == REQUESTS {
                let durations = &self.requests.durations;
                let metric = encoder.encode_descriptor(base, help, None, MetricType::Histogram)?;
                durations.encode(metric)?;
                continue;
            }
            let is_counter = kind == "counter";
            let kind = if is_counter { MetricType::Counter } else { MetricType::Gauge };
            let mut metric = encoder.encode_descriptor(base, help, None, kind)?;
            for (label, value) in self.samples(name) {
                match label {
                    Some(label) => {
                        write_one(&mut metric.encode_family(&label)?, is_counter, value)?;
                    }
                    None => write_one(&mut metric, is_counter, value)?,
                }
            }
        }
        Ok(())
    }
}

fn write_one(metric: &mut MetricEncoder<'_>, is_counter: bool, value: f64) -> fmt::Result {
    if is_counter {
        metric.encode_counter::<NoLabelSet, f64, f64>(&value, None)
    } else {
        metric.encode_gauge(&value)
    }
}

impl Sources {
    /// Returns the current samples of the metric with this name.
    fn samples(&self, name: &str) -> Samples {
        match name {
            "secrets_memory_budget_bytes" => one(self.memory.size()),
            "secrets_memory_used_bytes" => one(self.memory.used()),
            "secrets_watches" => one(self.watches.usage().0 as u64),
            "secrets_watches_max" => one(self.watches.usage().1 as u64),
            "secrets_failing_items" => self.failing(),
            "secrets_refusals_total" => self.refusals(),
            "secrets_http_requests_in_flight" => {
                let in_flight = self.requests.counts.in_flight.load(Ordering::Relaxed);
                one(u64::try_from(in_flight).unwrap_or_default())
            }
            "secrets_build_info" => {
                vec![(Some([("version", env!("CARGO_PKG_VERSION"))]), 1.0)]
            }
            "process_start_time_seconds" => {
                one(u64::try_from(self.started.timestamp()).unwrap_or_default())
            }
            "process_resident_memory_bytes" => resident_memory().map(one).unwrap_or_default(),
            "secrets_worker_lag_seconds" => {
                let lags = self.service.engine().lags().into_iter();
                labelled("worker", lags.map(|(worker, lag)| (worker, lag.as_secs())))
            }
            _ if name.starts_with("secrets_redis_") => self.redis(name),
            _ if name.starts_with("secrets_key_set_") => self.key_set(name),
            _ if name.starts_with("secrets_worker_") => self.workers(name),
            _ if name.starts_with("secrets_database_connection") => self.connections(name),
            _ if name.starts_with("secrets_cache_") => self.cache(name),
            _ => self.counts(name),
        }
    }

    fn refusals(&self) -> Samples {
        let refusals = self.service.engine().refusals().values();
        labelled("bound", refusals.map(|(bound, count)| (bound.as_str(), count)))
    }

    fn counts(&self, name: &str) -> Samples {
        let counts = self.service.engine().counts();
        match name {
            "secrets_authentication_failures_total" => {
                one(self.requests.counts.authentication_failures.load(Ordering::Relaxed))
            }
            "secrets_operation_failures_total" => {
                let kinds = [("unavailable", counts.unavailable), ("internal", counts.internal)];
                labelled("reason", kinds)
            }
            "secrets_decryption_failures_total" => labelled("reason", counts.decryption_failures),
            "secrets_database_up" => one(u64::from(counts.is_store_up)),
            "secrets_audit_batches_total" => one(counts.audit_batches),
            "secrets_audit_entries_total" => one(counts.audit_entries),
            "secrets_audit_failures_total" => one(counts.audit_failures),
            "secrets_manifests_created_total" => one(counts.created_manifests),
            "secrets_audit_entries_waiting" => one(counts.audit_waiting),
            "secrets_audit_sealed_age_seconds" => {
                counts.audit_sealed_ago.map(|ago| one(ago.as_secs())).unwrap_or_default()
            }
            "secrets_rotation_attempts_total" => labelled("result", counts.rotations),
            "secrets_delivery_attempts_total" => labelled("result", counts.deliveries),
            _ => Vec::new(),
        }
    }

    fn redis(&self, name: &str) -> Samples {
        let windows = self.service.engine().windows();
        match windows.state() {
            SharedState::Absent => Vec::new(),
            _ if name == "secrets_redis_failures_total" => one(windows.failures()),
            state => one(u64::from(state == SharedState::Available)),
        }
    }

    fn key_set(&self, name: &str) -> Samples {
        let Some(usage) = self.service.engine().key_set() else { return Vec::new() };
        if name == "secrets_key_set_age_seconds" {
            return usage.age.map(|age| one(age.as_secs())).unwrap_or_default();
        }
        labelled("result", [("ok", usage.succeeded), ("failed", usage.failed)])
    }

    fn connections(&self, name: &str) -> Samples {
        let pools = self.service.engine().store_usage().pools;
        let value = |pool: &secrets_core::store::PoolUsage| match name {
            "secrets_database_connections_idle" => f64::from(pool.idle),
            "secrets_database_connections_max" => f64::from(pool.max),
            "secrets_database_connection_wait_seconds_total" => pool.waited.as_secs_f64(),
            "secrets_database_connection_failures_total" => number(pool.failures),
            _ => f64::from(pool.open),
        };
        pools.iter().map(|pool| (Some([("pool", pool.name)]), value(pool))).collect()
    }

    fn cache(&self, name: &str) -> Samples {
        let Some(cache) = self.service.engine().store_usage().cache else { return Vec::new() };
        match name {
            "secrets_cache_bytes" => one(cache.bytes),
            "secrets_cache_max_bytes" => one(cache.max_bytes),
            _ => labelled("result", [("hit", cache.hits), ("miss", cache.misses)]),
        }
    }

    fn workers(&self, name: &str) -> Samples {
        let is_age = name == "secrets_worker_heartbeat_age_seconds";
        let workers = self.supervisor.health().into_iter().map(|worker| {
            let value = if is_age { worker.age.as_secs() } else { u64::from(worker.is_running) };
            (worker.name, value)
        });
        labelled("worker", workers)
    }

    fn failing(&self) -> Samples {
        let mut kinds = std::collections::BTreeMap::new();
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
