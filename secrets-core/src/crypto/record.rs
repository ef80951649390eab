//! Encrypted records, format version 1.
//!
//! ```text
//! 0   1   'S'
//! 1   1   format version, 1
//! 2   1   cipher suite, 1: XAES-256-GCM over a padded value
//! 3   4   version of the project key, big-endian
//! 7   24  nonce
//! 31  n   ciphertext of the padded value, then the 16-byte tag
//!
//! padded value: length of the value (u32, big-endian), the value, zeros up to the bucket size
//! ```
//!
//! The first 7 bytes and the whole [`RecordContext`] are the associated data. Padding to a bucket
//! size hides the length of a value: buckets are multiples of 64 bytes up to 1 KiB, then Padmé
//! (Nikitin et al. 2019), which adds at most 12 %.

use std::fmt;

use smallvec::SmallVec;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::cipher::{NONCE, TAG};
use super::{Plaintext, ProjectKey, Undecryptable, random};
use crate::model::{EnvironmentId, InstanceId, ProjectId};

/// Length of the header in bytes.
pub(super) const HEADER: usize = 7;

/// Kind of data in an encrypted record. Part of the associated data, so that no record decrypts as
/// another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// A secret's value.
    Value = 1,
    /// A secret's description.
    Description = 2,
    /// Connection settings of a rotation, including the administrator's password.
    RotationAdmin = 3,
    /// Settings of the AWS Lambda function through which a rotation reaches its database, including
    /// the secret that the service and the function share.
    ProxySecret = 4,
    /// URL and signing secret of a webhook.
    WebhookSecret = 5,
    /// New credential of a rotation attempt that has not ended.
    PendingCredential = 6,
    /// Personal data of a user. Reserved: not used yet.
    PersonalData = 7,
    /// Scan finding. Reserved: not used yet.
    ScanFinding = 8,
}

impl Purpose {
    /// Returns the purpose with this number; `None` if the number is unknown.
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

/// Context of an encrypted record: the object it belongs to. A record decrypts only with the
/// context it was encrypted with.
#[derive(Debug, Clone, Copy)]
pub struct RecordContext<'a> {
    /// Kind of data in the record.
    pub purpose: Purpose,
    /// True if the record belongs to a hidden secret, whose encrypted value is empty.
    pub hidden: bool,
    /// Instance ID.
    pub instance: InstanceId,
    /// Project ID.
    pub project: ProjectId,
    /// Environment ID; `None` if the record belongs to no environment.
    pub environment: Option<EnvironmentId>,
    /// ID of the secret or other object that the record belongs to.
    pub object: Uuid,
    /// Name of the secret, such as `DATABASE_URL`; empty for objects that are not secrets.
    pub key: &'a str,
    /// Version of the secret; 0 for objects without versions.
    pub version: u64,
}

/// Buffer for associated data. Only data with a very long secret name needs a heap allocation.
pub(super) type AssociatedData = SmallVec<[u8; 192]>;

/// Length in bytes of the associated data before the name of the secret.
const FIXED_DATA: usize = HEADER + 5 + 2 + 4 * 16 + 2;

impl RecordContext<'_> {
    pub(super) fn associated_data(&self, header: [u8; HEADER]) -> AssociatedData {
        // The length field has 16 bits; key names have at most 255 bytes.
        debug_assert!(u16::try_from(self.key.len()).is_ok(), "a key name must fit a 16-bit length");
        let length = u16::try_from(self.key.len()).unwrap_or(u16::MAX);
        let environment = self.environment.map_or_else(Uuid::nil, EnvironmentId::uuid);
        let (instance, project) = (self.instance.uuid(), self.project.uuid());
        let fixed: [&[u8]; 8] = [
            &header,
            b"SCv1\0",
            &[self.purpose as u8, u8::from(self.hidden)],
            instance.as_bytes(),
            project.as_bytes(),
            environment.as_bytes(),
            self.object.as_bytes(),
            &length.to_be_bytes(),
        ];
        // Collected in an array first, because each extension of a `SmallVec` is slow.
        let (mut start, mut end) = ([0; FIXED_DATA], 0);
        for part in fixed {
            start[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        let mut data = AssociatedData::from_slice(&start);
        data.extend_from_slice(self.key.as_bytes());
        data.extend_from_slice(&self.version.to_be_bytes());
        data
    }
}

/// An encrypted record, as stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Encrypts a value and binds it to its context.
    #[must_use]
    pub fn seal(key: &ProjectKey, context: &RecordContext<'_>, value: &Plaintext) -> Self {
        Self::seal_with_nonce(key, context, value, &random())
    }

    /// Encrypts a value with a given nonce; only for reproducing published test vectors.
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

    /// Decrypts the record. Fails if the record was changed, or if the context or the project key
    /// is wrong.
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
        Plaintext::from_opened(unpad(inner)?)
    }

    /// Returns the version of the project key that encrypted the record; `None` if the bytes are
    /// not a record in this format.
    #[must_use]
    pub fn key_version(&self) -> Option<u32> {
        match self.0.as_slice() {
            [b'S', 1, 1, a, b, c, d, ..] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
            _ => None,
        }
    }

    /// Returns the bytes of the record, as they are stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Creates a record from stored bytes. The bytes are validated only by [`open`](Self::open).
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

pub(super) fn header(key_version: u32) -> [u8; HEADER] {
    let [a, b, c, d] = key_version.to_be_bytes();
    [b'S', 1, 1, a, b, c, d]
}

fn pad(value: &[u8]) -> Zeroizing<Vec<u8>> {
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    let mut inner = Zeroizing::new(vec![0; bucket_size(value.len() + 4)]);
    inner[..4].copy_from_slice(&length.to_be_bytes());
    inner[4..4 + value.len()].copy_from_slice(value);
    inner
}

/// Removes the length prefix and the padding from a decrypted value, in place. Fails if they are
/// not valid.
fn unpad(mut inner: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, Undecryptable> {
    let (length, rest) = inner.split_first_chunk::<4>().ok_or(Undecryptable)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Undecryptable)?;
    let (_, padding) = rest.split_at_checked(length).ok_or(Undecryptable)?;
    // A value has exactly one encoding: another bucket size or nonzero padding is rejected.
    let is_canonical =
        bucket_size(length + 4) == inner.len() && padding.iter().all(|byte| *byte == 0);
    if !is_canonical {
        return Err(Undecryptable);
    }
    inner.truncate(4 + length);
    inner.drain(..4);
    Ok(inner)
}

fn bucket_size(length: usize) -> usize {
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
            (59, 64),
            (60, 64),
            (61, 128),
            (1_019, 1_024),
            (1_020, 1_024),
            (1_021, 1_088),
            (5_000, 5_120),
            (65_536, 67_584),
        ] {
            assert_eq!(bucket_size(value + 4), inner, "{value}");
        }
    }

    #[test]
    fn a_padded_value_has_one_encoding() {
        let padded = |length: u32, value: &[u8], size: usize| {
            let mut inner = [length.to_be_bytes().as_slice(), value].concat();
            inner.resize(size, 0);
            Zeroizing::new(inner)
        };
        let mut dirty = padded(2, b"ab", 64);
        dirty[63] = 1;

        assert_eq!(unpad(padded(2, b"ab", 64)).unwrap().as_slice(), b"ab");
        assert_eq!(unpad(padded(60, &[7; 60], 64)).unwrap().as_slice(), [7; 60]);
        for (fault, inner) in [
            ("padding that is not zero", dirty),
            ("a bucket that is too large", padded(2, b"ab", 128)),
            ("a bucket that is too small", padded(2, b"ab", 6)),
            ("a length beyond the end", padded(61, &[7; 60], 64)),
            ("no length", Zeroizing::new(vec![0; 3])),
        ] {
            assert!(unpad(inner).is_err(), "{fault}");
        }
    }

    #[test]
    fn a_value_of_any_length_is_unpadded_to_itself() {
        for length in [0, 1, 60, 61, 1_019, 1_020, 1_021, 4_096, 65_536] {
            let value = vec![b'v'; length];

            assert_eq!(*unpad(pad(&value)).unwrap(), value, "{length}");
        }
    }

    #[test]
    fn a_purpose_is_stored_as_its_number() {
        for number in 1..=8 {
            assert_eq!(Purpose::from_number(number).map(|found| found as u8), Some(number));
        }
        assert_eq!([0, 9].map(Purpose::from_number), [None, None]);
    }

    #[test]
    fn only_a_record_of_this_format_names_its_key() {
        for (bytes, version) in [
            (&b"S\x01\x01\x00\x01\x02\x03"[..], Some(0x0001_0203)),
            (b"S\x01\x01\x00\x01\x02", None),
            (b"s\x01\x01\x00\x01\x02\x03", None),
            (b"S\x02\x01\x00\x01\x02\x03", None),
            (b"S\x01\x02\x00\x01\x02\x03", None),
        ] {
            assert_eq!(Sealed::from_bytes(bytes.to_vec()).key_version(), version, "{bytes:?}");
        }
    }

    fn id<T: From<Uuid>>(number: u128) -> T {
        Uuid::from_u128(number).into()
    }

    #[test]
    fn a_record_opens_only_in_its_own_context() {
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
