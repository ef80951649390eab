//! The bundle header: its fields, their encoding, and validation.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

use super::{BundleError, BundleMetadata};
use crate::crypto::Cost;
use crate::model::Time;
use crate::model::object::{Object, list};

pub(super) const MAGIC: &[u8; 8] = b"SCBUNDLE";
pub(super) const VERSION: u8 = 1;
/// Length in bytes of the fixed start of a bundle: magic bytes, format version and header length.
pub(super) const PREFIX: usize = 13;
/// Maximum length of the header, in bytes.
pub(super) const HEADER: usize = 16_384;
pub(super) const MAC: usize = 32;
pub(super) const SIGNATURE: usize = 64;
pub(super) const CHUNK: usize = 65_536;
pub(super) const TAG: usize = 16;
/// Length of a wrapped file key, in bytes.
pub(super) const WRAPPED: usize = 48;
/// Maximum number of recipients of a bundle.
pub(super) const RECIPIENTS: usize = 16;

const SUITE: &str = "A256GCM-HKDF-SHA256";
/// Largest integer that all JSON parsers represent exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
/// Number of nanoseconds in a second. The time library `chrono` represents a leap second by a
/// higher number of nanoseconds.
const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// Header fields whose values differ between bundles. Fields with a constant value, such as the
/// cipher suite, are not part of this type.
pub(super) struct Header {
    pub(super) metadata: BundleMetadata,
    pub(super) salt: [u8; 16],
    pub(super) signer: [u8; 32],
    pub(super) recipients: Vec<Slot>,
}

/// File key, wrapped (encrypted) for one recipient.
#[derive(Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Slot {
    /// File key wrapped with a raw key, which is random.
    Raw { w: Binary<WRAPPED> },
    /// File key wrapped with a key derived from a passphrase.
    Argon2id { s: Binary<16>, m: u32, it: u32, p: u8, w: Binary<WRAPPED> },
    /// File key wrapped for an X25519 public key.
    X25519 { enc: Binary<32>, w: Binary<WRAPPED> },
}

/// Bytes encoded as canonical base64url without padding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Binary<const N: usize>(pub(super) [u8; N]);

/// All fields of the header, as they are written in JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    v: u32,
    suite: String,
    salt: Binary<16>,
    chunk: usize,
    seq: u64,
    #[serde(deserialize_with = "canonical_time")]
    created: Time,
    #[serde(
        default,
        deserialize_with = "optional_canonical_time",
        skip_serializing_if = "Option::is_none"
    )]
    expires: Option<Time>,
    #[serde(deserialize_with = "canonical_id")]
    project: Uuid,
    #[serde(deserialize_with = "canonical_id")]
    environment: Uuid,
    signer: Binary<32>,
    #[serde(deserialize_with = "list")]
    recipients: Vec<Slot>,
}

/// Header fields that determine whether this version of the software can read the header. Parsed
/// first; the other fields are validated later.
#[derive(Deserialize)]
struct Outline {
    v: u64,
    suite: String,
    chunk: u64,
    recipients: Vec<Object<Kind>>,
}

#[derive(Deserialize)]
struct Kind {
    t: String,
}

impl Header {
    /// Parses and validates a header. Does not authenticate its contents.
    pub(super) fn read(json: &[u8]) -> Result<Self, BundleError> {
        is_known(json)?;
        let written = serde_json::from_slice::<Object<Written>>(json);
        let Object(written) = written.map_err(|_| BundleError::Malformed(INVALID_FIELDS))?;
        if written.seq > MAX_SAFE_INTEGER {
            return Err(BundleError::Malformed("the sequence number is larger than 2^53 - 1"));
        }
        check(&written.recipients)?;
        let metadata = BundleMetadata {
            project: written.project.into(),
            environment: written.environment.into(),
            seq: written.seq,
            created_at: written.created,
            expires_at: written.expires,
        };
        let (Binary(salt), Binary(signer)) = (written.salt, written.signer);
        Ok(Self { metadata, salt, signer, recipients: written.recipients })
    }

    /// Encodes the header as JSON. Returns `None` if the header is invalid, so that readers would
    /// reject it.
    pub(super) fn write(self) -> Option<Vec<u8>> {
        check(&self.recipients).ok()?;
        let BundleMetadata { project, environment, seq, created_at, expires_at } = self.metadata;
        let written = Written {
            v: u32::from(VERSION),
            suite: SUITE.to_owned(),
            salt: Binary(self.salt),
            chunk: CHUNK,
            seq,
            created: created_at,
            expires: expires_at,
            project: project.uuid(),
            environment: environment.uuid(),
            signer: Binary(self.signer),
            recipients: self.recipients,
        };
        let json = serde_json::to_vec(&written).ok()?;
        (seq <= MAX_SAFE_INTEGER && json.len() <= HEADER).then_some(json)
    }
}

impl Slot {
    pub(super) fn wrapped(&self) -> &[u8; WRAPPED] {
        let (Self::Raw { w } | Self::Argon2id { w, .. } | Self::X25519 { w, .. }) = self;
        &w.0
    }
}

const INVALID_FIELDS: &str = "the header has a missing or invalid field";

fn is_known(json: &[u8]) -> Result<(), BundleError> {
    let outline = serde_json::from_slice::<Object<Outline>>(json);
    let Object(outline) = outline.map_err(|_| BundleError::Malformed(INVALID_FIELDS))?;
    let is_known =
        |Object(kind): &Object<Kind>| matches!(kind.t.as_str(), "raw" | "argon2id" | "x25519");
    if outline.v != u64::from(VERSION) {
        return Err(BundleError::Unsupported("version"));
    }
    if outline.suite != SUITE {
        return Err(BundleError::Unsupported("suite"));
    }
    if outline.chunk != CHUNK as u64 {
        return Err(BundleError::Unsupported("chunk size"));
    }
    if !outline.recipients.iter().all(is_known) {
        return Err(BundleError::Unsupported("recipient type"));
    }
    Ok(())
}

/// Validates the recipients. Allows at most one raw key and at most one passphrase, so that a
/// reader with a raw key or a passphrase has only one recipient to try.
fn check(recipients: &[Slot]) -> Result<(), BundleError> {
    if !(1..=RECIPIENTS).contains(&recipients.len()) {
        return Err(BundleError::Malformed("it must have 1 to 16 recipients"));
    }
    for (place, slot) in recipients.iter().enumerate() {
        let is_twice = recipients.iter().take(place).any(|other| match (slot, other) {
            (Slot::Raw { .. }, Slot::Raw { .. })
            | (Slot::Argon2id { .. }, Slot::Argon2id { .. }) => true,
            (Slot::X25519 { enc, .. }, Slot::X25519 { enc: other, .. }) => enc == other,
            _ => false,
        });
        if is_twice {
            return Err(BundleError::Malformed("it has a duplicate recipient"));
        }
        if let Slot::Argon2id { m: memory, it: passes, p: lanes, .. } = *slot
            && !(Cost { memory, passes, lanes }).is_bounded()
        {
            return Err(BundleError::Malformed("the Argon2id parameters are out of bounds"));
        }
    }
    Ok(())
}

impl<const N: usize> Serialize for Binary<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Binary<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // `URL_SAFE_NO_PAD` rejects padding and nonzero trailing bits.
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(de::Error::custom)?;
        let bytes = bytes.try_into().map_err(|_| de::Error::custom("wrong length"))?;
        Ok(Self(bytes))
    }
}

/// Deserializes a field that may be absent but must not be `null`. Use with `#[serde(default,
/// deserialize_with = "stated")]`.
pub(super) fn stated<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Deserializes a time in its canonical form: RFC 3339 in UTC with `Z`, with a precision of at most
/// microseconds. Times before 1970 and leap seconds are rejected, because not every language can
/// represent them.
pub(super) fn canonical_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    let text = String::deserialize(deserializer)?;
    let time = DateTime::parse_from_rfc3339(&text).map_err(de::Error::custom)?.with_timezone(&Utc);
    let is_canonical = time.to_rfc3339_opts(SecondsFormat::AutoSi, true) == text
        && (time.timestamp_subsec_nanos() % 1_000 == 0
            && time.timestamp_subsec_nanos() < NANOS_PER_SECOND)
        && time.timestamp() >= 0;
    is_canonical.then_some(time).ok_or_else(|| de::Error::custom("not a canonical time"))
}

fn optional_canonical_time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Time>, D::Error> {
    canonical_time(deserializer).map(Some)
}

fn canonical_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    let text = String::deserialize(deserializer)?;
    let id = Uuid::try_parse(&text).map_err(de::Error::custom)?;
    (id.to_string() == text).then_some(id).ok_or_else(|| de::Error::custom("not a canonical UUID"))
}
