//! Tests of the traces that the server program exports with OpenTelemetry.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use http::Method;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use secrets_tests::{Receiver, Taken, paths, targets, until};
use serde_json::json;
use tokio::net::TcpListener;

use crate::program::{Program, folder, jwt, log_path};

/// Trace and span that a client names in the header `traceparent`.
const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
const PARENT: u64 = 0xb7ad_6b71_6920_3331;

/// Credential that the program sends to the collector.
const CREDENTIAL: &str = "kvc_collector_credential";

/// Password in the URL of the collector.
const PASSWORD: &str = "kvc_collector_password";

/// Certificate that did not sign the certificates of the test servers.
const OTHER_AUTHORITY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../secrets-http/src/testdata/certificate.pem");

fn serve(name: &str, folder: &Path, collector: &str) -> Program {
    Program::serve(name, &folder.join("secrets.db"))
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        .with("OTEL_EXPORTER_OTLP_HEADERS", &format!("authorization={CREDENTIAL}"))
        .with("OTEL_BSP_SCHEDULE_DELAY", "50")
        .with("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
}

/// Returns the spans of these exports, after checking their form and their resource.
fn spans(taken: &[Taken]) -> Vec<Span> {
    let mut spans = Vec::new();
    for export in taken {
        assert_eq!(export.line, "POST /v1/traces");
        let export = ExportTraceServiceRequest::decode(&*export.bytes).unwrap();
        for of_resource in export.resource_spans {
            let attributes = of_resource.resource.unwrap().attributes;
            let name = attributes.into_iter().find(|attribute| attribute.key == "service.name");
            let name = name.unwrap().value.unwrap().value.unwrap();
            assert_eq!(name, Value::StringValue("secrets".to_owned()));
            spans.extend(of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    spans
}

fn attributes(span: &Span) -> HashMap<&str, &Value> {
    let attributes = span.attributes.iter();
    attributes
        .map(|KeyValue { key, value, .. }| (key.as_str(), value.as_ref().unwrap()))
        .map(|(key, value)| (key, value.value.as_ref().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_a_trace_without_names_values_and_credentials() {
    let folder = folder("traces");
    let collector = Receiver::start().await;
    let mut program = serve("traces", &folder, &collector.url("")).start();
    let alice = program.person("alice").await;
    let project = alice.project("Orchard").await;
    alice.secret(&project, "production", "HARVEST_KEY", "kvc_apples").await;
    let path = paths::secret(&project, "production", "HARVEST_KEY");

    let parent = format!("00-{TRACE:032x}-{PARENT:016x}-01");
    alice.raw(Method::GET, &path, &[("traceparent", &parent)], "").await.is(200);
    alice.get(&path.replace("HARVEST_KEY", "NONE")).await.is(404);
    assert!(program.terminate(Duration::from_secs(20)).success());

    let taken = collector.taken();
    let spans = spans(&taken);
    let route = "/api/v1/projects/{projectId}/environments/{environmentId}/secrets/{key}";
    let requests = || spans.iter().filter(|span| span.name == format!("GET {route}"));
    let found = requests().find(|span| span.trace_id == TRACE.to_be_bytes()).unwrap();
    assert_eq!(found.parent_span_id, PARENT.to_be_bytes());
    assert_eq!(found.kind(), SpanKind::Server);
    let of_found = attributes(found);
    assert_eq!(of_found["http.request.method"], &Value::StringValue("GET".to_owned()));
    assert_eq!(of_found["http.route"], &Value::StringValue(route.to_owned()));
    assert_eq!(of_found["http.response.status_code"], &Value::IntValue(200));
    let missing = requests().find(|span| span.trace_id != TRACE.to_be_bytes()).unwrap();
    assert!(missing.parent_span_id.is_empty());
    assert_eq!(attributes(missing)["http.response.status_code"], &Value::IntValue(404));
    assert!(missing.status.as_ref().is_none_or(|status| status.code() == StatusCode::Unset));

    // Every other span of the trace is below the request.
    let inner: Vec<_> =
        spans.iter().filter(|span| span.trace_id == found.trace_id && *span != found).collect();
    for name in ["authenticate", "secret.get", "SQL", "record audit entry"] {
        assert!(inner.iter().any(|span| span.name == name), "no span {name}");
    }
    for span in &inner {
        let is_parent = |other: &&Span| other.span_id == span.parent_span_id;
        let parent = spans.iter().find(is_parent).unwrap();
        assert_eq!(parent.trace_id, found.trace_id);
    }

    let secret = [jwt("alice"), "Orchard".to_owned(), "HARVEST_KEY".to_owned()];
    let secret = secret.iter().map(String::as_str).chain(["kvc_apples", "alice@example.com"]);
    for text in secret {
        let holds = |export: &Taken| memchr::memmem::find(&export.bytes, text.as_bytes()).is_some();
        assert!(!taken.iter().any(holds), "a trace contains {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn periodic_background_work_makes_no_traces() {
    let folder = folder("traces_idle");
    let collector = Receiver::start().await;
    let mut program = serve("traces_idle", &folder, &collector.url("")).start();
    program.person("alice").await;
    // Waits until the workers have stored the audit entry of the sign-in.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(program.terminate(Duration::from_secs(20)).success());

    let spans = spans(&collector.taken());
    let roots = spans.iter().filter(|span| span.parent_span_id.is_empty());
    let names: Vec<_> = roots.map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["POST /api/v1/auth/sync"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_does_not_answer_delays_neither_requests_nor_the_stop() {
    let folder = folder("traces_stalled");
    // Accepts connections, but never responds.
    let collector = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", collector.local_addr().unwrap());
    let mut program = serve("traces_stalled", &folder, &url)
        // The queue is too small for all spans of the requests.
        .with("OTEL_BSP_MAX_QUEUE_SIZE", "16")
        .with("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
        .start();
    let client = program.bearer(&jwt("alice"));

    for _ in 0..50 {
        let began = Instant::now();
        client.post("/api/v1/auth/sync", &json!({})).await.is(200);
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    // Shorter than the timeout of an export, which is 60 seconds.
    assert!(program.terminate(Duration::from_secs(30)).success());
    drop(collector);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_are_exported_over_tls_if_the_certificate_is_trusted() {
    let folder = folder("traces_tls");
    let collector = Receiver::start_with_tls().await;
    let authority = targets::servers().join("ca.pem");
    let mut program = serve("traces_tls", &folder, &collector.url(""))
        .with("SSL_CERT_FILE", authority.to_str().unwrap())
        .start();

    program.person("alice").await;
    assert!(program.terminate(Duration::from_secs(20)).success());

    let taken = collector.taken();
    assert!(spans(&taken).iter().any(|span| span.name == "POST /api/v1/auth/sync"));
    assert!(taken.iter().all(|export| export.header("authorization") == CREDENTIAL));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_with_an_untrusted_certificate_gets_nothing_and_delays_no_request() {
    let name = "traces_untrusted";
    let folder = folder(name);
    let _ = fs::remove_file(log_path(name));
    let collector = Receiver::start_with_tls().await;
    let url = collector.url("").replace("https://", &format!("https://user:{PASSWORD}@"));
    let mut program = serve(name, &folder, &url)
        .with("SECRETS_LOG", "debug")
        .with("SSL_CERT_FILE", OTHER_AUTHORITY)
        // The queue is too small for all spans of the requests.
        .with("OTEL_BSP_MAX_QUEUE_SIZE", "16")
        .with("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
        .start();
    let token = jwt("alice");
    let client = program.bearer(&token);

    for _ in 0..50 {
        let began = Instant::now();
        client.post("/api/v1/auth/sync", &json!({})).await.is(200);
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    let log = || fs::read_to_string(log_path(name)).unwrap();
    let is_failure = |line: &str| line.contains("ERROR") && line.contains("HTTP export failed");
    until("the log has a failed export", async || log().lines().any(is_failure)).await;

    // Shorter than the timeout of an export, which is 60 seconds.
    assert!(program.terminate(Duration::from_secs(30)).success());
    assert!(collector.connections() > 0);
    assert!(collector.taken().is_empty());
    let log = log();
    for secret in [CREDENTIAL, PASSWORD, &token] {
        assert!(!log.contains(secret), "the log contains {secret}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_names_the_reason_why_traces_are_not_exported() {
    let name = "traces_not_exported";
    let folder = folder(name);
    let empty = folder.join("empty.pem");
    fs::write(&empty, "").unwrap();
    let cases = [
        ("SSL_CERT_FILE", empty.to_str().unwrap(), "the HTTP client cannot be created"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", PASSWORD, "an OTEL_ variable is invalid"),
    ];
    for (variable, value, reason) in cases {
        let _ = fs::remove_file(log_path(name));
        let collector = "https://collector.test";
        let mut program = serve(name, &folder, collector).with(variable, value).start();
        assert!(program.terminate(Duration::from_secs(30)).success());

        let log = fs::read_to_string(log_path(name)).unwrap();
        let expected = format!("traces are not exported: {reason}");
        assert!(log.contains(&expected), "{variable}: {log}");
        assert!(!log.contains(PASSWORD), "the log contains the value of {variable}");
    }
}
