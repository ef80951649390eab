//! Text of all metrics at the time of a scrape.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet,
};
use prometheus_client::registry::Registry;
use secrets_core::Service;
use secrets_core::model::Time;
use secrets_core::runtime::{Supervisor, WatchRegistry};

use super::table::Values;
use super::{METRICS, RequestMetrics};
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
        for metric in METRICS {
            // The encoder adds the suffix of counters.
            let base = metric.name.strip_suffix("_total").unwrap_or(metric.name);
            let mut output = encoder.encode_descriptor(base, metric.help, None, metric.kind())?;
            let (samples, is_counter) = match metric.values {
                Values::RequestDurations => {
                    self.requests.durations.encode(output)?;
                    continue;
                }
                Values::Counter(read) => (read(self), true),
                Values::Gauge(read) => (read(self), false),
            };
            for (label, value) in samples {
                match label {
                    Some(label) => {
                        write_one(&mut output.encode_family(&label)?, is_counter, value)?;
                    }
                    None => write_one(&mut output, is_counter, value)?,
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
