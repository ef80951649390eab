//! Rotates a PostgreSQL user twice, without a secrets server, and prints the connection URL that an
//! application would read each time.
//!
//! ```sh
//! DATABASE_URL=postgres://postgres:PASSWORD@127.0.0.1:5432/postgres cargo run --example rotate_postgres
//! ```

use std::sync::Arc;

use secrets_core::Service;
use secrets_core::crypto::{Key, Plaintext};
use secrets_core::egress::{Dialer, EgressPolicy};
use secrets_core::engine::Options;
use secrets_core::model::{EnvironmentPath, Identity, Origin};
use secrets_core::projects::{CreateProject, NewProject};
use secrets_core::rotations::{CreateRotation, NewRotation, RotateNow};
use secrets_core::rotators::drivers;
use secrets_core::runtime::TokioTimer;
use secrets_core::secrets::{GetSecret, KeyRef};
use secrets_core::store::MemoryStore;
use serde_json::json;

#[tokio::main]
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a command-line program")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = url::Url::parse(&std::env::var("DATABASE_URL")?)?;
    let host = server.host_str().unwrap_or("127.0.0.1");
    // Allow connections to the host although it may be private, and without TLS.
    let egress = EgressPolicy::parse(host)?;
    let gate = Arc::new(Dialer::new(egress.clone()));
    let service = Service::builder(Arc::new(MemoryStore::new()), &Key::generate())
        .rotators(drivers::direct(&gate, Arc::new(TokioTimer)))
        .options(Options { egress, ..Options::default() })
        .build()
        .await?;

    let alice = Identity::new("my-program", "alice", "alice@example.com");
    let alice = service.sign_in(alice, Origin::default()).await?;
    let project = NewProject::named("Web API".parse()?);
    let project = service.perform(&alice, CreateProject { project }).await?;
    let at = EnvironmentPath::new(project.id, "production");

    let rotation: NewRotation = serde_json::from_value(json!({
        "name": "main-db",
        "integration_type": "postgresql",
        "connection_method": "direct",
        "rotation_interval_days": 30,
        "connection": {
            "host": host,
            "port": server.port().unwrap_or(5432),
            "database": server.path().trim_start_matches('/'),
            "admin_username": server.username(),
            "admin_password": server.password().unwrap_or_default(),
            "ssl_mode": "disable",
        },
    }))?;
    service.perform(&alice, CreateRotation { at: at.clone(), rotation }).await?;
    for _ in 0..2 {
        let rotate = RotateNow { at: at.clone(), name: "main-db".to_owned() };
        let entry = service.run(&alice, rotate).await?;
        println!("attempt {}: {}", entry.version, entry.status.as_str());
        let key = KeyRef::new("MAIN_DB_URL");
        let secret = service.perform(&alice, GetSecret { at: at.clone(), key }).await?;
        println!("{}", secret.value.as_ref().map_or("", Plaintext::reveal));
    }
    Ok(())
}
