//! Secrets: creating, reading, changing, importing, exporting and comparing them.

mod bundle;
mod change;
mod change_set;
mod column;
mod compare;
mod comparison;
mod comparison_size;
mod create;
mod delete;
pub(crate) mod etag;
mod export;
mod get;
mod history;
mod import;
mod list;
pub(crate) mod reading;
mod roll_back;
pub(crate) mod sealing;
mod submitted;
mod update;
mod visible;
pub(crate) mod writing;

use serde::Serialize;
use uuid::Uuid;

pub use bundle::{BundleFile, ExportBundle, Lifetime, NewBundle, SealedBundle};
pub use change::SecretChange;
use change::check_version;
pub use change_set::{
    ChangeAction, ChangeEffect, ChangeSecrets, ChangeSet, ChangeSetResult, KeyChange,
    KeyChangeResult, SubmittedChangeSet,
};
pub use compare::CompareSecrets;
pub use comparison::{ComparedEnvironment, ComparedKey, ComparedSecret, Comparison, SecretState};
pub use create::{CreateSecret, NewSecret};
pub use delete::DeleteSecret;
pub(crate) use etag::chain_etag;
pub use etag::{Precondition, WithETag};
pub use export::{Export, ExportSecrets, ExportedText};
pub use get::GetSecret;
pub use history::{HistoryEntry, ReadHistory};
pub use import::{
    Import, ImportEffect, ImportResult, ImportSecrets, ImportedSecret, PlannedImport,
};
pub use list::ListSecrets;
pub use roll_back::{RollBackSecret, Rollback};
pub use submitted::SubmittedImport;
pub use update::UpdateSecret;
pub(crate) use visible::{Visible, visible};

use crate::crypto::Plaintext;
use crate::model::clock::serialize_time;
use crate::model::{EnvironmentId, EnvironmentName, SecretId, SecretKey, Time};
use crate::store::SecretRecord;

/// A secret. The value is present only in responses of operations that return values.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Secret {
    /// ID of the secret.
    pub id: SecretId,
    /// ID of the environment that defines the secret.
    pub environment_id: EnvironmentId,
    /// Key (name) of the secret, such as `DATABASE_URL`.
    pub key: SecretKey,
    /// Type of the secret: always `string`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Decrypted value; absent if the operation returns no values.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
    pub value: Option<Plaintext>,
    /// Description of the secret; absent if there is none, or if the caller may not read the
    /// secret.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
    pub description: Option<Plaintext>,
    /// Version number of the secret, starting at 1; each new value increases it by one.
    pub version: u32,
    /// Name of the ancestor environment from which the secret is inherited; absent if the
    /// environment itself defines the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<EnvironmentName>,
    /// True if the secret is hidden: reads of this environment return no value for the key, not
    /// even an inherited one. Absent if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// True if the secret is inherited from an environment that the caller may not read. The caller
    /// cannot read its value through this environment either. Absent if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restricted: bool,
    /// Creation time of the secret.
    #[serde(serialize_with = "serialize_time")]
    pub created_at: Time,
    /// Time of the last change to the value, the description or the hidden flag.
    #[serde(serialize_with = "serialize_time")]
    pub updated_at: Time,
    /// ID of the user or service token that created the secret; absent if the caller may not read
    /// the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Uuid>,
    /// ID of the user or service token that last changed the secret; absent for a restricted
    /// secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<Uuid>,
}

impl Secret {
    fn new(record: &SecretRecord, description: Option<Plaintext>) -> Self {
        Self {
            id: record.id,
            environment_id: record.environment,
            key: record.key.clone(),
            kind: "string",
            value: None,
            description,
            version: record.version,
            inherited_from: None,
            hidden: record.hidden,
            restricted: false,
            created_at: record.created_at,
            updated_at: record.updated_at,
            created_by: record.created_by,
            updated_by: record.updated_by,
        }
    }
}

/// Secret key from a path or query. A string that is not a valid secret key is accepted, but
/// matches no secret.
#[derive(Debug, Clone)]
pub struct KeyRef(pub(crate) Option<SecretKey>);

impl KeyRef {
    /// Parses a secret key. If it is not valid, the result matches no secret.
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
