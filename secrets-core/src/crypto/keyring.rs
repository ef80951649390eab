//! Unwrapped keys of one instance, and their stored form.

mod canary;
#[cfg(feature = "testing")]
pub mod published;

use std::fmt;

use super::cipher::{Cipher, NONCE};
use super::failures::{DecryptionFailure, DecryptionFailures};
use super::key::{Key, RootKeyError, RootKeyId, RootKeys};
use super::project_key::{ProjectKey, ProjectKeyError, ProjectKeyRecord};
use super::{Plaintext, RecordContext, Sealed, Undecryptable, random};
use crate::model::{InstanceId, ProjectId, Time};

/// Stored record of the instance: this installation of the service with one database and its
/// cryptographic keys. There is exactly one such row.
#[derive(Debug, Clone)]
pub struct InstanceRecord {
    /// ID of the instance that owns the database.
    pub id: InstanceId,
    /// ID of the root key that wrapped the instance key.
    pub root_key: RootKeyId,
    /// ID of the instance key (key-encryption key).
    pub kek_id: u32,
    /// Instance key, wrapped (encrypted) by the root key.
    pub wrapped_kek: Vec<u8>,
    /// Ciphertext that only the right instance key decrypts. Checked at startup.
    pub canary: Vec<u8>,
    /// Epoch: a number that the service increases while it runs. A copy outside the database
    /// ([`EpochStore`](crate::ports::epochs::EpochStore)) shows that the database was replaced by
    /// an earlier state of it. The canary contains this number, so that a changed number is
    /// detected at startup.
    pub epoch: u64,
    /// Creation time of the instance.
    pub created_at: Time,
}

/// Stored record of a cryptographic key listed in [`InstanceKeyPurpose`], wrapped by the instance
/// key. The wrapped key stays the same when the instance key is replaced.
#[derive(Debug, Clone)]
pub struct InstanceKeyRecord {
    /// Purpose of the key.
    pub purpose: InstanceKeyPurpose,
    /// ID of the instance key that wrapped this key.
    pub kek_id: u32,
    /// Cryptographic key, wrapped (encrypted) by the instance key.
    pub wrapped: Vec<u8>,
}

/// Purpose of a cryptographic key that exists once per instance and is wrapped by the instance key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum InstanceKeyPurpose {
    /// Key of the MACs that are stored instead of tokens (pepper).
    TokenPepper = 1,
    /// Key of the MACs in the audit chains.
    Audit = 2,
    /// Key of the MACs in the manifests of environments.
    Manifest = 3,
    /// Seed of the instance's Ed25519 signing key.
    Signing = 4,
}

impl InstanceKeyPurpose {
    /// All purposes, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::TokenPepper, Self::Audit, Self::Manifest, Self::Signing];

    /// Returns the purpose with this number; `None` if the number is unknown.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| *purpose as u32 == number)
    }
}

/// Error from loading the cryptographic keys of an instance.
#[derive(Debug)]
pub enum KeyringError {
    /// The configured root key is not the key that wrapped the instance key.
    RootKey {
        /// ID of the root key that wrapped the instance key.
        needed: RootKeyId,
        /// ID of the configured root key.
        given: RootKeyId,
    },
    /// The root key's ID matches, but the keys cannot be decrypted: rows were changed or are
    /// missing.
    Tampered,
    /// The root key is unavailable, for example because the key service cannot be reached.
    Unavailable(crate::model::Cause),
}

/// Unwrapped cryptographic keys of one instance.
pub struct Keyring {
    instance: InstanceId,
    kek_id: u32,
    wrapping: Cipher,
    canary: Cipher,
    pepper: Key,
    audit: Key,
    manifest: Key,
    signing: Key,
    failures: DecryptionFailures,
}

impl Keyring {
    /// Creates an instance with new cryptographic keys. The caller stores the returned records.
    pub async fn create(
        root: &dyn RootKeys,
        now: Time,
    ) -> Result<(InstanceRecord, Vec<InstanceKeyRecord>, Self), KeyringError> {
        let (id, kek_id, epoch) = (InstanceId::draw(now), 1, 1);
        let kek = Key::generate();
        let wrapped_kek = root.wrap(&kek, &kek_context(id, kek_id)).await.map_err(refused)?;
        let canary = canary::seal(&canary::cipher(&kek, id), (id, kek_id, epoch));
        let record = InstanceRecord {
            id,
            root_key: root.id(),
            kek_id,
            wrapped_kek,
            canary,
            epoch,
            created_at: now,
        };

        let wrapping = wrapping_cipher(&kek, id);
        let draw = |purpose| draw_instance_key(&wrapping, id, kek_id, purpose);
        let keys: Vec<_> = InstanceKeyPurpose::ALL.into_iter().map(draw).collect();
        let keyring = Self::assemble(&record, &kek, &keys)?;
        Ok((record, keys, keyring))
    }

    /// Loads the cryptographic keys of an instance. Fails if the root key is wrong, or if a key row
    /// is missing or changed.
    pub async fn load(
        root: &dyn RootKeys,
        record: &InstanceRecord,
        keys: &[InstanceKeyRecord],
    ) -> Result<Self, KeyringError> {
        if record.root_key != root.id() {
            return Err(KeyringError::RootKey { needed: record.root_key, given: root.id() });
        }
        let context = kek_context(record.id, record.kek_id);
        let kek = root.unwrap(&record.wrapped_kek, &context).await.map_err(refused)?;
        canary::check(&canary::cipher(&kek, record.id), record)?;
        Self::assemble(record, &kek, keys)
    }

    /// Returns the instance's record after the instance key was wrapped with another root key.
    /// Fails if `from` did not wrap the stored instance key, or if `to` cannot unwrap the newly
    /// wrapped key.
    pub async fn rewrap(
        record: &InstanceRecord,
        from: &dyn RootKeys,
        to: &dyn RootKeys,
    ) -> Result<InstanceRecord, KeyringError> {
        if record.root_key != from.id() {
            return Err(KeyringError::RootKey { needed: record.root_key, given: from.id() });
        }
        let context = kek_context(record.id, record.kek_id);
        let kek = from.unwrap(&record.wrapped_kek, &context).await.map_err(refused)?;
        canary::check(&canary::cipher(&kek, record.id), record)?;
        let wrapped_kek = to.wrap(&kek, &context).await.map_err(refused)?;
        let unwrapped = to.unwrap(&wrapped_kek, &context).await.map_err(refused)?;
        canary::check(&canary::cipher(&unwrapped, record.id), record)?;
        Ok(InstanceRecord { root_key: to.id(), wrapped_kek, ..record.clone() })
    }

    fn assemble(
        record: &InstanceRecord,
        kek: &Key,
        keys: &[InstanceKeyRecord],
    ) -> Result<Self, KeyringError> {
        let (wrapping, canary) = (wrapping_cipher(kek, record.id), canary::cipher(kek, record.id));
        let (mut pepper, mut audit, mut manifest, mut signing) = (None, None, None, None);
        for key in keys {
            let context = dek_context(record.id, ProjectId::NIL, key.purpose as u32);
            let opened = unwrap(&wrapping, &key.wrapped, &context).map_err(tampered)?;
            match key.purpose {
                InstanceKeyPurpose::TokenPepper => pepper = Some(opened),
                InstanceKeyPurpose::Audit => audit = Some(opened),
                InstanceKeyPurpose::Signing => signing = Some(opened),
                InstanceKeyPurpose::Manifest => manifest = Some(opened),
            }
        }
        let (Some(pepper), Some(audit), Some(manifest), Some(signing)) =
            (pepper, audit, manifest, signing)
        else {
            return Err(KeyringError::Tampered);
        };
        let (instance, kek_id, failures) =
            (record.id, record.kek_id, DecryptionFailures::default());
        Ok(Self { instance, kek_id, wrapping, canary, pepper, audit, manifest, signing, failures })
    }

    /// Returns the instance ID.
    #[must_use]
    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    /// Returns the instance's record with another epoch. Fails if the canary of the given record
    /// does not match it.
    pub(crate) fn with_epoch(
        &self,
        record: &InstanceRecord,
        epoch: u64,
    ) -> Result<InstanceRecord, KeyringError> {
        canary::check(&self.canary, record)?;
        let canary = canary::seal(&self.canary, (record.id, record.kek_id, epoch));
        Ok(InstanceRecord { canary, epoch, ..record.clone() })
    }

    /// Generates an instance key for this purpose. The caller stores the returned record. This
    /// keyring continues to use the earlier key.
    pub(crate) fn draw_instance_key(&self, purpose: InstanceKeyPurpose) -> InstanceKeyRecord {
        draw_instance_key(&self.wrapping, self.instance, self.kek_id, purpose)
    }

    /// Generates a key for a project. The first version is 1. The caller stores the returned
    /// record.
    #[must_use]
    pub fn draw_project_key(&self, project: ProjectId, version: u32) -> ProjectKeyRecord {
        let context = dek_context(self.instance, project, version);
        let wrapped = wrap(&self.wrapping, &Key::generate(), &context);
        ProjectKeyRecord { project, version, kek_id: self.kek_id, wrapped }
    }

    /// Unwraps (decrypts) a project key. If that fails, the failure is counted, unless the key was
    /// destroyed.
    pub fn project_key(&self, record: &ProjectKeyRecord) -> Result<ProjectKey, ProjectKeyError> {
        if record.is_destroyed() {
            return Err(ProjectKeyError::Destroyed);
        }
        let context = dek_context(self.instance, record.project, record.version);
        let key = unwrap(&self.wrapping, &record.wrapped, &context)
            .inspect_err(|_| self.failures.count(DecryptionFailure::Key))
            .map_err(|_| ProjectKeyError::Undecryptable)?;
        Ok(ProjectKey { version: record.version, cipher: Cipher::new(&key) })
    }

    /// Decrypts a record of a project. If that fails, the failure is counted.
    pub(crate) fn open(
        &self,
        sealed: &Sealed,
        key: &ProjectKey,
        context: &RecordContext<'_>,
    ) -> Result<Plaintext, Undecryptable> {
        sealed.open(key, context).inspect_err(|_| {
            let is_record = sealed.key_version().is_some();
            let reason =
                if is_record { DecryptionFailure::Record } else { DecryptionFailure::Format };
            self.failures.count(reason);
        })
    }

    /// Returns the counters of records that could not be decrypted.
    pub(crate) fn failures(&self) -> &DecryptionFailures {
        &self.failures
    }

    pub(super) fn pepper(&self) -> &Key {
        &self.pepper
    }

    pub(super) fn audit(&self) -> &Key {
        &self.audit
    }

    pub(super) fn manifest(&self) -> &Key {
        &self.manifest
    }

    /// Returns the seed of the instance's Ed25519 signing key.
    pub(crate) fn signing(&self) -> &Key {
        &self.signing
    }
}

impl fmt::Display for KeyringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootKey { needed, given } => {
                write!(
                    f,
                    "wrong root key: this database needs key {needed}, but the given key is {given}"
                )
            }
            Self::Tampered => f.write_str(
                "cannot decrypt the keys in this database: they are damaged or were modified",
            ),
            Self::Unavailable(cause) => write!(f, "the root key is unavailable: {cause}"),
        }
    }
}

impl std::error::Error for KeyringError {}

fn wrapping_cipher(kek: &Key, instance: InstanceId) -> Cipher {
    Cipher::new(&purpose_key(kek, instance, "dek-wrap"))
}

fn purpose_key(kek: &Key, instance: InstanceId, purpose: &str) -> Key {
    let info = ["secrets-core/v1/", purpose].concat();
    kek.derive(Some(instance.uuid().as_bytes()), info.as_bytes())
}

fn kek_context(instance: InstanceId, kek_id: u32) -> Vec<u8> {
    [b"SCv1\0kek".as_slice(), instance.uuid().as_bytes(), &kek_id.to_be_bytes()].concat()
}

fn dek_context(instance: InstanceId, project: ProjectId, version: u32) -> Vec<u8> {
    let (instance, project) = (instance.uuid(), project.uuid());
    [b"SCv1\0dek".as_slice(), instance.as_bytes(), project.as_bytes(), &version.to_be_bytes()]
        .concat()
}

fn draw_instance_key(
    wrapping: &Cipher,
    instance: InstanceId,
    kek_id: u32,
    purpose: InstanceKeyPurpose,
) -> InstanceKeyRecord {
    let context = dek_context(instance, ProjectId::NIL, purpose as u32);
    InstanceKeyRecord { purpose, kek_id, wrapped: wrap(wrapping, &Key::generate(), &context) }
}

fn wrap(cipher: &Cipher, key: &Key, context: &[u8]) -> Vec<u8> {
    wrap_with_nonce(cipher, key, context, &random())
}

fn wrap_with_nonce(cipher: &Cipher, key: &Key, context: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    let mut wrapped = Vec::new();
    cipher.seal_into(&mut wrapped, nonce, context, key.as_bytes());
    wrapped
}

fn unwrap(cipher: &Cipher, wrapped: &[u8], context: &[u8]) -> Result<Key, Undecryptable> {
    Key::from_slice(&cipher.open(wrapped, context)?).ok_or(Undecryptable)
}

fn refused(error: RootKeyError) -> KeyringError {
    match error {
        RootKeyError::Refused => KeyringError::Tampered,
        RootKeyError::Unavailable(cause) => KeyringError::Unavailable(cause),
    }
}

fn tampered(_: Undecryptable) -> KeyringError {
    KeyringError::Tampered
}

#[cfg(test)]
impl Keyring {
    /// Creates the keyring of a new test instance with a random root key.
    pub(crate) async fn generate() -> Self {
        let root = super::StaticRootKey::new(&Key::generate());
        Self::create(&root, Time::from_timestamp(0, 0).unwrap()).await.unwrap().2
    }
}

#[cfg(test)]
mod tests;
