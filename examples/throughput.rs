//! Benchmark of reads of a single secret per second at the External Secrets Operator endpoint,
//! compared with a minimal warp server that responds "hello" in the same run. The ratio of the two
//! rates can be compared between machines.
//!
//! `cargo run --release -p secrets-examples --example throughput`. Append `--` and the URL of a
//! PostgreSQL database to measure that as well. Each case runs for 3 seconds over 64 connections,
//! three times in turn, and the medians are printed.

use std::future::pending;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use secrets_core::Service;
use secrets_core::crypto::{Key, Plaintext};
use secrets_core::jwt::{DevKey, FixedVerifier};
use secrets_core::model::{Clock, EnvironmentPath, Identity, Origin, SystemClock};
use secrets_core::projects::{CreateProject, NewProject};
use secrets_core::secrets::{CreateSecret, NewSecret};
use secrets_core::store::sql::{postgres, sqlite};
use secrets_core::store::{MemoryStore, Store, StoreOptions};
use secrets_core::tokens::{CreateToken, NewToken};
use secrets_core::users::SyncUser;
use secrets_http::serve::accept::{self, AcceptOptions};
use secrets_http::serve::browser_sign_in::BrowserSignIn;
use secrets_http::serve::client_address::Networks;
use secrets_http::serve::gate::Rates;
use secrets_http::serve::memory::MemoryBudget;
use secrets_http::serve::reply::Envelope;
use secrets_http::serve::server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use warp::Filter as _;

type Failed = Box<dyn std::error::Error + Send + Sync>;

const CONNECTIONS: usize = 64;
const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(3);

struct Case {
    name: &'static str,
    address: SocketAddr,
    request: String,
    rates: Vec<f64>,
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut cases = vec![hello().await?];
    cases.push(service("memory", Arc::new(MemoryStore::new())).await?);
    let file = sqlite::open(&folder.path().join("secrets.db"), StoreOptions::default()).await?;
    cases.push(service("sqlite", Arc::new(file)).await?);
    if let Some(url) = std::env::args().nth(1) {
        let store = postgres::open(&url, StoreOptions::default()).await?;
        cases.push(service("postgres", Arc::new(store)).await?);
    }
    for _ in 0..ROUNDS {
        for case in &mut cases {
            let rate = case.run().await?;
            case.rates.push(rate);
        }
    }
    let limit = cases.first_mut().map(Case::median).unwrap_or_default();
    let mut out = std::io::stdout();
    for case in &mut cases {
        let rate = case.median();
        writeln!(out, "{:10} {rate:9.0} requests/s  {:.2} of hello", case.name, rate / limit)?;
    }
    Ok(())
}

async fn hello() -> Result<Case, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let filter = warp::path("hello").map(|| "Hello, world").boxed();
    let answer = move |request, _| {
        let mut warp = warp::service(filter.clone());
        async move { tower_service::Service::call(&mut warp, request).await.unwrap_or_default() }
    };
    tokio::spawn(accept::run(listener, None, AcceptOptions::default(), answer, pending()));
    let request = format!("GET /hello HTTP/1.1\r\nhost: {address}\r\n\r\n");
    Ok(Case { name: "hello", address, request, rates: Vec::new() })
}

async fn service(name: &'static str, store: Arc<dyn Store>) -> Result<Case, Failed> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let signer = DevKey::generate()?;
    let identity = FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&clock));
    let service = Service::builder(store, &Key::generate())
        .clock(Arc::clone(&clock))
        .identity(Arc::new(identity))
        .build()
        .await?;
    let service = Arc::new(service);
    let path = fill(&service).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = Server {
        has_dashboard: false,
        service,
        clock,
        rates: Rates { per_address: 0, per_principal: 0 },
        proxies: Networks::default(),
        public_url: None,
        envelope: Envelope::Named,
        options: AcceptOptions::default(),
        sign_in: BrowserSignIn::Off,
        metrics: None,
        tls: None,
        memory: Arc::new(MemoryBudget::new(256 << 20)),
        workers: secrets_core::workers::all(),
    };
    tokio::spawn(server.run(listener, pending()));
    let request =
        format!("GET {}\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\r\n", path.0, path.1);
    Ok(Case { name, address, request, rates: Vec::new() })
}

/// Creates a project with a secret, and a service token that can read the secret. Returns the
/// request path of the secret and the token string.
async fn fill(service: &Service) -> Result<(String, String), Failed> {
    let alice = Identity::new("throughput", "alice", "alice@example.com");
    let newcomer = service.identify(alice.clone(), Origin::default()).await?;
    service.run(&newcomer, SyncUser).await?;
    let alice = service.identify(alice, Origin::default()).await?;
    let project = NewProject::named("Throughput".parse()?);
    let project = service.perform(&alice, CreateProject { project }).await?;
    let at = EnvironmentPath::new(project.id, "production");
    let secret = NewSecret::new("DATABASE_URL".parse()?, Plaintext::new("kvc_".repeat(16))?);
    service.perform(&alice, CreateSecret { at, secret }).await?;
    let token: NewToken = serde_json::from_value(serde_json::json!({
        "name": "reader", "project_ids": [project.id],
    }))?;
    let token = service.perform(&alice, CreateToken { token }).await?;
    let text = token.token.map(|token| token.reveal().to_owned()).unwrap_or_default();
    let path = format!(
        "/api/v1/eso/secret?project={}&env=production&key=DATABASE_URL HTTP/1.1",
        project.slug
    );
    Ok((path, text))
}

impl Case {
    /// Sends requests over all connections for one round of 3 seconds, and returns the number of
    /// responses per second.
    async fn run(&self) -> Result<f64, Failed> {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let mut connections = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (address, request) = (self.address, self.request.clone());
            connections.spawn(ask(address, request, Arc::clone(&stop), Arc::clone(&answered)));
        }
        let (began, before) = (Instant::now(), answered.load(Ordering::Relaxed));
        tokio::time::sleep(ROUND).await;
        let rate =
            f64::from(answered.load(Ordering::Relaxed) - before) / began.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        while let Some(ended) = connections.join_next().await {
            ended??;
        }
        Ok(rate)
    }

    fn median(&mut self) -> f64 {
        self.rates.sort_by(f64::total_cmp);
        self.rates[self.rates.len() / 2]
    }
}

/// Sends the same request in a loop over one connection until `stop` is set, and counts the
/// responses in `answered`. All responses to this request have the same length, so the length is
/// taken from the first response.
async fn ask(
    address: SocketAddr,
    request: String,
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU32>,
) -> Result<(), Failed> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 8192];
    stream.write_all(request.as_bytes()).await?;
    let length = stream.read(&mut buffer).await?;
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(request.as_bytes()).await?;
        stream.read_exact(&mut buffer[..length]).await?;
        if !buffer.starts_with(b"HTTP/1.1 200") {
            return Err("an answer was not 200".into());
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
