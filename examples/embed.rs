//! Stores a secret in SQLite and reads it back: `cargo run -p secrets-examples --example embed`.
use secrets_core::crypto::{Key, Plaintext};
use secrets_core::model::{EnvironmentPath, Identity, Origin};
use secrets_core::projects::{CreateProject, NewProject};
use secrets_core::secrets::{CreateSecret, GetSecret, KeyRef, NewSecret};
use secrets_core::{Service, store};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}/secrets.db", folder.path().display());
    // Keep the root key in a real program: without it, nothing in the file can be read.
    let builder = Service::builder(store::open(&url.parse()?).await?, &Key::generate());
    let service = builder.build().await?;
    let ada = Identity::new("my-program", "ada", "ada@example.com");
    let ada = service.sign_in(ada, Origin::default()).await?;
    let project = NewProject::named("Web API".parse()?);
    let at = service.perform(&ada, CreateProject { project }).await?.id;
    let at = EnvironmentPath::new(at, "development");
    let secret = NewSecret::new("API_KEY".parse()?, Plaintext::new("k-123".to_owned())?);
    service.perform(&ada, CreateSecret { at: at.clone(), secret }).await?;
    let secret = service.perform(&ada, GetSecret { at, key: KeyRef::new("API_KEY") }).await?;
    assert_eq!(secret.value.as_ref().map(Plaintext::reveal), Some("k-123"));
    Ok(())
}
