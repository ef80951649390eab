//! Reading the versions that a secret has replaced.

use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use super::sealing::NO_SECRET;
use super::{KeyRef, revealed};
use crate::access::EnvironmentScope;
use crate::crypto::Plaintext;
use crate::engine::{Access, Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Error, Permission, Result, SecretId, SecretKey, Time};
use crate::store::{SecretRecord, SecretVersion};

/// The most versions one answer gives.
const LIMIT: u32 = 100;

/// Reads the versions that a secret of the environment's own has replaced, newest first. Whoever
/// may change the secret is given their values; whoever may only read it, if they ask.
#[derive(Debug)]
pub struct ReadHistory {
    /// Where.
    pub at: EnvironmentPath,
    /// Which key.
    pub key: KeyRef,
    /// Whether values are wanted; where that is not said, by whoever may change the secret.
    pub values: Option<bool>,
    /// Only versions before this one.
    pub before: Option<u32>,
    /// At most so many versions, from 1 to 100; 100 where that is not said.
    pub limit: Option<u32>,
}

/// A version that was replaced.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryEntry {
    /// This entry: the same each time it is read.
    pub id: Uuid,
    /// Whose version.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Uuid))]
    pub secret_id: SecretId,
    /// The secret's key.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: SecretKey,
    /// The value it held, where values are given; a version that hid its key held none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub value: Option<Plaintext>,
    /// Which version.
    pub version: u32,
    /// How it came to be: `created`, `updated`, `hidden` or `rolled_back`.
    pub change_type: &'static str,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<Uuid>,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub changed_at: Time,
    /// When it was replaced, and so became an entry.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
}

impl Operation for ReadHistory {
    const NAME: &'static str = "secret.history";
    const CALLERS: Callers = Callers::Any;
    const AUDIT: Audit = Audit::Read("secret.read");
    type Access = Read;
    type Output = Vec<HistoryEntry>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<HistoryEntry>> {
        let scope = cx.environment(&self.at, Permission::Read).await?;
        let secret = cx.own_secret(&scope, &self.key).await?;
        let limit = self.limit.unwrap_or(LIMIT);
        if !(1..=LIMIT).contains(&limit) {
            return Err(Error::invalid("limit", "must be 1 to 100"));
        }
        let before = self.before.unwrap_or(secret.version);
        let with_values = self.values.unwrap_or(scope.may_write);
        let versions = cx.reads().secret_versions(secret.id, before, limit).await?;
        cx.note.is_unrecorded = !with_values;
        cx.about("secret", secret.id.uuid(), secret.key.as_str());
        cx.detail("versions", versions.iter().map(|old| old.version).collect::<Vec<_>>());

        let mut history = Vec::with_capacity(versions.len());
        for old in versions {
            let value = if with_values {
                // A hidden one is opened too: that it held nothing is part of its seal.
                let value = cx.open_version(&scope, &secret, &old).await?;
                (!old.hidden).then_some(value)
            } else {
                None
            };
            history.push(entry(&secret, &old, value));
        }
        Ok(history)
    }
}

impl<A: Access> Context<'_, A> {
    /// The secret that an environment holds itself under a key, whatever it inherits.
    pub(super) async fn own_secret(
        &mut self,
        scope: &EnvironmentScope,
        key: &KeyRef,
    ) -> Result<SecretRecord> {
        let key = key.0.clone().ok_or(NO_SECRET)?;
        let found = self.reads().secrets(scope.environment.id, &[key]).await?;
        found.into_iter().next().ok_or(NO_SECRET)
    }

    /// What an earlier version of a secret held; of a hidden one, nothing.
    pub(super) async fn open_version(
        &mut self,
        scope: &EnvironmentScope,
        secret: &SecretRecord,
        old: &SecretVersion,
    ) -> Result<Plaintext> {
        self.open_value(scope, &old.of(secret)).await
    }
}

fn entry(secret: &SecretRecord, old: &SecretVersion, value: Option<Plaintext>) -> HistoryEntry {
    HistoryEntry {
        id: entry_id(old.secret, old.version),
        secret_id: old.secret,
        key: secret.key.clone(),
        value,
        version: old.version,
        change_type: old.change.as_str(),
        changed_by: old.changed_by,
        changed_at: old.changed_at,
        created_at: old.replaced_at,
    }
}

/// A version is stored under its secret and its number; this is a name for both together
/// (UUID version 8, RFC 9562).
fn entry_id(secret: SecretId, version: u32) -> Uuid {
    let digest = Sha256::new()
        .chain_update(secret.uuid().as_bytes())
        .chain_update(version.to_be_bytes())
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}
