//! Writing secrets: functions that several operations share.

use std::mem;

use super::change::Content;
use super::sealing::{seal_description, seal_value};
use crate::access::EnvironmentScope;
use crate::crypto::{ManifestEntry, Plaintext, Sealed};
use crate::engine::{Context, Write};
use crate::model::{Code, Error, Quota, Result, SecretId, SecretKey, Subject};
use crate::store::{Change, EnvironmentCounters, SecretRecord};

/// Fails if `more` additional secrets would exceed the plan's limit. The environment must be
/// locked, so that the number of secrets does not change afterwards.
pub(crate) async fn check_secret_quota(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    more: u64,
) -> Result<()> {
    if scope.plan.limit(Quota::Secrets).is_none() {
        return Ok(());
    }
    let current = cx.reads().count_secrets(scope.environment.id).await?;
    scope.plan.admit(Quota::Secrets, current, more)
}

/// Fails if this transaction has made the secrets of the environment or of the team larger than the
/// plan allows. If the previous versions are larger than the plan allows, deletes the oldest ones.
/// Must be called after the last change of secrets in the transaction. Stores the manifest of the
/// environment.
pub(crate) async fn check_size(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
) -> Result<()> {
    let growth = check_environment_size(cx, scope).await?;
    check_team_size(cx, scope, growth).await
}

/// Checks the size like [`check_size`], but only of the environment and not of the team, for
/// changes to several environments. Returns the number of bytes by which the secrets and their
/// previous versions grew.
pub(super) async fn check_environment_size(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
) -> Result<i128> {
    let before = cx.locked_counters;
    let after = limit_history(cx, scope).await?;
    if let Some(more @ 1..) = after.size.checked_sub(before.size) {
        scope.plan.admit(Quota::Bytes, before.size, more)?;
    }
    let stored = |counters: EnvironmentCounters| {
        i128::from(counters.size) + i128::from(counters.history_size)
    };
    Ok(stored(after) - stored(before))
}

/// Returns an error if the transaction made the secrets of the team larger than the plan allows,
/// where `growth` is the total number of bytes added. The scope must be locked with
/// [`LockedRow::Secrets`] or [`Context::locked_environments`], so that the size stays valid.
///
/// [`LockedRow::Secrets`]: crate::access::LockedRow::Secrets
pub(super) async fn check_team_size(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    growth: i128,
) -> Result<()> {
    let Ok(more @ 1..) = u64::try_from(growth) else { return Ok(()) };
    if scope.plan.limit(Quota::StoredBytes).is_none() {
        return Ok(());
    }
    let size = cx.reads().stored_bytes(scope.project.team).await?;
    scope.plan.admit(Quota::StoredBytes, size.saturating_sub(more), more)
}

/// Maximum number of calls that delete previous versions after a write. Together they delete 2,000
/// versions, more than a change set adds, so that a history that is too large shrinks with every
/// write.
const MAX_PRUNINGS: usize = 10;

/// Stores the manifest of the environment. Then deletes the oldest previous versions of its secrets
/// if all previous versions together are larger than the plan allows. Returns the environment's
/// counters, which contain the size of its secrets in bytes.
async fn limit_history(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
) -> Result<EnvironmentCounters> {
    let (environment, max) = (scope.environment.id, scope.plan.history_bytes);
    // The statement that stores the manifest also returns the counters. (If this call is cancelled,
    // the transaction is rolled back.)
    let mut manifests = mem::take(&mut cx.manifests);
    let stored = manifests.store_one(cx.keyring(), cx.tx(), environment).await;
    cx.manifests = manifests;
    let mut counters = stored?;
    for _ in 0..MAX_PRUNINGS {
        let Some(excess @ 1..) = counters.history_size.checked_sub(max) else { break };
        cx.tx().prune_history(environment, excess).await?;
        let before = counters.history_size;
        counters = cx.reads().environment_counters(environment).await?;
        if counters.history_size == before {
            break;
        }
    }
    Ok(counters)
}

/// Fails if a rotation manages the secret. The environment must be locked.
pub(crate) async fn reject_managed(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    key: &SecretKey,
) -> Result<()> {
    let keys = std::slice::from_ref(key);
    let managed = cx.reads().managed_keys(scope.environment.id, keys).await?;
    if managed.is_empty() { Ok(()) } else { Err(MANAGED) }
}

/// Builds the record of a new secret (version 1), with its value and description encrypted.
pub(crate) fn first_version(
    cx: &Context<'_, Write>,
    scope: &EnvironmentScope,
    key: SecretKey,
    content: &Content,
    description: Option<&Plaintext>,
) -> SecretRecord {
    let (now, actor) = (cx.now(), cx.caller.actor());
    let mut record = SecretRecord {
        id: SecretId::draw(now),
        environment: scope.environment.id,
        key,
        sealed: Sealed::from_bytes(Vec::new()),
        hidden: content.hidden,
        description: None,
        version: 1,
        change: if content.hidden { Change::Hidden } else { Change::Created },
        changed_by: actor,
        changed_at: now,
        created_by: actor,
        updated_by: actor,
        created_at: now,
        updated_at: now,
    };
    record.sealed = seal_value(cx, scope, &record, &content.value);
    record.description = description.map(|text| seal_description(cx, scope, &record, text));
    record
}

/// Builds the record of the next version of a secret, with its value encrypted.
pub(super) fn next_version(
    cx: &Context<'_, Write>,
    scope: &EnvironmentScope,
    known: SecretRecord,
    content: &Content,
    change: Change,
) -> Result<NextVersion> {
    let version = known.version.checked_add(1).ok_or(Error::Stale(Subject::Secret))?;
    let previous = known.manifest_entry();
    let mut next = SecretRecord {
        hidden: content.hidden,
        version,
        change,
        changed_by: cx.caller.actor(),
        changed_at: cx.now(),
        updated_by: cx.caller.actor(),
        updated_at: cx.now(),
        ..known
    };
    next.sealed = seal_value(cx, scope, &next, &content.value);
    Ok(NextVersion { record: next, previous })
}

/// Next version of a secret.
pub(super) struct NextVersion {
    /// Record of the next version.
    pub(super) record: SecretRecord,
    /// Manifest entry of the replaced version.
    previous: ManifestEntry,
}

/// Secrets of one environment that are written to the store together.
#[derive(Default)]
pub(super) struct SecretBatch {
    /// Records of new secrets, built by [`first_version`].
    pub(super) new: Vec<SecretRecord>,
    /// Records of the next versions of existing secrets.
    next: Vec<SecretRecord>,
    /// Manifest entries of the replaced versions.
    previous: Vec<ManifestEntry>,
}

impl SecretBatch {
    /// Adds the next version of an existing secret, built by [`next_version`].
    pub(super) fn replace(&mut self, next: NextVersion) {
        self.next.push(next.record);
        self.previous.push(next.previous);
    }

    /// Returns the number of existing secrets in the batch.
    pub(super) fn replaced(&self) -> usize {
        self.next.len()
    }

    /// Stores all secrets or, if there is an error, none. Deletes old versions if there are more
    /// than the plan allows.
    pub(super) async fn store(
        &self,
        cx: &mut Context<'_, Write>,
        scope: &EnvironmentScope,
    ) -> Result<()> {
        insert(cx, &self.new).await?;
        if self.next.is_empty() {
            return Ok(());
        }
        cx.tx().replace_secrets(&self.next).await?;
        let (keyring, environment) = (cx.engine.keyring(), scope.environment.id);
        for (secret, previous) in self.next.iter().zip(&self.previous) {
            let changes = (Some(previous), Some(&secret.manifest_entry()));
            cx.manifests.change(keyring, environment, changes);
        }
        let limits = self.next.iter().filter_map(|secret| {
            let oldest = secret.version.checked_sub(scope.plan.versions)?;
            (oldest > 1).then_some((secret.id, oldest))
        });
        let limits: Vec<_> = limits.collect();
        if !limits.is_empty() {
            cx.tx().prune_versions(&limits).await?;
        }
        Ok(())
    }
}

/// Inserts new secrets, built by [`first_version`].
pub(super) async fn insert(cx: &mut Context<'_, Write>, secrets: &[SecretRecord]) -> Result<()> {
    if secrets.is_empty() {
        return Ok(());
    }
    cx.tx().insert_secrets(secrets).await?;
    for secret in secrets {
        let added = (None, Some(&secret.manifest_entry()));
        cx.manifests.change(cx.engine.keyring(), secret.environment, added);
    }
    Ok(())
}

/// Deletes a secret with all its versions. The environment must be locked.
pub(crate) async fn delete(cx: &mut Context<'_, Write>, secret: &SecretRecord) -> Result<()> {
    cx.tx().delete_secret(secret.id).await?;
    let removed = (Some(&secret.manifest_entry()), None);
    cx.manifests.change(cx.engine.keyring(), secret.environment, removed);
    Ok(())
}

/// Stores the next version of a secret with this content.
pub(super) async fn replace(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    known: SecretRecord,
    content: &Content,
    change: Change,
) -> Result<SecretRecord> {
    let next = next_version(cx, scope, known, content, change)?;
    let record = next.record.clone();
    let mut batch = SecretBatch::default();
    batch.replace(next);
    batch.store(cx, scope).await?;
    if change == Change::Hidden {
        cx.audit.action = Some("secret.hidden");
    }
    Ok(record)
}

/// Writes the parts of a rotated credential, such as user name and password: each becomes the next
/// version of its secret, or a new secret. The environment must be locked.
pub(crate) async fn write_rotated(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    values: Vec<(SecretKey, Plaintext)>,
) -> Result<()> {
    let keys: Vec<_> = values.iter().map(|(key, _)| key.clone()).collect();
    let mut known = cx.reads().secrets(scope.environment.id, &keys).await?;
    check_secret_quota(cx, scope, (keys.len() - known.len()) as u64).await?;
    let mut batch = SecretBatch::default();
    for (key, value) in values {
        let content = Content { value, hidden: false };
        if let Some(place) = known.iter().position(|secret| secret.key == key) {
            let secret = known.swap_remove(place);
            batch.replace(next_version(cx, scope, secret, &content, Change::Rotated)?);
        } else {
            let first = first_version(cx, scope, key, &content, None);
            batch.new.push(SecretRecord { change: Change::Rotated, ..first });
        }
    }
    batch.store(cx, scope).await?;
    limit_history(cx, scope).await.map(drop)
}

/// Error for changing a secret that a rotation manages.
const MANAGED: Error = Error::Refused {
    code: Code::ManagedKey,
    reason: std::borrow::Cow::Borrowed(
        "a rotation of this environment writes this key, and only the rotation can change it",
    ),
};
