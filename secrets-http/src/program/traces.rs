//! Export of traces with OpenTelemetry, configured by its standard environment variables. Without
//! the feature `otel`, no traces are exported.

#[cfg(feature = "otel")]
pub(super) use self::export::{layer, stop};

/// Environment variables that name the collector of traces, and so turn on their export.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Reason why traces are not exported. Does not contain the error of the exporter, which may
/// contain the value of a variable, such as a URL with a credential.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "fails with the feature `otel`"))]
pub(super) enum NotExported {
    /// A variable of OpenTelemetry is invalid.
    InvalidVariable,
    /// The HTTP client cannot be created, for example because the system has no certificate
    /// authorities.
    NoClient,
}

/// True if a collector is configured, and neither `OTEL_SDK_DISABLED` nor `OTEL_TRACES_EXPORTER`
/// turns traces off.
#[expect(clippy::disallowed_methods, reason = "the variables are read by the exporter, not by us")]
pub(super) fn is_configured() -> bool {
    let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_disabled = value("OTEL_SDK_DISABLED")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || value("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    !is_disabled && ENDPOINTS.into_iter().any(|name| value(name).is_some())
}

#[cfg(not(feature = "otel"))]
#[expect(clippy::unnecessary_wraps, reason = "fails with the feature `otel`")]
pub(super) fn layer() -> Result<Option<tracing_subscriber::layer::Identity>, NotExported> {
    Ok(None)
}

#[cfg(not(feature = "otel"))]
pub(super) fn stop() {}

#[cfg(feature = "otel")]
mod export {
    use std::sync::Mutex;
    use std::time::Duration;

    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry::{Key, KeyValue};
    use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use secrets_core::model::lock::lock;
    use tracing::subscriber::Interest;
    use tracing::{Metadata, Subscriber};
    use tracing_subscriber::filter::DynFilterFn;
    use tracing_subscriber::layer::{Context, Layer};
    use tracing_subscriber::registry::LookupSpan;

    use super::{NotExported, is_configured};

    /// Names of the spans that begin a trace. Other spans are recorded only inside a trace.
    /// Otherwise, each SQL statement outside a job or request would be a trace of its own.
    const ROOTS: [&str; 2] = ["job", "request"];

    /// Maximum time for the export of the last spans when the program ends.
    const STOP_TIMEOUT: Duration = Duration::from_secs(2);

    static PROVIDER: Mutex<Option<SdkTracerProvider>> = Mutex::new(None);

    /// Starts the export of spans if a collector is configured, and returns the layer that records
    /// them. The export has its own thread and a bounded queue, and drops spans if the collector
    /// does not accept them.
    pub(in super::super) fn layer<S>() -> Result<Option<impl Layer<S>>, NotExported>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        if !is_configured() {
            return Ok(None);
        }
        let exporter =
            SpanExporter::builder().with_http().build().map_err(|error| match error {
                ExporterBuildError::InternalFailure(_) => NotExported::NoClient,
                ExporterBuildError::InvalidConfiguration(_) => NotExported::InvalidVariable,
            })?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource())
            .build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("secrets"))
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(DynFilterFn::new(is_for_trace).with_callsite_filter(|line| {
                if is_own_span(line) { Interest::sometimes() } else { Interest::never() }
            }));
        *lock(&PROVIDER) = Some(provider);
        Ok(Some(layer))
    }

    /// Exports the remaining spans, and stops the export.
    pub(in super::super) fn stop() {
        if let Some(provider) = lock(&PROVIDER).take() {
            // The exporter logs its failures.
            provider.shutdown_with_timeout(STOP_TIMEOUT).ok();
        }
    }

    /// True for the spans of this program. Its libraries have spans too, such as those of the HTTP
    /// client that exports the traces.
    fn is_own_span(line: &Metadata<'_>) -> bool {
        line.is_span() && line.target().starts_with("secrets_")
    }

    fn is_for_trace<S>(line: &Metadata<'_>, context: &Context<'_, S>) -> bool
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        is_own_span(line) && (ROOTS.contains(&line.name()) || context.lookup_current().is_some())
    }

    /// Returns the attributes of this process. The variables of OpenTelemetry have precedence.
    fn resource() -> Resource {
        let given = Resource::builder().build();
        let is_given = |name| {
            let value = given.get(&Key::from_static_str(name));
            value.is_some_and(|value| !value.as_str().starts_with("unknown_service"))
        };
        let own = [("service.name", "secrets"), ("service.version", env!("CARGO_PKG_VERSION"))];
        let missing = own.into_iter().filter(|(name, _)| !is_given(name));
        let missing = missing.map(|(name, value)| KeyValue::new(name, value));
        Resource::builder().with_attributes(missing).build()
    }
}
