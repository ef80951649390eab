//! Replacement of project keys: new records are immediately encrypted with the new key, and
//! existing records are encrypted again in the background.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use uuid::Uuid;

use crate::crypto::{ManifestEntry, ProjectKey, Purpose, Sealed};
use crate::engine::manifests::Manifests;
use crate::engine::{
    AuditContext, Caller, Engine, Failures, Periodic, Schedule, WorkItem, records,
};
use crate::failpoint;
use crate::model::{EnvironmentId, Error, ProjectId, Result, Time};
use crate::rotations::SealedField;
use crate::store::{
    ProjectKeyCounts, ReplacedKey, SealedColumn, SealedRow, Store, StoreError, StoreResult, Tx,
};

/// Maximum number of records re-encrypted in one transaction.
const MAX_ROWS: u32 = 200;

/// Maximum number of project keys loaded at a time.
const MAX_KEYS: u32 = 16;

/// Minimum time between the replacement of a project key and its retirement. By then, operations
/// that began before the replacement and may still use the old key have ended.
const SETTLING_TIME: TimeDelta = TimeDelta::minutes(10);

/// Worker that replaces the project keys after [`request_project_keys`] was called, and re-encrypts
/// the records of replaced keys.
pub const PROJECT_KEYS: Periodic = Periodic {
    name: "project keys",
    schedule: Schedule {
        timeout: Duration::from_mins(30),
        stale_after: Duration::from_mins(40),
        ..Schedule::every(Duration::from_mins(1))
    },
    job: |engine| Box::pin(async move { replace_project_keys(&engine).await }),
};

/// State of the encryption keys of an instance, as reported to an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStatus {
    /// ID of the root key that wraps the instance key.
    pub root: String,
    /// Number of project keys in each state.
    pub projects: ProjectKeyCounts,
    /// Time of the pending request to replace project keys; `None` if no request is pending.
    pub requested_at: Option<Time>,
}

/// Requests the replacement of all project keys. The running service replaces them in the
/// background.
pub async fn request_project_keys(store: &dyn Store, now: Time) -> StoreResult<()> {
    let mut tx = store.begin().await?;
    tx.request_project_keys(now).await?;
    tx.commit().await
}

/// Returns the state of the encryption keys in a store.
pub async fn status(store: &dyn Store) -> StoreResult<KeyStatus> {
    let mut reads = store.read().await?;
    let instance = reads.instance().await?;
    Ok(KeyStatus {
        root: instance.map(|(instance, _)| instance.root_key.to_string()).unwrap_or_default(),
        projects: reads.project_key_counts().await?,
        requested_at: reads.project_key_request().await?,
    })
}

/// Replaces the project keys that are older than the last request, and re-encrypts the records of
/// replaced keys, in short transactions. If a project fails, the failure is reported and retried
/// later, and the other projects continue.
pub async fn replace_project_keys(engine: &Arc<Engine>) -> Result<()> {
    add_keys(engine).await?;
    let failures = engine.shared::<Failures>();
    let (mut after, mut unavailable) = (None, Ok(()));
    loop {
        let mut reads = engine.store().read().await?;
        let replaced = reads.replaced_project_keys(after, MAX_KEYS).await?;
        drop(reads);
        let Some(last) = replaced.last() else { return unavailable };
        after = Some((last.key.project, last.key.version));
        for key in &replaced {
            let item = WorkItem::ProjectKey(key.key.project);
            if failures.must_wait(item, engine.now()) {
                continue;
            }
            match encrypt_again(engine, key).await {
                Ok(()) => failures.clear(item),
                // The search for the records of this project may have been too slow. If the store
                // itself is unavailable, loading the next page of keys fails, which ends the run.
                Err(error @ Error::Unavailable(_)) => {
                    failures.report(item, &error, engine.now());
                    unavailable = Err(error);
                }
                Err(error) => drop(failures.report(item, &error, engine.now())),
            }
        }
    }
}

/// Adds a new key to every project whose newest key is older than the last request to replace keys.
async fn add_keys(engine: &Engine) -> Result<()> {
    let Some(before) = engine.store().read().await?.project_key_request().await? else {
        return Ok(());
    };
    loop {
        let aged = engine.store().read().await?.aged_project_keys(before, MAX_KEYS).await?;
        for key in &aged {
            let version = key.version.checked_add(1);
            let version = version.ok_or_else(|| Error::internal("too many project keys"))?;
            let new = engine.keyring().draw_project_key(key.project, version);
            let mut tx = engine.store().begin().await?;
            // The creation time must not be earlier than the request, whose time may come from
            // another clock. Otherwise the new key would be replaced again immediately.
            match tx.insert_project_key(&new, engine.now().max(before)).await {
                Ok(()) => tx.commit().await?,
                // Another node added the key, or the project was purged.
                Err(StoreError::Duplicate(_)) => {}
                Err(error) => return Err(error.into()),
            }
            failpoint::reached("after-key").await;
        }
        if aged.is_empty() {
            break;
        }
    }
    let mut tx = engine.store().begin().await?;
    tx.finish_project_key_request(before).await?;
    tx.commit().await?;
    Ok(())
}

/// Re-encrypts all records that a replaced key encrypted. Marks the key as retired if no record
/// uses the key and no running operation can still use it.
async fn encrypt_again(engine: &Engine, replaced: &ReplacedKey) -> Result<()> {
    let keys = Keys::of(engine, replaced)?;
    let mut seen = Seen::default();
    let mut reads = engine.store().read().await?;
    let environments = reads.all_environments(keys.project).await?;
    drop(reads);
    // One environment at a time, so that each search takes a short time however large the project
    // is.
    for environment in environments {
        for column in SealedColumn::ALL {
            let mut after = Some((Uuid::nil(), 0));
            while let Some(place) = after {
                let column = (environment, column);
                after = keys.encrypt_batch(engine, column, place, &mut seen).await?;
            }
        }
    }
    if let Some(error) = seen.error {
        return Err(error);
    }
    if seen.rows == 0 && replaced.replaced_at + SETTLING_TIME < engine.now() {
        retire(engine, replaced).await?;
    }
    Ok(())
}

/// Result of one pass over the records of a replaced key: the number of records that were found,
/// and the first error.
#[derive(Default)]
struct Seen {
    rows: u64,
    /// First error. A record that cannot be decrypted stays unchanged, and the pass continues with
    /// the other records.
    error: Option<Error>,
}

/// A replaced project key (`old`), and the newest key of the same project (`new`).
struct Keys {
    project: ProjectId,
    old: ProjectKey,
    new: ProjectKey,
}

impl Keys {
    fn of(engine: &Engine, replaced: &ReplacedKey) -> Result<Self> {
        let open = |key| engine.keyring().project_key(key).map_err(Error::internal);
        let (old, new) = (open(&replaced.key)?, open(&replaced.newest)?);
        Ok(Self { project: replaced.key.project, old, new })
    }

    /// Re-encrypts the next batch of records in a column of an environment, in one transaction, and
    /// counts them in `seen`. The batch begins after the position `after`. Returns the position of
    /// the last record of the batch; `None` if no record is left or the key is no longer in use.
    /// Only one node at a time runs a batch for the same key.
    async fn encrypt_batch(
        &self,
        engine: &Engine,
        (environment, column): (EnvironmentId, SealedColumn),
        after: (Uuid, u64),
        seen: &mut Seen,
    ) -> Result<Option<(Uuid, u64)>> {
        let place = (environment, self.old.version());
        // Search with a reader and not in the transaction, because no index supports the search. On
        // SQLite, other writers therefore do not wait for it.
        let mut reads = engine.store().read().await?;
        let rows = reads.sealed_rows(column, place, after, MAX_ROWS).await?;
        drop(reads);
        let Some(last) = rows.last().map(|row| (row.object, row.version)) else { return Ok(None) };
        let mut tx = engine.store().begin().await?;
        match tx.lock_project_key(self.project, self.old.version()).await {
            Ok(()) => {}
            // The project was purged, or another node retired the key.
            Err(StoreError::Stale(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mut manifests = lock_environment(engine, tx.as_mut(), environment, column).await?;
        for row in &rows {
            seen.rows += 1;
            match self.encrypted(engine, column, row) {
                // False if the record changed meanwhile: the change was encrypted with the newest
                // key.
                Ok(sealed) => {
                    if tx.replace_sealed(column, row, &sealed).await? {
                        let changes = (&entry(row, &row.sealed), &entry(row, &sealed));
                        let changes = (Some(changes.0), Some(changes.1));
                        manifests.change(engine.keyring(), row.environment, changes);
                    }
                }
                Err(error) => drop(seen.error.get_or_insert(error)),
            }
        }
        manifests.store(engine.keyring(), tx.as_mut()).await?;
        failpoint::reached("in-key-batch").await;
        tx.commit().await?;
        failpoint::reached("after-key-batch").await;
        Ok(Some(last))
    }

    /// Decrypts a record with the replaced key and encrypts it with the newest key.
    fn encrypted(&self, engine: &Engine, column: SealedColumn, row: &SealedRow) -> Result<Sealed> {
        let context = context(engine, self.project, column, row);
        let text = engine.keyring().open(&row.sealed, &self.old, &context);
        let text = text.map_err(Error::internal)?;
        let sealed = Sealed::seal(&self.new, &context, &text);
        // The stored record is replaced only after the new record was decrypted successfully.
        let opened = sealed.open(&self.new, &context).map_err(Error::internal)?;
        if opened.reveal() != text.reveal() {
            return Err(Error::internal("a record does not decrypt to the same text"));
        }
        Ok(sealed)
    }
}

/// Locks the environment if the column contains records of secrets. Returns the manifest of the
/// environment if the manifest covers the column; otherwise, returns no manifest.
async fn lock_environment(
    engine: &Engine,
    tx: &mut dyn Tx,
    environment: EnvironmentId,
    column: SealedColumn,
) -> Result<Manifests> {
    let mut manifests = Manifests::default();
    if !column.is_of_secrets() {
        return Ok(manifests);
    }
    match tx.lock_environment(environment).await {
        // A deleted project or environment needs no lock, because only a purge changes its secrets.
        Ok(()) | Err(StoreError::Stale(_)) => {}
        Err(error) => return Err(error.into()),
    }
    if column == SealedColumn::Value {
        match tx.environment_counters(environment).await {
            Ok(counters) => {
                manifests.open(engine.keyring(), environment, &counters, counters.revision);
            }
            // The environment was purged after the records were read.
            Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(manifests)
}

/// Returns the entry of a secret with this encrypted value in the manifest of its environment.
fn entry(row: &SealedRow, sealed: &Sealed) -> ManifestEntry {
    let version = u32::try_from(row.version).unwrap_or_default();
    ManifestEntry::of(row.object.into(), version, row.hidden, sealed)
}

/// Returns the context (associated data) with which a record is encrypted.
fn context<'a>(
    engine: &Engine,
    project: ProjectId,
    column: SealedColumn,
    row: &'a SealedRow,
) -> crate::crypto::RecordContext<'a> {
    let instance = engine.keyring().instance();
    let field = match column {
        SealedColumn::Value | SealedColumn::PreviousValue => {
            return records::row_context(instance, project, Purpose::Value, row);
        }
        SealedColumn::Description => {
            return records::row_context(instance, project, Purpose::Description, row);
        }
        SealedColumn::Connection => SealedField::Connection(row.object.into()),
        SealedColumn::Proxy => SealedField::Proxy(row.object.into()),
        SealedColumn::Pending => SealedField::Pending(row.object.into(), row.version),
        SealedColumn::Webhook => SealedField::Webhook(row.object.into()),
    };
    field.context(instance, project, row.environment)
}

async fn retire(engine: &Engine, replaced: &ReplacedKey) -> Result<()> {
    let (project, version) = (replaced.key.project, replaced.key.version);
    let mut tx = engine.store().begin().await?;
    match tx.retire_project_key(project, version, engine.now()).await {
        Ok(()) => {}
        Err(StoreError::Stale(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let mut context = AuditContext {
        resource: Some(("project", Some(project.uuid()), None)),
        ..AuditContext::default()
    };
    context.details.insert("version".to_owned(), version.into());
    let entry = context.into_entry(&Caller::system(), "keys.project_key_retired", engine.now());
    tx.insert_audit(&[entry]).await?;
    tx.commit().await?;
    Ok(())
}
