//! Verification of JSON Web Tokens with keys given by the caller.
//!
//! Nothing here uses the network: the caller of this module fetches the issuer's keys, keeps them
//! up to date and passes them in. A token is checked in this order: format, header, key lookup,
//! signature, claims. No claim is used before the signature is verified. A [`KeySet`] remembers the
//! claims of the tokens that it has verified; issuer, audience and times are checked at every use.
//! ID tokens are not remembered, because each is used once.
//!
//! The algorithm is a property of the key. The `alg` of the header is only compared with it, so a
//! token cannot choose `none`, nor have a public key used as an HMAC secret.

mod claims;
mod dev;
mod dev_code;
mod fixed;
mod keys;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde::de::{Deserialize, Deserializer, IgnoredAny};

pub use self::claims::Profile;
use self::claims::TokenClaims;
pub use self::dev::{DEV_AUDIENCE, DEV_ISSUER, DevKey, UnusableKey};
pub use self::dev_code::DevCode;
pub use self::fixed::FixedVerifier;
pub use self::keys::{BadKeySet, KeySet, VerificationKey, WeakSecret};

use crate::model::{Identity, Time};

/// Maximum length of a token in bytes. Longer tokens are rejected without parsing; real tokens have
/// at most two kilobytes.
const MAX_LENGTH: usize = 16 * 1024;

/// Issuer and audience that a token must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectations {
    /// Issuer (`iss` claim) that the token must have, compared exactly.
    pub issuer: String,
    /// Audience that the token must have as its `aud` claim or, if that is a list, in the list.
    pub audience: String,
}

/// Reason why a token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwtError {
    /// The key with the token's key ID is not in the key set. The key set may be outdated; the
    /// caller may fetch it again.
    UnknownKey,
    /// The token was valid, but its lifetime has ended.
    Expired,
    /// The token is not valid, and fetching the key set again would not help. The string is the
    /// reason, for the log.
    Invalid(&'static str),
}

/// Verifies a token and returns the identity it contains. The token must be signed with one of
/// `keys`, come from the expected issuer, be for the expected audience, and be valid at `now`.
pub fn verify(
    token: &str,
    keys: &KeySet,
    expectations: &Expectations,
    now: Time,
) -> Result<Identity, JwtError> {
    let types = &["JWT", "at+jwt", "application/at+jwt"];
    let parts = Parts::split(token)?;
    let parse = || TokenClaims::parse(&signed_claims(&parts, keys, types)?);
    let identity = keys.remembered(token, parse)?.identity(expectations, now);
    if matches!(identity, Err(JwtError::Expired)) {
        keys.forget(token);
    }
    identity
}

/// Verifies the ID token of a sign-in with a browser like [`verify`], and also its nonce (OpenID
/// Connect Core 1.0, section 3.1.3.7). The expected audience is the client ID.
pub fn verify_id_token(
    token: &str,
    keys: &KeySet,
    expectations: &Expectations,
    nonce: &str,
    now: Time,
) -> Result<Identity, JwtError> {
    // Access tokens (RFC 9068) are not accepted: they are for an API, not for the client of the
    // sign-in.
    let claims = signed_claims(&Parts::split(token)?, keys, &["JWT"])?;
    let identity = TokenClaims::parse(&claims)?.identity(expectations, now)?;
    claims::admit_id_token(&claims, &expectations.audience, nonce)?;
    Ok(identity)
}

/// Verifies the signature of a token whose `typ` header is one of `types`, and returns the token's
/// claims as JSON.
fn signed_claims(parts: &Parts<'_>, keys: &KeySet, types: &[&str]) -> Result<Vec<u8>, JwtError> {
    let header = Header::read(parts.header, types)?;
    keys.check(parts, header.algorithm()?, header.kid.as_deref())?;
    decoded(parts.claims)
}

/// Parts of a token in compact form: `header.claims.signature`.
struct Parts<'a> {
    header: &'a str,
    claims: &'a str,
    signature: &'a str,
    /// Text that was signed: `header.claims`.
    signed: &'a str,
}

impl<'a> Parts<'a> {
    fn split(token: &'a str) -> Result<Self, JwtError> {
        if token.len() > MAX_LENGTH {
            return Err(JwtError::Invalid("longer than 16 KiB"));
        }
        let shape = JwtError::Invalid("not in the form header.claims.signature");
        let (signed, signature) = token.rsplit_once('.').ok_or(shape)?;
        let (header, claims) = signed.split_once('.').ok_or(shape)?;
        Ok(Self { header, claims, signature, signed })
    }
}

/// Fields of the token header that are checked. Other fields, such as `x5t`, are ignored.
#[derive(serde::Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default, deserialize_with = "present")]
    crit: bool,
    #[serde(default, deserialize_with = "present")]
    #[serde(rename = "jwk", alias = "jku", alias = "x5u", alias = "x5c")]
    own_key: bool,
}

impl Header {
    fn read(encoded: &str, types: &[&str]) -> Result<Self, JwtError> {
        let header: Self =
            object(&decoded(encoded)?).ok_or(JwtError::Invalid("the header is not valid"))?;
        header.admit(types)?;
        Ok(header)
    }

    fn admit(&self, types: &[&str]) -> Result<(), JwtError> {
        // No extension is supported, so none may be critical.
        if self.crit {
            return Err(JwtError::Invalid("has critical extensions"));
        }
        // Keys come from the issuer only. These fields would never be used; a token that contains a
        // key, or a URL of a key, is likely an attack.
        if self.own_key {
            return Err(JwtError::Invalid("contains its own key"));
        }
        // Issuers sign other types of tokens with the same keys, such as logout tokens.
        let typ = self.typ.as_deref().unwrap_or("JWT");
        if !types.iter().any(|ours| typ.eq_ignore_ascii_case(ours)) {
            return Err(JwtError::Invalid("is another type of token"));
        }
        Ok(())
    }

    fn algorithm(&self) -> Result<Algorithm, JwtError> {
        match self.alg.as_str() {
            "RS256" => Ok(Algorithm::RS256),
            "ES256" => Ok(Algorithm::ES256),
            "EdDSA" => Ok(Algorithm::EdDSA),
            "HS256" => Ok(Algorithm::HS256),
            _ => Err(JwtError::Invalid("its algorithm is not accepted")),
        }
    }
}

fn decoded(part: &str) -> Result<Vec<u8>, JwtError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| JwtError::Invalid("not base64url"))
}

/// Parses a JSON object. Rejects a JSON array, although serde would accept an array of the field
/// values in order.
fn object<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Option<T> {
    json.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(json).ok())?
}

/// Deserializes a field of any value, even `null`, as `true`. With `#[serde(default)]`, an absent
/// field becomes `false`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}
