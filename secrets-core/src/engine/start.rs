//! Startup: refuses to start, and writes nothing, if the encryption keys and the stored data do not
//! match.

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use super::records::value_context;
use crate::crypto::{Keyring, KeyringError, ProjectKeyRecord, random};
use crate::engine::Ports;
use crate::model::{Cause, InstanceId, SecretId, Subject};
use crate::store::{Reads, Sample, StoreError, StoreResult};

/// Reason why the service cannot start.
#[derive(Debug)]
pub enum StartError {
    /// The encryption keys of the instance cannot be decrypted.
    Keys(KeyringError),
    /// The database has data but no encryption keys: it was restored without its keys.
    OrphanData,
    /// Too many of the sampled records cannot be decrypted.
    Unreadable {
        /// Number of sampled records that startup tried to decrypt.
        tried: usize,
        /// Number of sampled records that could not be decrypted.
        failed: usize,
    },
    /// The epoch in the database is lower than its copy outside the database: the database was
    /// replaced by an earlier state of it.
    RolledBack {
        /// Epoch in the database.
        stored: u64,
        /// Copy of the epoch.
        recorded: u64,
    },
    /// The copy of the epoch belongs to another instance.
    OtherInstance {
        /// ID of the instance in the database.
        stored: InstanceId,
        /// ID of the instance to which the copy belongs.
        recorded: InstanceId,
    },
    /// The copy of the epoch cannot be read or written.
    Epochs(Cause),
    /// The store returned an error.
    Store(StoreError),
}

/// Number of randomly chosen records decrypted at startup.
const SAMPLES: usize = 16;

/// Maximum number of records that startup tries to decrypt before it fails.
const MORE_SAMPLES: usize = 64;

/// Maximum number of records that startup loads, beginning with the oldest. Includes the records
/// whose key was destroyed.
const MAX_LOADED: usize = 1_024;

/// Loads the encryption keys of the instance. On the first start, creates the instance and its
/// encryption keys; fails if the store has data but no instance record.
pub(super) async fn keyring(ports: &Ports) -> Result<Keyring, StartError> {
    if let Some(keyring) = load(ports).await? {
        return Ok(keyring);
    }
    let root = ports.root.as_ref();
    let (record, keys, keyring) =
        Keyring::create(root, ports.clock.now()).await.map_err(StartError::Keys)?;
    let mut tx = ports.store.begin().await?;
    match tx.insert_instance(&record, &keys).await {
        Ok(()) => {}
        // Another node created the instance first, so load its keys.
        Err(StoreError::Duplicate(_)) => {
            drop(tx);
            return load(ports)
                .await?
                .ok_or(StartError::Store(StoreError::Stale(Subject::Resource)));
        }
        Err(error) => return Err(error.into()),
    }
    // Checked under the lock that the insert took, so that no key is ever created where data
    // exists.
    if tx.has_data().await? {
        return Err(StartError::OrphanData);
    }
    tx.commit().await?;
    Ok(keyring)
}

async fn load(ports: &Ports) -> Result<Option<Keyring>, StartError> {
    let mut reads = ports.store.read().await?;
    let Some((record, keys)) = reads.instance().await? else { return Ok(None) };
    let keyring =
        Keyring::load(ports.root_of(&record), &record, &keys).await.map_err(StartError::Keys)?;
    try_records(&keyring, reads.as_mut()).await?;
    Ok(Some(keyring))
}

/// Decrypts randomly chosen records. A few failures are only logged. If many records fail, the
/// encryption keys do not belong to this data, and startup fails.
async fn try_records(keyring: &Keyring, reads: &mut dyn Reads) -> Result<(), StartError> {
    let Some((oldest, newest)) = reads.secret_range().await? else { return Ok(()) };
    let mut tried = BTreeMap::new();
    for _ in 0..SAMPLES {
        try_next(keyring, reads, between(oldest, newest), &mut tried).await?;
    }
    // IDs are ordered by time, so a record created after a long pause is drawn again and again. One
    // such record must not prevent a start, so records from the oldest on are tried too.
    let (mut from, mut loaded) = (Some(oldest), 0);
    while is_unreadable(&tried) && tried.len() < MORE_SAMPLES && loaded < MAX_LOADED {
        let Some(next) = from else { break };
        let Some(id) = try_next(keyring, reads, next, &mut tried).await? else { break };
        loaded += 1;
        from = id.uuid().as_u128().checked_add(1).map(|id| Uuid::from_u128(id).into());
    }
    let (tried, failed) = (&tried, failures(&tried));
    if failed > 0 {
        tracing::error!(tried = tried.len(), failed, "records do not decrypt");
    }
    if is_unreadable(tried) {
        return Err(StartError::Unreadable { tried: tried.len(), failed });
    }
    Ok(())
}

/// Tries to decrypt the record of the first secret whose ID is `from` or higher, and adds the
/// result to `tried`. Skips a record of a project that is being purged, because its key was
/// destroyed. Returns the ID of the secret; `None` if there is none.
async fn try_next(
    keyring: &Keyring,
    reads: &mut dyn Reads,
    from: SecretId,
    tried: &mut BTreeMap<SecretId, bool>,
) -> StoreResult<Option<SecretId>> {
    let Some((id, sample)) = next_sample(reads, from).await? else { return Ok(None) };
    let key = sample.as_ref().and_then(|sample| sample.key.as_ref());
    if !key.is_some_and(ProjectKeyRecord::is_destroyed) {
        tried.insert(id, sample.is_some_and(|sample| opens(keyring, &sample)));
    }
    Ok(Some(id))
}

/// Loads the first secret whose ID is `from` or higher, with a key of its project. Returns the ID
/// of the secret, and no sample if the row of the secret or of the key cannot be decoded. `None` if
/// there is no such secret.
pub(crate) async fn next_sample(
    reads: &mut dyn Reads,
    from: SecretId,
) -> StoreResult<Option<(SecretId, Option<Sample>)>> {
    match reads.sample(from).await {
        Ok(sample) => Ok(sample.map(|sample| (sample.secret.id, Some(sample)))),
        Err(StoreError::Corrupt(_)) => Ok(reads.next_secret(from).await?.map(|id| (id, None))),
        Err(error) => Err(error),
    }
}

fn failures(tried: &BTreeMap<SecretId, bool>) -> usize {
    tried.values().filter(|opens| !**opens).count()
}

/// True if more than a quarter of the sampled records cannot be decrypted.
fn is_unreadable(tried: &BTreeMap<SecretId, bool>) -> bool {
    failures(tried) * 4 > tried.len()
}

fn opens(keyring: &Keyring, sample: &Sample) -> bool {
    let Some(record) = &sample.key else { return false };
    let Ok(key) = keyring.project_key(record) else { return false };
    if sample.secret.sealed.key_version() != Some(record.version) {
        // Assume that a record with an older key version can be decrypted: the sample does not
        // include this version.
        return sample.secret.sealed.key_version().is_some();
    }
    let context = value_context(keyring.instance(), record.project, &sample.secret);
    keyring.open(&sample.secret.sealed, &key, &context).is_ok()
}

fn between(oldest: SecretId, newest: SecretId) -> SecretId {
    let (low, high) = (oldest.uuid().as_u128(), newest.uuid().as_u128());
    let drawn = u128::from_be_bytes(random());
    let span = (high - low).saturating_add(1);
    Uuid::from_u128(low + drawn % span).into()
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys(error) => error.fmt(f),
            Self::OrphanData => f.write_str(
                "the database holds data but no key row: it was restored without its keys",
            ),
            Self::Unreadable { tried, failed } => {
                write!(
                    f,
                    "{failed} of {tried} records do not decrypt under the keys of this database"
                )
            }
            Self::RolledBack { stored, recorded } => write!(
                f,
                "the database was replaced by an earlier state of it: its epoch is {stored}, but \
                 was {recorded} already"
            ),
            Self::OtherInstance { stored, recorded } => write!(
                f,
                "the copy of the epoch belongs to the instance {recorded}, but the database to the \
                 instance {stored}"
            ),
            Self::Epochs(cause) => {
                write!(f, "the copy of the epoch cannot be read or written: {cause}")
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Keys(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Epochs(cause) => Some(cause.as_ref()),
            Self::OrphanData
            | Self::Unreadable { .. }
            | Self::RolledBack { .. }
            | Self::OtherInstance { .. } => None,
        }
    }
}
