//! Secrets of an environment, in the form in which the service lists and exports them.

use secrets_core::crypto::Plaintext;
use secrets_core::model::SecretKey;
use serde::Deserialize;

use crate::failure::Failure;
use crate::invocation::Place;
use crate::service::Service;

/// Secret with its value.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Secret {
    /// Secret key.
    pub(crate) key: SecretKey,
    /// Value of the secret.
    pub(crate) value: Plaintext,
    /// Version of the secret.
    pub(crate) version: u32,
    /// Description of the secret.
    pub(crate) description: Option<String>,
    /// Name of the ancestor environment from which the secret is inherited; `None` for the
    /// environment's own secret.
    pub(crate) inherited_from: Option<String>,
}

/// Secret without its value.
#[derive(Debug, Deserialize)]
pub(crate) struct ListedSecret {
    /// Secret key.
    pub(crate) key: String,
    /// True if the secret is hidden: the environment has no value for its key, not even an inherited
    /// one.
    #[serde(default)]
    pub(crate) hidden: bool,
}

#[derive(Deserialize)]
struct Secrets<T> {
    secrets: Vec<T>,
}

/// Loads all effective secrets of the environment (its own and the inherited ones), with their
/// values.
pub(crate) async fn export(service: &Service, place: &Place) -> Result<Vec<Secret>, Failure> {
    let Secrets { secrets } = service.get(&place.path(&["secrets", "export"])).await?;
    Ok(secrets)
}

/// Loads the effective secrets of the environment (its own and the inherited ones) without their
/// values. Includes hidden keys.
pub(crate) async fn list(service: &Service, place: &Place) -> Result<Vec<ListedSecret>, Failure> {
    let Secrets { secrets } = service.get(&place.path(&["secrets"])).await?;
    Ok(secrets)
}
