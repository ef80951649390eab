//! Secrets.

mod bundle;
mod change;
mod create;
mod delete;
mod export;
mod get;
mod history;
mod import;
mod list;
mod managed;
mod roll_back;
mod sealing;
mod submitted;
mod tagged;
mod update;
mod visible;

use serde::Serialize;
use uuid::Uuid;

pub use bundle::{
    BundleFile, ExportBundle, Lifetime, NewBundle, PreparedBundle, SealedBundle, TakeBundle,
};
pub use change::SecretChange;
use change::check_version;
pub use create::{CreateSecret, NewSecret};
pub use delete::DeleteSecret;
pub use export::{Export, ExportSecrets, ExportedText};
pub use get::GetSecret;
pub use history::{HistoryEntry, ReadHistory};
pub use import::{Import, ImportResult, ImportSecrets, ImportedSecret};
pub use list::ListSecrets;
pub use roll_back::{RollBackSecret, Rollback};
pub(crate) use sealing::{description_context, value_context};
pub use submitted::SubmittedImport;
pub(crate) use tagged::chain_tag;
pub use tagged::{Held, Tagged};
pub use update::UpdateSecret;
pub(crate) use visible::{Visible, visible};

use crate::crypto::Plaintext;
use crate::model::{EnvironmentId, EnvironmentName, SecretId, SecretKey, Time};
use crate::store::SecretRecord;

/// A secret, with its value only where the operation gives values.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Secret {
    /// Which secret.
    pub id: SecretId,
    /// The environment that holds it.
    pub environment_id: EnvironmentId,
    /// Its key.
    pub key: SecretKey,
    /// `string`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The value.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "revealed")]
    pub value: Option<Plaintext>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "revealed")]
    pub description: Option<Plaintext>,
    /// Counts the values it has had, from 1.
    pub version: u32,
    /// The name of the environment that holds it, where that is an ancestor of the one asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<EnvironmentName>,
    /// Whether it hides its key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// When it was made.
    pub created_at: Time,
    /// When anything of it last changed.
    pub updated_at: Time,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Uuid>,
    /// Who last changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<Uuid>,
}

impl Secret {
    fn new(record: SecretRecord, description: Option<Plaintext>) -> Self {
        Self {
            id: record.id,
            environment_id: record.environment,
            key: record.key,
            kind: "string",
            value: None,
            description,
            version: record.version,
            inherited_from: None,
            hidden: record.hidden,
            created_at: record.created_at,
            updated_at: record.updated_at,
            created_by: record.created_by,
            updated_by: record.updated_by,
        }
    }
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn revealed<S: serde::Serializer>(
    value: &Option<Plaintext>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => Plaintext::serialize_revealed(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// A key as a path or query names it. What cannot be a key names nothing.
#[derive(Debug, Clone)]
pub struct KeyRef(pub(crate) Option<SecretKey>);

impl KeyRef {
    /// The key that a text names.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.parse().ok())
    }
}

impl From<SecretKey> for KeyRef {
    fn from(key: SecretKey) -> Self {
        Self(Some(key))
    }
}
