//! Export of traces with OpenTelemetry, configured by its standard environment variables. Without
//! the feature `otel`, no traces are exported.

#[cfg(feature = "otel")]
pub(super) use self::export::{layer, stop};

/// Environment variables that name the collector of traces, and so turn on their export.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// True if a collector is configured, and the standard variable for it does not turn traces off.
pub(super) fn is_configured() -> bool {
    let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_disabled = value("OTEL_SDK_DISABLED")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || value("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    !is_disabled && ENDPOINTS.into_iter().any(|name| value(name).is_some())
}

#[cfg(not(feature = "otel"))]
pub(super) fn layer() -> tracing_subscriber::layer::Identity {
    tracing_subscriber::layer::Identity::new()
}

#[cfg(not(feature = "otel"))]
pub(super) fn stop() {}

#[cfg(feature = "otel")]
mod export {
    use std::sync::Mutex;
    use std::time::Duration;

    use opentelemetry::KeyValue;
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use secrets_core::model::lock::lock;
    use tracing::{Metadata, Subscriber};
    use tracing_subscriber::filter::dynamic_filter_fn;
    use tracing_subscriber::layer::{Context, Layer};
    use tracing_subscriber::registry::LookupSpan;

    /// Names of the spans that begin a trace. Without them, the statements of periodic jobs would
    /// each be a trace.
    const ROOTS: [&str; 2] = ["job", "request"];

    /// Maximum time for the export of the last spans when the program ends.
    const STOP_TIMEOUT: Duration = Duration::from_secs(2);

    static PROVIDER: Mutex<Option<SdkTracerProvider>> = Mutex::new(None);

    /// Starts the export of spans if a collector is configured, and returns the layer that records
    /// them. The export has its own thread and a bounded queue, and drops spans if the collector
    /// does not accept them.
    pub(in super::super) fn layer<S>() -> Option<impl Layer<S>>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let exporter = super::is_configured().then(|| SpanExporter::builder().with_http().build());
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter?.ok()?)
            .with_resource(resource())
            .build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("secrets"))
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(dynamic_filter_fn(is_for_trace));
        *lock(&PROVIDER) = Some(provider);
        Some(layer)
    }

    /// Exports the remaining spans, and stops the export.
    pub(in super::super) fn stop() {
        if let Some(provider) = lock(&PROVIDER).take() {
            // The exporter logs its failures.
            provider.shutdown_with_timeout(STOP_TIMEOUT).ok();
        }
    }

    /// True for the spans of this program. The packages that it uses have spans too, such as those
    /// of the HTTP client that exports.
    fn is_for_trace<S>(line: &Metadata<'_>, context: &Context<'_, S>) -> bool
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        line.is_span()
            && line.target().starts_with("secrets_")
            && (ROOTS.contains(&line.name()) || context.lookup_current().is_some())
    }

    fn resource() -> Resource {
        let resource = Resource::builder()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        match std::env::var("OTEL_SERVICE_NAME") {
            Ok(name) if !name.is_empty() => resource.build(),
            _ => resource.with_service_name("secrets").build(),
        }
    }
}
