//! Identity tokens with any claims, for testing invalid ones.

use jsonwebtoken::{Algorithm, EncodingKey, Header};

/// Bytes before the 32-byte seed of an Ed25519 key in a PKCS#8 document (RFC 8410, section 7).
const PKCS8_PREFIX: [u8; 16] =
    [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// Creates an identity token with these claims, signed with the Ed25519 key that belongs to this
/// seed.
pub(crate) fn forged(seed: &[u8; 32], claims: &serde_json::Value) -> String {
    let pkcs8 = [PKCS8_PREFIX.as_slice(), seed].concat();
    let key = EncodingKey::from_ed_der(&pkcs8);
    jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), claims, &key).unwrap()
}
