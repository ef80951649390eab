//! Benchmark of reading a secret through the operation registry (the table of all operations by
//! name), as the Python package does. `examples/python/overhead.py` compares the result with the
//! same reads from Python.
//!
//! `cargo build --release -p secrets-py --example read_overhead`, then: `read_overhead URL`
//!
//! Each line of the standard input is a number of reads. The program performs these reads and
//! prints the median time of a read, in microseconds.

use std::io::stdin;
use std::sync::Arc;
use std::time::Instant;

use secrets_core::crypto::Key;
use secrets_core::model::{Identity, Origin};
use secrets_core::runtime::{Supervisor, TokioOffload, TokioTimer};
use secrets_core::store::{self, Location};
use secrets_core::{Service, registry, workers};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a command-line program")]
async fn main() -> Result<(), Failure> {
    let url = std::env::args().nth(1).ok_or("usage: read_overhead URL")?;
    let location: Location = url.parse()?;
    // As in the package: with time limits and background work.
    let service = Service::builder(store::open(&location).await?, &Key::generate())
        .offload(Arc::new(TokioOffload))
        .timer(Arc::new(TokioTimer))
        .build()
        .await?;
    let engine = Arc::clone(service.engine());
    tokio::spawn(async move { Supervisor::new(workers::all()).run(engine).await });
    let alice = Identity::new("here", "alice", "alice@example.com");
    let at = create(&service, &alice).await?;

    for line in stdin().lines() {
        println!("{:.2}", measure(&service, &alice, &at, line?.trim().parse()?).await?);
    }
    Ok(())
}

/// Creates a project with a secret, and returns the operation input that reads the secret.
async fn create(service: &Service, alice: &Identity) -> Result<Value, Failure> {
    let caller = service.sign_in(alice.clone(), Origin::default()).await?;
    registry::call(service, &caller, "project.create", json!({ "name": "Web API" })).await?;
    let at = json!({ "project": "web-api", "environment": "production", "key": "DATABASE_URL" });
    let mut new = at.clone();
    new["value"] = "postgres://db".into();
    registry::call(service, &caller, "secret.create", new).await?;
    Ok(at)
}

/// Reads the secret `reads` times, and returns the median time of a read in microseconds. Each read
/// authenticates the caller, as the Python package does.
async fn measure(
    service: &Service,
    alice: &Identity,
    at: &Value,
    reads: usize,
) -> Result<f64, Failure> {
    let mut times = Vec::with_capacity(reads);
    for _ in 0..reads {
        let began = Instant::now();
        let caller = service.identify(alice.clone(), Origin::default()).await?;
        let secret = registry::call(service, &caller, "secret.get", at.clone()).await?;
        drop(std::hint::black_box(secret));
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let median = times.get(reads / 2).ok_or("at least one read")?;
    Ok(median.as_secs_f64() * 1e6)
}
