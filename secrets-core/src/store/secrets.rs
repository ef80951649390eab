//! The secrets, and the versions they replaced.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::Sealed;
use crate::model::{EnvironmentId, SecretId, SecretKey, Time};

/// A secret's current version, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRecord {
    /// Which secret.
    pub id: SecretId,
    /// Whose secret.
    pub environment: EnvironmentId,
    /// Its key, unique within the environment.
    pub key: SecretKey,
    /// The value; of a hidden secret, nothing.
    pub sealed: Sealed,
    /// Whether it hides its key here, whatever an ancestor says. Authenticated by the seal.
    pub hidden: bool,
    /// What it is for, sealed like a value (with version 0: it does not change with versions).
    pub description: Option<Sealed>,
    /// Counts the values it has had, from 1.
    pub version: u32,
    /// How this version came to be.
    pub change: Change,
    /// Who made this version.
    pub changed_by: Option<Uuid>,
    /// When this version was made.
    pub changed_at: Time,
    /// Who made the secret.
    pub created_by: Option<Uuid>,
    /// Who last changed anything of it.
    pub updated_by: Option<Uuid>,
    /// When the secret was made.
    pub created_at: Time,
    /// When anything of it last changed.
    pub updated_at: Time,
}

/// A version that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretVersion {
    /// Which secret.
    pub secret: SecretId,
    /// Which version of it.
    pub version: u32,
    /// Its value.
    pub sealed: Sealed,
    /// Whether it hid its key.
    pub hidden: bool,
    /// How it came to be.
    pub change: Change,
    /// Who made it.
    pub changed_by: Option<Uuid>,
    /// When it was made.
    pub changed_at: Time,
    /// When it was replaced.
    pub replaced_at: Time,
}

impl SecretVersion {
    /// The secret as it was at this version, to open it by.
    pub(crate) fn of(&self, secret: &SecretRecord) -> SecretRecord {
        SecretRecord {
            version: self.version,
            hidden: self.hidden,
            sealed: self.sealed.clone(),
            ..secret.clone()
        }
    }
}

/// How a version came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// With the secret.
    Created,
    /// By a new value.
    Updated,
    /// By hiding the key.
    Hidden,
    /// By taking up what an earlier version held.
    RolledBack,
    /// By a rotation.
    Rotated,
}

impl Change {
    /// The name under which it is kept and told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Hidden => "hidden",
            Self::RolledBack => "rolled_back",
            Self::Rotated => "rotated",
        }
    }

    /// The change kept under this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Created, Self::Updated, Self::Hidden, Self::RolledBack, Self::Rotated]
            .into_iter()
            .find(|change| change.as_str() == name)
    }
}

/// Reading secrets.
#[async_trait]
pub trait SecretReads: Send {
    /// An environment's own secrets under these keys, ordered by key.
    async fn secrets(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretRecord>>;

    /// How many secrets an environment has of its own, hidden ones included.
    async fn count_secrets(&mut self, environment: EnvironmentId) -> StoreResult<u64>;

    /// The versions before one that a secret has replaced, newest first: the first `limit` of them.
    async fn secret_versions(
        &mut self,
        secret: SecretId,
        before: u32,
        limit: u32,
    ) -> StoreResult<Vec<SecretVersion>>;
}

/// Writing secrets. The environment was touched before.
#[async_trait]
pub trait SecretWrites: Send {
    /// Fails with `Duplicate` if the environment has one of the keys.
    async fn insert_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()>;

    /// Puts the next version in place and keeps the one it replaces. Fails with `Stale` unless that
    /// is the version just before.
    async fn replace_secret(&mut self, secret: &SecretRecord) -> StoreResult<()>;

    /// Replaces the description, `updated_by` and `updated_at`, and nothing else.
    async fn redescribe_secret(&mut self, secret: &SecretRecord) -> StoreResult<()>;

    /// Deletes the secret and its versions, for good. Fails with `Stale` if it is gone.
    async fn delete_secret(&mut self, secret: SecretId) -> StoreResult<()>;
}
