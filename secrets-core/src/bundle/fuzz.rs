//! Fuzz target of bundles.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::Write as _;
use std::sync::LazyLock;

use uuid::Uuid;

use super::format::{HEADER, Header};
use super::seal::seal_payload;
use super::{
    BundleError, BundleKey, BundleMetadata, BundledSecret, Opener, Recipients, Signer, SigningKey,
    Unlock,
};
use crate::crypto::Key;
use crate::model::object::Object;
use crate::model::{Error, Time};

/// Key of the published test vector, and the public key of its signer.
const PUBLISHED: [&str; 2] = [
    "scbk_swJuILoSBsSYiJoPtwM6TiarMBnpyvg7KH3KdOvcmEE1HZttU",
    "scbs_vmf8KCZgcas3iUvXRwnR23xY3zLEKohyxuGqxxN9lw93JgzNq",
];

/// Current time, as Unix time: the creation time of the published test vector.
const NOW: i64 = 1_767_225_600;

/// Bundle key and signing key of the bundles that this fuzz target creates from the fuzzer's input.
static OWN: LazyLock<(BundleKey, SigningKey)> = LazyLock::new(|| {
    let key = |byte| Key::from_slice(&[byte; 32]).unwrap();
    (BundleKey(key(1)), SigningKey::of(&key(2)))
});

/// Fuzz target of bundles: opens the input as a bundle, parses the input as a header, and creates
/// and opens a bundle whose payload is the input.
pub fn bundle(bytes: &[u8]) {
    file(bytes);
    header(bytes);
    payload(bytes);
}

/// Opens the input as a bundle of a signer whose private key is not available to the fuzzer. If the
/// bundle opens, checks that it no longer opens after a bit was changed, the last byte was removed
/// or a byte was appended.
fn file(bytes: &[u8]) {
    let [key, signer] = PUBLISHED;
    let opener = opener(key.parse().unwrap(), signer.parse().unwrap());
    match secrets(&opener, bytes) {
        Ok(_) => {
            let mut changed = bytes.to_vec();
            for place in (0..bytes.len()).step_by(bytes.len() / 16 + 1) {
                changed[place] ^= 1;
                assert!(secrets(&opener, &changed).is_err(), "a changed bundle does not open");
                changed[place] ^= 1;
            }
            assert!(secrets(&opener, &bytes[..bytes.len() - 1]).is_err());
            assert!(secrets(&opener, &[bytes, b"\0"].concat()).is_err());
        }
        // All error texts are constant, except for `Unreadable`, which contains an I/O error. A
        // reader of bytes in memory never returns one.
        Err(error) => assert!(!matches!(error, BundleError::Unreadable(_)), "{error}"),
    }
}

/// Parses the input as a header. If the header is valid, encodes it as JSON again, and checks that
/// the new JSON is a valid header with the same metadata, salt and signer.
fn header(bytes: &[u8]) {
    let Some(read) = Header::read(bytes).ok().filter(|_| bytes.len() <= HEADER) else { return };
    let (metadata, salt, signer) = (read.metadata.clone(), read.salt, read.signer);
    let written = read.write().unwrap();
    let Ok(again) = Header::read(&written) else { panic!("a header is read back") };
    assert_eq!((&again.metadata, again.salt, again.signer), (&metadata, salt, signer));
    assert!(again.write() == Some(written), "a header has one encoding");
}

/// Creates a bundle whose payload is the input. Checks that the bundle opens if and only if the
/// input is a JSON array of secrets that are sorted by secret key, without whitespace at the end.
fn payload(bytes: &[u8]) {
    let (key, signing) = &*OWN;
    let time = Time::from_timestamp(NOW, 0).unwrap();
    let metadata = BundleMetadata {
        project: Uuid::from_u128(1).into(),
        environment: Uuid::from_u128(2).into(),
        seq: 1,
        created_at: time,
        expires_at: None,
    };
    let file = seal_payload(&metadata, &Recipients::key(key), signing, |chunks| {
        chunks.write_all(bytes).map_err(Error::internal)
    });
    let key = BundleKey(Key::from_slice(key.0.as_bytes()).unwrap());
    let opened = secrets(&opener(key, signing.signer()), &file.unwrap()).ok();

    let parsed = serde_json::from_slice::<Vec<Object<BundledSecret>>>(bytes);
    // JSON permits whitespace at the end, a payload does not.
    let parsed = parsed.ok().filter(|_| bytes.last() == Some(&b']'));
    let parsed = parsed.map(|all| all.into_iter().map(|Object(one)| one).collect::<Vec<_>>());
    let parsed = parsed.filter(|all| all.is_sorted_by(|one, next| one.key < next.key));
    assert!(opened == parsed, "the payload is read as JSON");
}

fn opener(key: BundleKey, signer: Signer) -> Opener {
    let now = Time::from_timestamp(NOW, 0).unwrap();
    Opener { unlock: Unlock::Key(key), signer: Some(signer), at_least: 0, now }
}

fn secrets(opener: &Opener, file: &[u8]) -> Result<Vec<BundledSecret>, BundleError> {
    opener.open_bytes(file)?.collect()
}
