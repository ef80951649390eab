//! Tests of the metrics, read over HTTP from a running server.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use secrets_core::Service;
use secrets_core::crypto::Key;
use secrets_core::jwt::{DevKey, Expectations, FixedVerifier};
use secrets_core::model::{Bound, Clock, SystemClock, Time};
use secrets_core::ports::identity::IdentityVerifier;
use secrets_core::store::{Location, StoreOptions, open_with};
use secrets_http::adapters::fetch::Client;
use secrets_http::adapters::identity::{OidcSettings, OidcVerifier, Timings};
use secrets_http::serve::accept::AcceptOptions;
use secrets_http::serve::browser_sign_in::BrowserSignIn;
use secrets_http::serve::client_address::Networks;
use secrets_http::serve::gate::Rates;
use secrets_http::serve::memory::MemoryBudget;
use secrets_http::serve::metrics::METRICS;
use secrets_http::serve::reply::Envelope;
use secrets_http::serve::server::Server;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

struct App {
    address: SocketAddr,
    metrics: SocketAddr,
    token: String,
    _folder: TempDir,
}

/// Clock that stands still, so that all requests are counted in the same rate-limit window.
struct FixedClock(Time);

impl Clock for FixedClock {
    fn now(&self) -> Time {
        self.0
    }
}

async fn start(per_principal: u32, per_address: u32) -> App {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(SystemClock.now()));
    let signer = DevKey::generate().unwrap();
    let token = signer.sign("alice@example.com", clock.now()).unwrap();
    let identity = FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&clock));
    let rates = Rates { per_address, per_principal };
    serve(clock, Arc::new(identity), token, rates).await
}

async fn serve(
    clock: Arc<dyn Clock>,
    identity: Arc<dyn IdentityVerifier>,
    token: String,
    rates: Rates,
) -> App {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = Location::Sqlite(folder.path().join("secrets.db"));
    let store = open_with(&file, StoreOptions::default()).await.unwrap();
    let builder = Service::builder(store, &Key::generate()).clock(Arc::clone(&clock));
    let service = builder.identity(identity).build().await.unwrap();
    let (listener, metrics) = (bind().await, bind().await);
    let address = listener.local_addr().unwrap();
    let metrics_address = metrics.local_addr().unwrap();
    let server = Server {
        has_dashboard: false,
        service: Arc::new(service),
        clock,
        rates,
        proxies: Networks::default(),
        public_url: None,
        envelope: Envelope::Named,
        options: AcceptOptions::default(),
        sign_in: BrowserSignIn::Off,
        memory: Arc::new(MemoryBudget::new(256 << 20)),
        metrics: Some(metrics),
        tls: None,
        workers: secrets_core::workers::all(),
    };
    tokio::spawn(server.run(listener, std::future::pending()));
    App { address, metrics: metrics_address, token, _folder: folder }
}

async fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

async fn send(address: SocketAddr, head: &str, body: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{head}\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).await.unwrap();
    response
}

impl App {
    async fn request(&self, line: &str, body: &str) -> String {
        let authorized = format!("{line} HTTP/1.1\r\nauthorization: Bearer {}", self.token);
        send(self.address, &authorized, body).await
    }

    async fn scrape(&self) -> String {
        let response = send(self.metrics, "GET /metrics HTTP/1.1", "").await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        response
    }

    /// Returns the current value of a metric sample; 0 if there is no such sample.
    async fn value(&self, sample: &str) -> u64 {
        let text = self.scrape().await;
        let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        let value = line.map_or("0", str::trim);
        value.strip_suffix(".0").unwrap_or(value).parse().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_of_the_table_is_in_a_scrape_and_in_the_guide() {
    let app = start(0, 0).await;

    let text = app.scrape().await;

    let guide = include_str!("../../docs/operating.md");
    for metric in METRICS {
        let (name, kind, help) = (metric.name, metric.kind(), metric.help);
        let (base, kind) = (name.strip_suffix("_total").unwrap_or(name), kind.as_str());
        assert!(text.contains(&format!("# TYPE {base} {kind}\n")), "{name}");
        assert!(guide.contains(&format!("| `{name}` | {kind} |")), "{name} is not in the guide");
        assert!(guide.contains(help), "{name}: {help}");
    }
    let known: BTreeSet<_> =
        METRICS.iter().map(|metric| metric.name.trim_end_matches("_total")).collect();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    assert_eq!(types.collect::<BTreeSet<_>>(), known);
    assert!(text.trim_end().ends_with("# EOF"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_counted_by_the_bound_that_refused() {
    let app = start(0, 0).await;
    app.request("POST /api/v1/auth/sync", "").await;
    let value = "x".repeat(40 * 1024);
    let secrets: Vec<_> = (0..25)
        .map(|key| serde_json::json!({ "key": format!("K{key}"), "value": value }))
        .collect();
    let too_large = format!(r#"{{"name": "{}"}}"#, "x".repeat(1 << 20));
    app.request("POST /api/v1/projects", r#"{"name": "Full"}"#).await;

    let body = app.request("POST /api/v1/projects", &too_large).await;
    let path = "/api/v1/projects/full/environments/production/secrets/bulk";
    let mut imported = Vec::new();
    for number in 0..18 {
        let mut secrets = secrets.clone();
        for secret in &mut secrets {
            secret["key"] = format!("{}_{number}", secret["key"].as_str().unwrap()).into();
        }
        let secrets = serde_json::json!({ "secrets": secrets }).to_string();
        let reply = app.request(&format!("POST {path}"), &secrets).await;
        imported.push(reply.split(' ').nth(1).unwrap().to_owned());
    }

    assert!(body.starts_with("HTTP/1.1 413"), "{body}");
    let refused = imported.iter().filter(|status| *status == "429").count() as u64;
    assert!(refused > 0 && imported[0] != "429", "{imported:?}");
    assert_eq!(app.value(r#"secrets_refusals_total{bound="request_size"}"#).await, 1);
    assert_eq!(app.value(r#"secrets_refusals_total{bound="plan_quota"}"#).await, refused);
    let guide = include_str!("../../docs/operating.md");
    let scrape = app.scrape().await;
    for bound in Bound::ALL {
        let name = bound.as_str();
        assert!(scrape.contains(&format!("secrets_refusals_total{{bound=\"{name}\"}}")), "{name}");
        assert!(guide.contains(&format!("`{name}`")), "{name} is not in the guide");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn alert_rules_and_the_dashboard_name_metrics_that_exist() {
    let rules = concat!(
        include_str!("../../deploy/prometheus/rules.yaml"),
        include_str!("../../deploy/prometheus/dashboard.json"),
    );
    let named = rules.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let named: BTreeSet<_> = named.filter(|word| word.starts_with("secrets_")).collect();
    assert!(named.len() > 5);
    for name in named {
        let suffixes = ["_bucket", "_count", "_sum"];
        let base = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        assert!(METRICS.iter().any(|metric| metric.name == base), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_template_and_nothing_secret_is_shown() {
    let app = start(0, 0).await;
    app.request("POST /api/v1/auth/sync", "").await;
    let created = app.request("POST /api/v1/projects", r#"{"name": "kvc_project"}"#).await;
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    for number in 0..1_000 {
        app.request(&format!("GET /api/v1/projects/kvc_{number}/environments"), "").await;
    }
    app.request("GET /kvc_nothing/here", "").await;
    app.request("KVC /health", "").await;

    let text = app.scrape().await;

    let route = r#"route="/api/v1/projects/{projectId}/environments",status="4xx""#;
    let count = format!(r#"secrets_http_request_duration_seconds_count{{method="GET",{route}}}"#);
    assert_eq!(app.value(&count).await, 1_000, "{text}");
    assert!(text.contains(r#"route="none",status="4xx""#), "{text}");
    assert!(!text.contains("kvc_") && !text.contains("KVC") && !text.contains(&app.token));
    assert!(text.lines().count() < 400, "{}", text.lines().count());
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_and_failures_are_counted_by_their_limit() {
    let app = start(2, 3).await;
    app.request("POST /api/v1/auth/sync", "").await;
    for _ in 0..3 {
        app.request("GET /api/v1/projects", "").await;
    }
    let bad = "GET /api/v1/projects HTTP/1.1\r\nauthorization: Bearer kvc_wrong";
    for _ in 0..5 {
        send(app.address, bad, "").await;
    }

    assert_eq!(app.value(r#"secrets_refusals_total{bound="principal"}"#).await, 2);
    assert_eq!(app.value(r#"secrets_refusals_total{bound="address"}"#).await, 2);
    assert_eq!(app.value("secrets_authentication_failures_total").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_and_waits_for_connections_are_shown() {
    let app = start(0, 0).await;
    app.request("POST /api/v1/auth/sync", "").await;
    app.request("POST /api/v1/projects", r#"{"name": "Web"}"#).await;
    let mut socket = TcpStream::connect(app.address).await.unwrap();
    let path = "/api/v1/projects/web/environments/production/watch";
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n", app.token);
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    socket.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");

    assert_eq!(app.value("secrets_watches").await, 1);
    assert_eq!(app.value("secrets_watches_max").await, 100);
    let text = app.scrape().await;
    let waited = r#"secrets_database_connection_wait_seconds_total{pool="read"} "#;
    let waited: f64 =
        text.lines().find_map(|line| line.strip_prefix(waited)).unwrap().parse().unwrap();
    assert!(waited > 0.0, "{text}");
    assert!(!text.lines().any(|line| line.starts_with("secrets_redis_up ")), "{text}");
}

/// Starts an identity provider with an empty key set. Returns its URL. While `fails` is true, the
/// key set cannot be fetched.
async fn provider(fails: Arc<AtomicBool>) -> String {
    let listener = bind().await;
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(answer(socket, Arc::clone(&fails)));
        }
    });
    url
}

/// Reads the head of a request for the key set, and sends the response.
async fn answer(mut socket: TcpStream, fails: Arc<AtomicBool>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    let status = if fails.load(Ordering::SeqCst) { "500 Failed" } else { "200 OK" };
    let body = r#"{"keys":[]}"#;
    let length = body.len();
    let response =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    socket.write_all(response.as_bytes()).await.unwrap();
}

/// Creates a verifier that fetches the key set of this provider whenever it is used.
fn fetching(issuer: String, clock: Arc<dyn Clock>) -> OidcVerifier {
    let timings = Timings {
        refresh_after: Duration::ZERO,
        expire_after: Duration::ZERO,
        retry_pause: Duration::ZERO,
        ..Timings::default()
    };
    let jwks_url = Some(format!("{issuer}/keys").parse().unwrap());
    let expectations = Expectations { issuer, audience: "secrets".to_owned() };
    let settings = OidcSettings { expectations, jwks_url, timings };
    OidcVerifier::new(settings, clock, Client::new().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_of_the_key_set_are_counted_with_its_age() {
    let fails = Arc::new(AtomicBool::new(true));
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(SystemClock.now()));
    let verifier = Arc::new(fetching(provider(Arc::clone(&fails)).await, Arc::clone(&clock)));
    let identity: Arc<dyn IdentityVerifier> = verifier.clone();
    let rates = Rates { per_address: 0, per_principal: 0 };
    let app = serve(clock, identity, String::new(), rates).await;
    let fetches = async || {
        let sample =
            |result: &str| format!(r#"secrets_key_set_fetches_total{{result="{result}"}}"#);
        (app.value(&sample("ok")).await, app.value(&sample("failed")).await)
    };
    let has_age = async || {
        app.scrape().await.lines().any(|line| line.starts_with("secrets_key_set_age_seconds "))
    };
    assert_eq!((fetches().await, has_age().await), ((0, 0), false));

    assert!(verifier.warm().await.is_err());
    assert_eq!((fetches().await, has_age().await), ((0, 1), false));

    fails.store(false, Ordering::SeqCst);
    assert_eq!(verifier.warm().await.unwrap(), 0);
    assert_eq!((fetches().await, has_age().await), ((1, 1), true));
    assert!(app.value("secrets_key_set_age_seconds").await < 60);

    fails.store(true, Ordering::SeqCst);
    verifier.warm().await.unwrap();
    assert_eq!((fetches().await, has_age().await), ((1, 2), true));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_provider_has_no_metrics_of_its_key_set() {
    let app = start(0, 0).await;

    let text = app.scrape().await;

    assert!(!text.lines().any(|line| line.starts_with("secrets_key_set_")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_answers_while_a_request_hangs() {
    let app = start(0, 0).await;
    app.request("POST /api/v1/auth/sync", "").await;
    let mut socket = TcpStream::connect(app.address).await.unwrap();
    let head = format!(
        "POST /api/v1/projects HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\ncontent-length: 9\r\n\r\n",
        app.token
    );
    socket.write_all(head.as_bytes()).await.unwrap();

    let counted = async {
        while app.value("secrets_http_requests_in_flight").await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), counted).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_get_of_the_path_is_served() {
    let app = start(0, 0).await;

    let post = send(app.metrics, "POST /metrics HTTP/1.1", "").await;
    let other = send(app.metrics, "GET /health HTTP/1.1", "").await;

    assert!(post.starts_with("HTTP/1.1 405"), "{post}");
    assert!(other.starts_with("HTTP/1.1 404"), "{other}");
}
