//! Secrets and their previous versions.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::{ManifestEntry, Sealed};
use crate::model::{EnvironmentId, SecretId, SecretKey, Time};

/// A secret with its current version. The value and the description are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRecord {
    /// ID of the secret.
    pub id: SecretId,
    /// ID of the environment that contains the secret.
    pub environment: EnvironmentId,
    /// Secret key, unique within the environment.
    pub key: SecretKey,
    /// Encrypted value; for a hidden secret, an encrypted empty value.
    pub sealed: Sealed,
    /// True if the secret is hidden: the environment then has no value for the secret key, not even
    /// an inherited one. The encryption authenticates this flag.
    pub hidden: bool,
    /// Encrypted description. Always encrypted as version 0, because a description belongs to all
    /// versions of the secret.
    pub description: Option<Sealed>,
    /// Version number of the secret, starting at 1.
    pub version: u32,
    /// Kind of change that created this version.
    pub change: Change,
    /// ID of the user or service token that created this version.
    pub changed_by: Option<Uuid>,
    /// Creation time of this version.
    pub changed_at: Time,
    /// ID of the user or service token that created the secret.
    pub created_by: Option<Uuid>,
    /// ID of the user or service token that last changed the secret, including its description.
    pub updated_by: Option<Uuid>,
    /// Creation time of the secret.
    pub created_at: Time,
    /// Time of the last change of the secret, including its description.
    pub updated_at: Time,
}

impl AsRef<Self> for SecretRecord {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl SecretRecord {
    /// Returns the total size of the encrypted value and description, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let description = self.description.as_ref().map_or(0, |sealed| sealed.as_bytes().len());
        self.sealed.as_bytes().len() + description
    }

    /// Returns the entry of the secret in the manifest of its environment.
    #[must_use]
    pub fn manifest_entry(&self) -> ManifestEntry {
        ManifestEntry::of(self.id, self.version, self.hidden, &self.sealed)
    }
}

/// A previous version of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretVersion {
    /// ID of the secret that this version belongs to.
    pub secret: SecretId,
    /// Version number, starting at 1.
    pub version: u32,
    /// Encrypted value of this version.
    pub sealed: Sealed,
    /// True if the secret was hidden in this version.
    pub hidden: bool,
    /// Kind of change that created this version.
    pub change: Change,
    /// ID of the user or service token that created this version.
    pub changed_by: Option<Uuid>,
    /// Creation time of this version.
    pub changed_at: Time,
    /// Time at which the next version replaced this version.
    pub replaced_at: Time,
}

impl SecretVersion {
    /// Returns a secret's record with the data of this previous version in place of the current
    /// version, as needed to decrypt the value.
    pub(crate) fn of(&self, secret: &SecretRecord) -> SecretRecord {
        SecretRecord {
            version: self.version,
            hidden: self.hidden,
            sealed: self.sealed.clone(),
            ..secret.clone()
        }
    }
}

/// Kind of change that creates a version of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The secret was created.
    Created,
    /// The secret got a new value.
    Updated,
    /// The secret was hidden.
    Hidden,
    /// The content of a previous version was restored.
    RolledBack,
    /// A rotation wrote a new value.
    Rotated,
}

impl Change {
    /// Returns the name of the kind of change, as used in storage and in the API.
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

    /// Returns the kind of change with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Created, Self::Updated, Self::Hidden, Self::RolledBack, Self::Rotated]
            .into_iter()
            .find(|change| change.as_str() == name)
    }
}

/// Read access to secrets.
#[async_trait]
pub trait SecretReads: Send {
    /// Lists the secrets with these secret keys that an environment itself defines, ordered by
    /// secret key.
    async fn secrets(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretRecord>>;

    /// Returns the number of secrets that an environment itself defines, including hidden secrets.
    async fn count_secrets(&mut self, environment: EnvironmentId) -> StoreResult<u64>;

    /// Lists the previous versions of a secret with a number below `before`, newest first, at most
    /// `limit`.
    async fn secret_versions(
        &mut self,
        secret: SecretId,
        before: u32,
        limit: u32,
    ) -> StoreResult<Vec<SecretVersion>>;

    /// Lists previous versions like [`secret_versions`](Self::secret_versions), and checks at the
    /// same point in time that the secret exists. Returns `None` if it does not exist. `limit` must
    /// be at least 1.
    async fn secret_history(
        &mut self,
        secret: SecretId,
        before: u32,
        limit: u32,
    ) -> StoreResult<Option<Vec<SecretVersion>>>;
}

/// Maximum number of previous versions that one call deletes, except
/// [`prune_versions`](SecretWrites::prune_versions) for more than 100 secrets.
pub const MAX_PRUNED: u32 = 200;

/// Write access to secrets. The caller must have called
/// [`touch_environment`](super::EnvironmentWrites::touch_environment) before. Every write updates
/// the sizes in the [`EnvironmentCounters`](super::EnvironmentCounters).
#[async_trait]
pub trait SecretWrites: Send {
    /// Inserts several secrets: all or, in case of an error, none. Fails with `Duplicate` if the
    /// environment already has a secret with one of the keys.
    async fn insert_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()>;

    /// Stores the next versions of several secrets: all or, in case of an error, none. Keeps the
    /// current versions as previous versions. Fails with `Stale` unless each version is one higher
    /// than the stored version.
    async fn replace_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()>;

    /// Updates only the description, `updated_by` and `updated_at` of a secret.
    async fn update_secret_description(&mut self, secret: &SecretRecord) -> StoreResult<()>;

    /// Permanently deletes a secret with all its versions. Fails with `Stale` if the secret does
    /// not exist.
    async fn delete_secret(&mut self, secret: SecretId) -> StoreResult<()>;

    /// Deletes previous versions of secrets: for each secret, those with a number below its limit.
    /// Deletes at most 200 versions ([`MAX_PRUNED`]), or two for each secret if that is more,
    /// lowest numbers first. A write adds only one version of each secret, so that a history that
    /// is too long becomes shorter with every write. Each secret must be in the list only once. A
    /// store can divide a list of more than 1,000 secrets.
    async fn prune_versions(&mut self, limits: &[(SecretId, u32)]) -> StoreResult<()>;

    /// Deletes previous versions of an environment's secrets until at least `excess` bytes are
    /// freed. Begins with the versions that were replaced first. Deletes at most 200 versions
    /// ([`MAX_PRUNED`]). If a rotation wrote the current version of a secret, keeps the secret's
    /// newest previous version.
    async fn prune_history(&mut self, environment: EnvironmentId, excess: u64) -> StoreResult<()>;
}
