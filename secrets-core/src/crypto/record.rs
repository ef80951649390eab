//! Sealed records, format version 1.
//!
//! ```text
//! 0   1   'S'
//! 1   1   format version, 1
//! 2   1   suite, 1: XAES-256-GCM over a padded inner
//! 3   4   version of the project key, big-endian
//! 7   24  nonce
//! 31  n   ciphertext of the inner, then the tag of 16 bytes
//!
//! inner   length of the value (u32, big-endian), the value, zeros up to a bucket
//! ```
//!
//! The header's first 7 bytes and the whole [`RecordContext`] are the associated data. The bucket
//! hides a value's length: multiples of 64 bytes up to 1 KiB, then Padmé (Nikitin et al. 2019),
//! at most 12 % more.

use std::fmt;

use uuid::Uuid;
use zeroize::Zeroizing;

use super::cipher::{NONCE, TAG};
use super::{Plaintext, ProjectKey, Undecryptable, random};
use crate::ids::{EnvironmentId, InstanceId, ProjectId};

const HEADER: usize = 7;

/// What a sealed record holds. Part of what it is bound to, so that no record opens as another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// A secret's value.
    Value = 1,
    /// A secret's description.
    Description = 2,
    /// The administrator's password of a rotation.
    RotationAdmin = 3,
    /// The shared secret of a rotation's proxy.
    ProxySecret = 4,
    /// The signing secret of a webhook.
    WebhookSecret = 5,
    /// A credential that a rotation has drawn and not yet committed.
    PendingCredential = 6,
    /// Something about a person.
    PersonalData = 7,
    /// A finding of a scan.
    ScanFinding = 8,
}

impl Purpose {
    /// The purpose with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        use Purpose::{
            Description, PendingCredential, PersonalData, ProxySecret, RotationAdmin, ScanFinding,
            Value, WebhookSecret,
        };
        [
            Value,
            Description,
            RotationAdmin,
            ProxySecret,
            WebhookSecret,
            PendingCredential,
            PersonalData,
            ScanFinding,
        ]
        .into_iter()
        .find(|purpose| *purpose as u8 == number)
    }
}

/// What a record belongs to. It opens only with the same context it was sealed with.
#[derive(Debug, Clone, Copy)]
pub struct RecordContext<'a> {
    /// What the record holds.
    pub purpose: Purpose,
    /// Whether the record hides its key.
    pub hidden: bool,
    /// The installation.
    pub instance: InstanceId,
    /// The project.
    pub project: ProjectId,
    /// The environment; `None` where there is none.
    pub environment: Option<EnvironmentId>,
    /// The secret or other object.
    pub object: Uuid,
    /// The secret's key; empty where there is none.
    pub key: &'a str,
    /// The secret's version; 0 where there is none.
    pub version: u64,
}

impl RecordContext<'_> {
    fn associated_data(&self, header: [u8; HEADER]) -> Vec<u8> {
        // A key name has at most 255 bytes; a longer one could not be told apart by its length.
        debug_assert!(u16::try_from(self.key.len()).is_ok(), "key names are bounded");
        let length = u16::try_from(self.key.len()).unwrap_or(u16::MAX);
        let environment = self.environment.map_or_else(Uuid::nil, EnvironmentId::uuid);
        let mut data = Vec::with_capacity(96 + self.key.len());
        data.extend_from_slice(&header);
        data.extend_from_slice(b"SCv1\0");
        data.extend_from_slice(&[self.purpose as u8, u8::from(self.hidden)]);
        data.extend_from_slice(self.instance.uuid().as_bytes());
        data.extend_from_slice(self.project.uuid().as_bytes());
        data.extend_from_slice(environment.as_bytes());
        data.extend_from_slice(self.object.as_bytes());
        data.extend_from_slice(&length.to_be_bytes());
        data.extend_from_slice(self.key.as_bytes());
        data.extend_from_slice(&self.version.to_be_bytes());
        data
    }
}

/// A sealed record: what the stores keep.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Seals a value for its context.
    #[must_use]
    pub fn seal(key: &ProjectKey, context: &RecordContext<'_>, value: &Plaintext) -> Self {
        Self::seal_with_nonce(key, context, value, &random())
    }

    /// Seals with a given nonce; only for reproducing published vectors.
    #[must_use]
    #[cfg_attr(not(feature = "testing"), doc(hidden))]
    pub fn seal_with_nonce(
        key: &ProjectKey,
        context: &RecordContext<'_>,
        value: &Plaintext,
        nonce: &[u8; NONCE],
    ) -> Self {
        let header = header(key.version);
        let inner = pad(value.reveal().as_bytes());
        let mut record = Vec::with_capacity(HEADER + NONCE + inner.len() + TAG);
        record.extend_from_slice(&header);
        key.cipher.seal_into(&mut record, nonce, &context.associated_data(header), &inner);
        Self(record)
    }

    /// Opens the record, if it is whole and belongs to this context.
    pub fn open(
        &self,
        key: &ProjectKey,
        context: &RecordContext<'_>,
    ) -> Result<Plaintext, Undecryptable> {
        let (header, sealed) = self.0.split_first_chunk::<HEADER>().ok_or(Undecryptable)?;
        if self.key_version() != Some(key.version) {
            return Err(Undecryptable);
        }
        let inner = key.cipher.open(sealed, &context.associated_data(*header))?;
        Plaintext::from_opened(unpad(&inner)?)
    }

    /// The version of the project key that sealed it; `None` if this is no record of this format.
    #[must_use]
    pub fn key_version(&self) -> Option<u32> {
        match self.0.as_slice() {
            [b'S', 1, 1, a, b, c, d, ..] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
            _ => None,
        }
    }

    /// The record as it is stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A record as it was stored; whether it is one shows when it is opened.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

fn header(key_version: u32) -> [u8; HEADER] {
    let [a, b, c, d] = key_version.to_be_bytes();
    [b'S', 1, 1, a, b, c, d]
}

fn pad(value: &[u8]) -> Zeroizing<Vec<u8>> {
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    let mut inner = Zeroizing::new(vec![0; bucket(value.len() + 4)]);
    inner[..4].copy_from_slice(&length.to_be_bytes());
    inner[4..4 + value.len()].copy_from_slice(value);
    inner
}

fn unpad(inner: &[u8]) -> Result<&[u8], Undecryptable> {
    let (length, rest) = inner.split_first_chunk::<4>().ok_or(Undecryptable)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Undecryptable)?;
    let (value, padding) = rest.split_at_checked(length).ok_or(Undecryptable)?;
    // One value has one encoding: another bucket or a padding of anything but zeros was not ours.
    let canonical = bucket(length + 4) == inner.len() && padding.iter().all(|byte| *byte == 0);
    if canonical { Ok(value) } else { Err(Undecryptable) }
}

fn bucket(length: usize) -> usize {
    if length <= 1024 {
        return length.next_multiple_of(64).max(64);
    }
    let exponent = length.ilog2();
    let kept = exponent.ilog2() + 1;
    length.next_multiple_of(1 << (exponent - kept))
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;

    #[test]
    fn a_bucket_hides_the_length_at_little_cost() {
        for (value, inner) in [
            (0, 64),
            (60, 64),
            (61, 128),
            (1_020, 1_024),
            (1_021, 1_088),
            (5_000, 5_120),
            (65_536, 67_584),
        ] {
            assert_eq!(bucket(value + 4), inner, "{value}");
        }
    }

    fn id<T: From<Uuid>>(number: u128) -> T {
        Uuid::from_u128(number).into()
    }

    #[test]
    fn a_record_opens_in_its_own_context_alone() {
        let bits = Key::generate();
        let key = |version| ProjectKey::new(&bits, version);
        let own = RecordContext {
            purpose: Purpose::Value,
            hidden: false,
            instance: id(1),
            project: id(2),
            environment: Some(id(3)),
            object: id(4),
            key: "KEY",
            version: 5,
        };
        let value = Plaintext::new("kvc_value".to_owned()).unwrap();
        let sealed = Sealed::seal(&key(6), &own, &value);

        assert!(sealed.open(&key(6), &own).is_ok_and(|opened| opened == value));
        assert!(sealed.open(&key(7), &own).is_err());
        for (field, other) in [
            ("purpose", RecordContext { purpose: Purpose::Description, ..own }),
            ("hidden", RecordContext { hidden: true, ..own }),
            ("instance", RecordContext { instance: id(9), ..own }),
            ("project", RecordContext { project: id(9), ..own }),
            ("environment", RecordContext { environment: Some(id(9)), ..own }),
            ("no environment", RecordContext { environment: None, ..own }),
            ("object", RecordContext { object: id(9), ..own }),
            ("key", RecordContext { key: "OTHER", ..own }),
            ("version", RecordContext { version: 6, ..own }),
        ] {
            assert!(sealed.open(&key(6), &other).is_err(), "{field}");
        }
    }
}
