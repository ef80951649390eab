//! Reading the previous versions of a secret.

use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use super::KeyRef;
use super::reading::direct_secret;
use super::sealing::{SECRET_NOT_FOUND, open_value};
use crate::access::EnvironmentScope;
use crate::crypto::Plaintext;
use crate::engine::{Access, Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Error, Permission, Result, SecretId, SecretKey, Time};
use crate::store::{SecretRecord, SecretVersion};

/// Maximum number of previous versions in one response.
const LIMIT: u32 = 100;

/// Lists the previous versions of a secret that the environment itself defines, newest first.
/// Values are included by default if the caller has write access; callers with only read access
/// must request them.
#[derive(Debug)]
pub struct ReadHistory {
    /// Environment of the secret.
    pub at: EnvironmentPath,
    /// Key (name) of the secret.
    pub key: KeyRef,
    /// True to include the values of the versions. Defaults to true for callers with write access,
    /// and to false for others.
    pub values: Option<bool>,
    /// Version number: only versions with a lower number are returned. `None` begins with the
    /// newest version.
    pub before: Option<u32>,
    /// Maximum number of versions to return: 1 to 100, 100 by default.
    pub limit: Option<u32>,
}

/// A previous version of a secret.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryEntry {
    /// ID of the history entry, stable across requests.
    pub id: Uuid,
    /// ID of the secret.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Uuid))]
    pub secret_id: SecretId,
    /// Key (name) of the secret.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub key: SecretKey,
    /// Decrypted value of this version, if values are included. Absent for a version in which the
    /// secret was hidden.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub value: Option<Plaintext>,
    /// Version number, starting at 1.
    pub version: u32,
    /// Kind of change that created the version: `created`, `updated`, `hidden`, `rolled_back` or
    /// `rotated`.
    pub change_type: &'static str,
    /// ID of the user or service token that created the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<Uuid>,
    /// Creation time of the version.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub changed_at: Time,
}

impl Operation for ReadHistory {
    const NAME: &'static str = "secret.history";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Read("secret.read");
    const HAS_LARGE_OUTPUT: bool = true;
    type Access = Read;
    type Output = Vec<HistoryEntry>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<HistoryEntry>> {
        let scope = cx.environment(&self.at, Permission::Read).await?;
        let secret = direct_secret(cx, &scope, &self.key).await?;
        let limit = self.limit.unwrap_or(LIMIT);
        if !(1..=LIMIT).contains(&limit) {
            return Err(Error::invalid("limit", "must be 1 to 100"));
        }
        let before = self.before.unwrap_or(u32::MAX);
        let with_values = self.values.unwrap_or(scope.may_write);
        let versions = cx.reads().secret_history(secret.id, before, limit).await?;
        let versions = versions.ok_or(SECRET_NOT_FOUND)?;
        cx.audit.skips_audit = !with_values;
        cx.set_resource("secret", secret.id.uuid(), secret.key.as_str());
        cx.add_detail("versions", versions.iter().map(|old| old.version).collect::<Vec<_>>());

        if with_values {
            cx.reserve_memory(versions.iter().map(|old| old.sealed.as_bytes().len()).sum()).await?;
        }
        let mut history = Vec::with_capacity(versions.len());
        for old in versions {
            let value = if with_values {
                // Hidden versions are decrypted too: this verifies the hidden flag.
                let value = open_version(cx, &scope, &secret, &old).await?;
                (!old.hidden).then_some(value)
            } else {
                None
            };
            history.push(entry(&secret, &old, value));
        }
        Ok(history)
    }
}

/// Decrypts the value of a previous version. Returns an empty value if the secret was hidden in
/// that version.
pub(super) async fn open_version<A: Access>(
    cx: &mut Context<'_, A>,
    scope: &EnvironmentScope,
    secret: &SecretRecord,
    old: &SecretVersion,
) -> Result<Plaintext> {
    open_value(cx, scope, &old.of(secret)).await
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
    }
}

/// Derives the stable ID of a history entry from the secret's ID and the version number (UUID
/// version 8, RFC 9562).
fn entry_id(secret: SecretId, version: u32) -> Uuid {
    let digest = Sha256::new()
        .chain_update(secret.uuid().as_bytes())
        .chain_update(version.to_be_bytes())
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}
