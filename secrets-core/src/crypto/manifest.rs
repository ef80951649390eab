//! Manifest of an environment: a MAC over the current versions of all its secrets.
//!
//! Each encrypted record is authenticated by itself, so a changed or moved record is detected. But
//! this does not detect that a whole row was deleted, or replaced by an earlier copy of it. The
//! manifest detects both. It is a sum of one hash for each secret, so a write adds and subtracts
//! the hashes of the secrets that it changes, without reading the others (Clarke et al.,
//! "Incremental Multiset Hash Functions", 2003, MSet-Add-Hash). The key is random, one for each
//! instance.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};

use super::{Keyring, Sealed, Undecryptable};
use crate::model::{EnvironmentId, SecretId};

/// Size in bytes of a stored manifest: the sum, and its MAC.
pub const MANIFEST_BYTES: usize = 64;

/// Secret as it is listed in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Secret ID.
    pub secret: SecretId,
    /// Version of the secret.
    pub version: u32,
    /// True if the secret is hidden.
    pub hidden: bool,
    /// SHA-256 of the encrypted value.
    pub digest: [u8; 32],
}

/// Contents of a manifest: the sum of the hashes of its entries, modulo 2^256. Starts as the
/// manifest of an environment without secrets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ManifestSum([u64; 4]);

/// Key of an environment's manifest.
pub(crate) struct ManifestKey<'a> {
    keyring: &'a Keyring,
    environment: EnvironmentId,
}

impl ManifestEntry {
    /// Returns the entry of a secret with this encrypted value.
    #[must_use]
    pub fn of(secret: SecretId, version: u32, hidden: bool, sealed: &Sealed) -> Self {
        Self { secret, version, hidden, digest: Sha256::digest(sealed.as_bytes()).into() }
    }
}

impl<'a> ManifestKey<'a> {
    pub(crate) fn of(keyring: &'a Keyring, environment: EnvironmentId) -> Self {
        Self { keyring, environment }
    }

    /// Adds an entry to the sum.
    pub(crate) fn add(&self, sum: &mut ManifestSum, entry: &ManifestEntry) {
        sum.combine(self.hash(entry), u64::overflowing_add);
    }

    /// Subtracts an entry from the sum.
    pub(crate) fn subtract(&self, sum: &mut ManifestSum, entry: &ManifestEntry) {
        sum.combine(self.hash(entry), u64::overflowing_sub);
    }

    /// Returns the stored form of the manifest of this revision of the environment.
    pub(crate) fn seal(&self, sum: &ManifestSum, revision: u64) -> [u8; MANIFEST_BYTES] {
        let mut stored = [0; MANIFEST_BYTES];
        let (bytes, mac) = stored.split_at_mut(32);
        bytes.copy_from_slice(&sum.to_bytes());
        mac.copy_from_slice(&self.mac(&sum.to_bytes(), revision).finalize().into_bytes());
        stored
    }

    /// Returns the contents of a stored manifest. Fails if it is not the manifest of this revision
    /// of the environment.
    pub(crate) fn open(
        &self,
        stored: &[u8; MANIFEST_BYTES],
        revision: u64,
    ) -> Result<ManifestSum, Undecryptable> {
        let (bytes, mac) = stored.split_at(32);
        self.mac(bytes, revision).verify_slice(mac).map_err(|_| Undecryptable)?;
        Ok(ManifestSum::from_bytes(bytes))
    }

    fn hash(&self, entry: &ManifestEntry) -> ManifestSum {
        let ManifestEntry { secret, version, hidden, digest } = entry;
        let mut mac = self.keyed(b"secrets-core/v1/manifest-entry\0");
        mac.update(secret.uuid().as_bytes());
        mac.update(&version.to_be_bytes());
        mac.update(&[u8::from(*hidden)]);
        mac.update(digest);
        ManifestSum::from_bytes(&mac.finalize().into_bytes())
    }

    fn mac(&self, sum: &[u8], revision: u64) -> Hmac<Sha256> {
        let mut mac = self.keyed(b"secrets-core/v1/manifest\0");
        mac.update(&revision.to_be_bytes());
        mac.update(sum);
        mac
    }

    fn keyed(&self, purpose: &[u8]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.keyring.manifest().as_bytes())
            .expect("HMAC accepts a 32-byte key");
        mac.update(purpose);
        mac.update(self.environment.uuid().as_bytes());
        mac
    }
}

impl ManifestSum {
    /// Adds or subtracts another 256-bit number, modulo 2^256. `step` adds or subtracts 64 bits,
    /// and is `u64::overflowing_add` or `u64::overflowing_sub`.
    fn combine(&mut self, other: Self, step: fn(u64, u64) -> (u64, bool)) {
        let mut carry = false;
        for (limb, other) in self.0.iter_mut().zip(other.0) {
            let (partial, first) = step(*limb, other);
            let (result, second) = step(partial, u64::from(carry));
            (*limb, carry) = (result, first || second);
        }
    }

    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, limb) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&limb.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let mut limbs = [0; 4];
        for (limb, chunk) in limbs.iter_mut().zip(bytes.chunks_exact(8)) {
            *limb = chunk.iter().rev().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
        }
        Self(limbs)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn entry(number: u128) -> ManifestEntry {
        let sealed = Sealed::from_bytes(number.to_be_bytes().to_vec());
        ManifestEntry::of(Uuid::from_u128(number).into(), 1, false, &sealed)
    }

    fn key(keyring: &Keyring) -> ManifestKey<'_> {
        ManifestKey::of(keyring, Uuid::from_u128(1).into())
    }

    fn sum(key: &ManifestKey<'_>, entries: &[ManifestEntry]) -> ManifestSum {
        let mut sum = ManifestSum::default();
        for entry in entries {
            key.add(&mut sum, entry);
        }
        sum
    }

    #[test]
    fn numbers_of_256_bits_carry_and_borrow() {
        let (top, one) = (ManifestSum([u64::MAX; 4]), ManifestSum([1, 0, 0, 0]));
        let mut number = top;
        number.combine(one, u64::overflowing_add);
        assert_eq!(number, ManifestSum::default());
        number.combine(one, u64::overflowing_sub);
        assert_eq!(number, top);
        number = ManifestSum([0, 0, 1, 7]);
        number.combine(one, u64::overflowing_sub);
        assert_eq!(number, ManifestSum([u64::MAX, u64::MAX, 0, 7]));
        number.combine(one, u64::overflowing_add);
        assert_eq!(number, ManifestSum([0, 0, 1, 7]));
        // A carry into a part of 64 one bits carries over to the next part.
        number = ManifestSum([1, u64::MAX, 5, 0]);
        number.combine(top, u64::overflowing_add);
        assert_eq!(number, ManifestSum([0, u64::MAX, 5, 0]));
        assert_eq!(ManifestSum::from_bytes(&number.to_bytes()), number);
    }

    #[tokio::test]
    async fn the_order_of_changes_has_no_effect() {
        let keyring = Keyring::generate().await;
        let key = key(&keyring);
        let [a, b, c] = [1, 2, 3].map(entry);

        let mut changed = sum(&key, &[c, a, b]);
        assert_eq!(changed, sum(&key, &[a, b, c]));
        key.subtract(&mut changed, &b);
        assert_eq!(changed, sum(&key, &[a, c]));
        key.subtract(&mut changed, &a);
        key.subtract(&mut changed, &c);
        assert_eq!(changed, ManifestSum::default());
    }

    #[tokio::test]
    async fn every_field_of_an_entry_counts() {
        let (keyring, other) = (Keyring::generate().await, Keyring::generate().await);
        let (one, two) = (entry(1), entry(2));
        let elsewhere = ManifestKey::of(&keyring, Uuid::from_u128(2).into());
        let known = key(&keyring).hash(&one);

        for (field, changed) in [
            ("secret", ManifestEntry { secret: two.secret, ..one }),
            ("version", ManifestEntry { version: 2, ..one }),
            ("hidden", ManifestEntry { hidden: true, ..one }),
            ("digest", ManifestEntry { digest: two.digest, ..one }),
        ] {
            assert_ne!(key(&keyring).hash(&changed), known, "{field}");
        }
        assert_ne!(elsewhere.hash(&one), known);
        assert_ne!(key(&other).hash(&one), known);
    }

    #[tokio::test]
    async fn a_manifest_belongs_to_one_revision_of_one_environment() {
        let (keyring, other) = (Keyring::generate().await, Keyring::generate().await);
        let elsewhere = ManifestKey::of(&keyring, Uuid::from_u128(2).into());
        let contents = sum(&key(&keyring), &[entry(1), entry(2)]);

        let stored = key(&keyring).seal(&contents, 7);

        assert_eq!(key(&keyring).open(&stored, 7).ok(), Some(contents));
        assert!(key(&keyring).open(&stored, 8).is_err());
        assert!(elsewhere.open(&stored, 7).is_err());
        assert!(key(&other).open(&stored, 7).is_err());
        for place in 0..MANIFEST_BYTES {
            let mut changed = stored;
            changed[place] ^= 1;
            assert!(key(&keyring).open(&changed, 7).is_err(), "{place}");
        }
    }
}
