//! Stores a secret in an SQLite file and reads it back, without a server.
//!
//! `cargo run -p secrets-examples --example embed`

use std::sync::Arc;

use secrets_core::Service;
use secrets_core::crypto::{Key, Plaintext, StaticRootKey};
use secrets_core::engine::{Options, Ports};
use secrets_core::jwt::DevKey;
use secrets_core::model::{EnvironmentPath, Identity, Origin, SystemClock};
use secrets_core::projects::{CreateProject, NewProject};
use secrets_core::secrets::{CreateSecret, GetSecret, NewSecret};
use secrets_core::store::sql::sqlite;
use secrets_core::users::SyncUser;
use secrets_http::adapters::identity::FixedVerifier;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let clock = Arc::new(SystemClock);
    let signer = DevKey::generate()?;
    let ports = Ports {
        store: Arc::new(sqlite::open(&folder.path().join("secrets.db")).await?),
        clock: clock.clone(),
        // Keep this key: nothing in the file can be read without it.
        root: Arc::new(StaticRootKey::new(&Key::generate())),
        identity: Arc::new(FixedVerifier::new(signer.keys(), DevKey::expectations(), clock)),
        mail: None,
        rotators: None,
        webhooks: None,
    };
    let service = Service::open(ports, Options::default()).await?;

    let alice = Identity::new("my-program", "alice", "alice@example.com");
    let newcomer = service.identify(alice.clone(), Origin::default()).await?;
    service.perform(&newcomer, SyncUser).await?;
    let alice = service.identify(alice, Origin::default()).await?;

    let project = NewProject::named("Web API".parse()?);
    let project = service.perform(&alice, CreateProject { project }).await?;
    let at = EnvironmentPath::new(project.id, "development");
    let secret =
        NewSecret::new("DATABASE_URL".parse()?, Plaintext::new("postgres://db".to_owned())?);
    service.perform(&alice, CreateSecret { at: at.clone(), secret }).await?;

    let key = "DATABASE_URL".parse::<secrets_core::model::SecretKey>()?.into();
    let secret = service.perform(&alice, GetSecret { at, key }).await?;
    assert_eq!(secret.value.as_ref().map(Plaintext::reveal), Some("postgres://db"));
    Ok(())
}
