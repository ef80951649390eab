//! Benchmark: reading a secret through the operation registry, as the Python and JavaScript
//! bindings do. Prints the microseconds per read for each store, as JSON.
//!
//! `cargo run --release -p secrets-examples --example read_overhead [SECONDS]`

use std::sync::Arc;
use std::time::Instant;

use secrets_core::Service;
use secrets_core::crypto::Key;
use secrets_core::model::{Identity, Origin};
use secrets_core::registry;
use secrets_core::store::sql::sqlite;
use secrets_core::store::{MemoryStore, Store, StoreOptions};
use serde_json::json;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a command-line program")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(2.0), |text| text.parse::<f64>())?;
    let folder = tempfile::tempdir()?;
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let file = sqlite::open(&folder.path().join("secrets.db"), StoreOptions::default()).await?;
    let figures = json!({
        "memory": measure(memory, seconds).await?,
        "sqlite": measure(Arc::new(file), seconds).await?,
    });
    println!("{figures}");
    Ok(())
}

/// Measures the microseconds of one read. Each read authenticates the caller, as the bindings do.
async fn measure(store: Arc<dyn Store>, seconds: f64) -> Result<f64, Box<dyn std::error::Error>> {
    let service = Service::builder(store).root_key(&Key::generate()).build().await?;
    let alice = Identity::new("here", "alice", "alice@example.com");
    let caller = service.sign_in(alice.clone(), Origin::default()).await?;
    registry::call(&service, &caller, "project.create", json!({ "name": "Web API" })).await?;
    let at = json!({ "project": "web-api", "environment": "production", "key": "DATABASE_URL" });
    let mut new = at.clone();
    new["value"] = "postgres://db".into();
    registry::call(&service, &caller, "secret.create", new).await?;

    let (began, mut reads) = (Instant::now(), 0_u32);
    while began.elapsed().as_secs_f64() < seconds {
        let caller = service.identify(alice.clone(), Origin::default()).await?;
        let secret = registry::call(&service, &caller, "secret.get", at.clone()).await?;
        std::hint::black_box(secret.to_string());
        reads += 1;
    }
    Ok(began.elapsed().as_secs_f64() / f64::from(reads) * 1e6)
}
