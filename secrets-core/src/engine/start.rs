//! Starting: keys and data must belong together, or nothing starts and nothing is written.

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use crate::crypto::{Keyring, KeyringError, random};
use crate::engine::Ports;
use crate::model::{SecretId, Subject};
use crate::secrets;
use crate::store::{Reads, Sample, StoreError};

/// Why the service does not start.
#[derive(Debug)]
pub enum StartError {
    /// The keys of the installation do not open.
    Keys(KeyringError),
    /// There is data and no key row: a database restored without it.
    OrphanData,
    /// Too many records do not decrypt.
    Unreadable {
        /// How many were tried.
        tried: usize,
        /// How many failed.
        failed: usize,
    },
    /// The store failed.
    Store(StoreError),
}

/// How many records are opened at start.
const SAMPLES: usize = 16;

/// How many are opened before a start is refused, where there are as many.
const MORE_SAMPLES: usize = 64;

/// Opens the installation's keys. Makes them only where there is neither installation nor data.
pub(super) async fn keyring(ports: &Ports) -> Result<Keyring, StartError> {
    if let Some(keyring) = found(ports).await? {
        return Ok(keyring);
    }
    let root = ports.root.as_ref();
    let (record, keys, keyring) =
        Keyring::found(root, ports.clock.now()).await.map_err(StartError::Keys)?;
    let mut tx = ports.store.begin().await?;
    match tx.insert_instance(&record, &keys).await {
        Ok(()) => {}
        // Another node was faster; its installation is ours.
        Err(StoreError::Duplicate(_)) => {
            drop(tx);
            return found(ports)
                .await?
                .ok_or(StartError::Store(StoreError::Stale(Subject::Resource)));
        }
        Err(error) => return Err(error.into()),
    }
    // Asked under the lock that the insertion took, so that no key is ever made where data exists.
    if tx.holds_data().await? {
        return Err(StartError::OrphanData);
    }
    tx.commit().await?;
    Ok(keyring)
}

async fn found(ports: &Ports) -> Result<Option<Keyring>, StartError> {
    let mut reads = ports.store.read().await?;
    let Some((record, keys)) = reads.instance().await? else { return Ok(None) };
    let keyring =
        Keyring::open(ports.root.as_ref(), &record, &keys).await.map_err(StartError::Keys)?;
    try_records(&keyring, reads.as_mut()).await?;
    Ok(Some(keyring))
}

/// Opens records drawn at random: a few that fail are reported, many mean that these keys and this
/// data do not belong together.
async fn try_records(keyring: &Keyring, reads: &mut dyn Reads) -> Result<(), StartError> {
    let Some((oldest, newest)) = reads.secret_range().await? else { return Ok(()) };
    let mut tried = BTreeMap::new();
    for _ in 0..SAMPLES {
        let Some(sample) = reads.sample(between(oldest, newest)).await? else { continue };
        tried.insert(sample.secret.id, opens(keyring, &sample));
    }
    // Ids follow time, so a record made after a long pause is drawn again and again. One such
    // record is not reason enough: its neighbours are asked as well.
    let mut from = Some(oldest);
    while is_unreadable(&tried) && tried.len() < MORE_SAMPLES {
        let Some(next) = from else { break };
        let Some(sample) = reads.sample(next).await? else { break };
        tried.insert(sample.secret.id, opens(keyring, &sample));
        from =
            sample.secret.id.uuid().as_u128().checked_add(1).map(|id| Uuid::from_u128(id).into());
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

fn failures(tried: &BTreeMap<SecretId, bool>) -> usize {
    tried.values().filter(|opens| !**opens).count()
}

/// More than a quarter does not open.
fn is_unreadable(tried: &BTreeMap<SecretId, bool>) -> bool {
    failures(tried) * 4 > tried.len()
}

fn opens(keyring: &Keyring, sample: &Sample) -> bool {
    let Some(record) = &sample.key else { return false };
    let Ok(key) = keyring.project_key(record) else { return false };
    if sample.secret.sealed.key_version() != Some(record.version) {
        // Sealed by an older key, which this sample does not bring along.
        return sample.secret.sealed.key_version().is_some();
    }
    let context = secrets::value_context(keyring.instance(), record.project, &sample.secret);
    sample.secret.sealed.open(&key, &context).is_ok()
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
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Keys(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::OrphanData | Self::Unreadable { .. } => None,
        }
    }
}
