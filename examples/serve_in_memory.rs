//! Serves the REST API over memory, for tests of programs that use it. What it keeps ends with it.
//!
//! `cargo run -p secrets-examples --example serve_in_memory`

use std::future::pending;
use std::io::Write as _;
use std::sync::Arc;

use secrets_core::clock::{Clock, SystemClock};
use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::jwt::DevKey;
use secrets_core::store::MemoryStore;
use secrets_core::{Options, Ports, Service};
use secrets_http::accept::AcceptOptions;
use secrets_http::client_address::Networks;
use secrets_http::gate::Rates;
use secrets_http::identity::FixedVerifier;
use secrets_http::reply::Envelope;
use secrets_http::server::Server;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let signer = DevKey::generate()?;
    let identity = FixedVerifier::new(signer.keys(), DevKey::expectations(), Arc::clone(&clock));
    let ports = Ports {
        store: Arc::new(MemoryStore::new()),
        clock: Arc::clone(&clock),
        root: Arc::new(StaticRootKey::new(&Key::generate())),
        identity: Arc::new(identity),
        mail: None,
        rotators: None,
        webhooks: None,
    };
    let server = Server {
        service: Arc::new(Service::open(ports, Options::default()).await?),
        clock: Arc::clone(&clock),
        rates: Rates { per_address: 0, per_principal: 0 },
        proxies: Networks::default(),
        public_url: None,
        envelope: Envelope::Named,
        options: AcceptOptions::default(),
        tls: None,
        runs_jobs: true,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "export SECRETS_URL=http://{}", listener.local_addr()?)?;
    writeln!(out, "export SECRETS_TOKEN={}", signer.sign("alice@example.com", clock.now())?)?;
    server.run(listener, pending()).await?;
    Ok(())
}
