//! Fuzz target of encrypted records.

use std::sync::LazyLock;

use uuid::Uuid;
use zeroize::Zeroizing;

use super::cipher::NONCE;
use super::record::{HEADER, header};
use super::{Key, Plaintext, ProjectKey, Purpose, RecordContext, Sealed};

/// Version of the project key with which this fuzz target encrypts.
const VERSION: u32 = 3;

/// Project key of the published test vectors: the bytes 0 to 31.
static KEY: LazyLock<Key> = LazyLock::new(|| {
    Key::from_bytes(Zeroizing::new(std::array::from_fn(|place| place.to_le_bytes()[0])))
});

/// Fuzz target of encrypted records. Decrypts the input as a stored record; then encrypts the
/// input, once as an already padded value and once as a normal value, and decrypts both.
pub fn record(bytes: &[u8]) {
    decrypt(bytes);
    decrypt_padded(bytes);
    let value = String::from_utf8(bytes.to_vec()).ok().and_then(|text| Plaintext::new(text).ok());
    if let Some(value) = value {
        encrypt(&value, bytes);
    }
}

/// Decrypts the input with the context of the published test vector.
fn decrypt(bytes: &[u8]) {
    let sealed = Sealed::from_bytes(bytes.to_vec());
    let Some(version) = sealed.key_version() else {
        return assert!(sealed.open(&key(VERSION), &context()).is_err());
    };
    assert_eq!(bytes[3..HEADER], version.to_be_bytes());
    if let Ok(value) = sealed.open(&key(version), &context()) {
        assert_canonical(&sealed, &value, version);
        assert!(sealed.open(&key(version ^ 1), &context()).is_err());
    }
}

/// Encrypts the input as if it were an already padded value, and decrypts the resulting record.
fn decrypt_padded(inner: &[u8]) {
    let (key, header) = (key(VERSION), header(VERSION));
    let mut record = header.to_vec();
    key.cipher.seal_into(&mut record, &[7; NONCE], &context().associated_data(header), inner);
    let sealed = Sealed::from_bytes(record);
    if let Ok(value) = sealed.open(&key, &context()) {
        assert_canonical(&sealed, &value, VERSION);
    }
}

/// Checks that encrypting `value` again with the nonce of `sealed` gives exactly the record
/// `sealed`.
fn assert_canonical(sealed: &Sealed, value: &Plaintext, version: u32) {
    let nonce = sealed.as_bytes()[HEADER..].first_chunk::<NONCE>();
    let again = nonce.map(|nonce| Sealed::seal_with_nonce(&key(version), &context(), value, nonce));
    assert!(again.as_ref() == Some(sealed), "a value has one encoding");
}

/// Encrypts a value. Checks that the record decrypts to the value, and that it no longer decrypts
/// if a bit was changed, bytes were removed or appended, or another context is given.
fn encrypt(value: &Plaintext, bytes: &[u8]) {
    let sealed = Sealed::seal_with_nonce(&key(VERSION), &context(), value, &[9; NONCE]);
    assert!(sealed.open(&key(VERSION), &context()).is_ok_and(|opened| opened == *value));

    let length = sealed.as_bytes().len();
    let sum = bytes
        .iter()
        .fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    let mut changed = sealed.as_bytes().to_vec();
    changed[sum % length] ^= 1 << (sum % 8);
    assert!(!opens(changed), "a changed record does not decrypt");
    assert!(!opens(sealed.as_bytes()[..sum % length].to_vec()), "a cut record does not decrypt");
    assert!(!opens([sealed.as_bytes(), bytes, b"\0"].concat()), "nothing may follow a record");

    let key_name = format!("{}X", context().key);
    let others = [
        RecordContext { purpose: Purpose::Description, ..context() },
        RecordContext { hidden: true, ..context() },
        RecordContext { environment: None, ..context() },
        RecordContext { key: &key_name, ..context() },
        RecordContext { version: context().version + 1, ..context() },
    ];
    let other = others[sum % others.len()];
    assert!(sealed.open(&key(VERSION), &other).is_err(), "a record decrypts in its context only");
}

fn opens(record: Vec<u8>) -> bool {
    Sealed::from_bytes(record).open(&key(VERSION), &context()).is_ok()
}

fn key(version: u32) -> ProjectKey {
    ProjectKey::new(&KEY, version)
}

/// Returns the context of the published test vector.
fn context() -> RecordContext<'static> {
    let id = |last: u128| Uuid::from_u128(0x4000_8000_0000_0000_0000 | last);
    RecordContext {
        purpose: Purpose::Value,
        hidden: false,
        instance: id(0x01).into(),
        project: id(0xaa).into(),
        environment: Some(id(0xbb).into()),
        object: id(0xcc),
        key: "DATABASE_URL",
        version: 7,
    }
}
