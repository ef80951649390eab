//! Serves the REST API with a database in memory, for tests of client programs. The data is lost
//! when the process ends.
//!
//! `cargo run -p secrets-examples --example serve_in_memory`

use std::future::pending;
use std::io::Write as _;
use std::sync::Arc;

use secrets_core::Service;
use secrets_core::crypto::Key;
use secrets_core::jwt::{DevKey, FixedVerifier};
use secrets_core::model::{Clock, SystemClock};
use secrets_core::runtime::{TokioOffload, TokioTimer};
use secrets_core::store::MemoryStore;
use secrets_http::serve::accept::AcceptOptions;
use secrets_http::serve::browser_sign_in::BrowserSignIn;
use secrets_http::serve::client_address::Networks;
use secrets_http::serve::gate::Rates;
use secrets_http::serve::memory::MemoryBudget;
use secrets_http::serve::reply::Envelope;
use secrets_http::serve::server::Server;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let signer = DevKey::generate()?;
    let identity = FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&clock));
    let service = Service::builder(Arc::new(MemoryStore::new()), &Key::generate())
        .clock(Arc::clone(&clock))
        .identity(Arc::new(identity))
        .offload(Arc::new(TokioOffload))
        .timer(Arc::new(TokioTimer))
        .build()
        .await?;
    let server = Server {
        has_dashboard: false,
        service: Arc::new(service),
        clock: Arc::clone(&clock),
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
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "export SECRETS_URL=http://{}", listener.local_addr()?)?;
    writeln!(out, "export SECRETS_TOKEN={}", signer.sign("alice@example.com", clock.now())?)?;
    server.run(listener, pending()).await?;
    Ok(())
}
