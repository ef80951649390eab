//! Spans of requests, for traces. They have the names and attributes of the semantic conventions of
//! OpenTelemetry for HTTP servers, and no names, values or credentials.

use std::fmt::Display;

use tracing::field::Empty;
use tracing::{Span, info_span};
use warp::http::{HeaderMap, StatusCode};

/// Returns the span of a request. It is part of the client's trace if the header `traceparent`
/// (W3C Trace Context) names one.
pub(super) fn begin(method: &'static str, headers: &HeaderMap, id: &impl Display) -> Span {
    let span = info_span!(
        "request",
        otel.name = method,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = Empty,
        http.response.status_code = Empty,
        secrets.request_id = %id,
    );
    continue_trace(&span, headers);
    span
}

/// Records the response in the span of its request. `template` is the path template of the route.
pub(super) fn end(span: &Span, method: &str, template: &str, status: StatusCode) {
    if span.is_disabled() {
        return;
    }
    if !template.is_empty() {
        rename(span, format!("{method} {template}"));
        span.record("http.route", template);
    }
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

#[cfg(feature = "otel")]
fn continue_trace(span: &Span, headers: &HeaderMap) {
    use opentelemetry::Context;
    use opentelemetry::propagation::TextMapPropagator as _;
    use opentelemetry::trace::{SpanContext, TraceContextExt as _, TraceState};
    use opentelemetry_http::HeaderExtractor;
    use opentelemetry_sdk::propagation::TraceContextPropagator;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    if span.is_disabled() {
        return;
    }
    let client = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
    let client = client.span().span_context().clone();
    if !client.is_valid() {
        return;
    }
    // The header `tracestate` is not used, because it can contain any text.
    let (trace, parent, flags) = (client.trace_id(), client.span_id(), client.trace_flags());
    let client = SpanContext::new(trace, parent, flags, true, TraceState::default());
    // Fails only if no traces are exported.
    span.set_parent(Context::new().with_remote_span_context(client)).ok();
}

/// Changes the name of a span. (A new value of its field `otel.name` would have no effect.)
#[cfg(feature = "otel")]
fn rename(span: &Span, name: String) {
    use opentelemetry::trace::TraceContextExt as _;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    span.context().span().update_name(name);
}

#[cfg(not(feature = "otel"))]
fn rename(_: &Span, _: String) {}

#[cfg(not(feature = "otel"))]
fn continue_trace(_: &Span, _: &HeaderMap) {}
