//! Whose token is this? Verification of JSON Web Tokens over keys that are given as data.
//!
//! Nothing here fetches anything: whoever holds the keys of an issuer, and keeps them fresh, hands
//! them in. A token passes five gates, in this order, and nothing it says is believed before the
//! signature is: its shape, its header, the key its header names, the signature, the claims.
//!
//! The algorithm is a property of the key. What the header claims is only compared with it, so a
//! token can choose neither `none` nor to be checked with a public key as if that were a secret.

mod claims;
mod dev;
mod keys;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde::de::{Deserialize, Deserializer, IgnoredAny};

pub use self::claims::Profile;
pub use self::dev::{DEV_AUDIENCE, DEV_ISSUER, DevKey, UnusableKey};
pub use self::keys::{BadKeySet, Key, KeySet, Keys, WeakSecret};

use crate::model::{Identity, Time};

/// Longer ones are refused unread; real ones have two kilobytes at most.
const LONGEST: usize = 16 * 1024;

/// What a token must say to be meant for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectations {
    /// `iss`, exactly.
    pub issuer: String,
    /// `aud`, or one of them.
    pub audience: String,
}

/// Why a token proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It names a key that is not in the set: the set may be old.
    UnknownKey,
    /// It is not valid, and newer keys would not change that. The reason is for the log.
    Invalid(&'static str),
}

/// Says who the token speaks of, if it was signed with one of the keys, by the expected issuer,
/// for the expected audience, and is valid at this time.
pub fn verify(
    token: &str,
    keys: &Keys,
    expectations: &Expectations,
    now: Time,
) -> Result<Identity, Refusal> {
    let parts = Parts::split(token)?;
    let header = Header::read(parts.header)?;
    let key = keys.pick(header.algorithm()?, header.kid.as_deref())?;
    key.check(parts.signed, parts.signature)?;

    claims::read(&decoded(parts.claims)?, expectations, now)
}

/// A token in the compact form: `header.claims.signature`.
struct Parts<'a> {
    header: &'a str,
    claims: &'a str,
    signature: &'a str,
    /// What the signature is over.
    signed: &'a str,
}

impl<'a> Parts<'a> {
    fn split(token: &'a str) -> Result<Self, Refusal> {
        if token.len() > LONGEST {
            return Err(Refusal::Invalid("longer than 16 KiB"));
        }
        let shape = Refusal::Invalid("not of the form header.claims.signature");
        let (signed, signature) = token.rsplit_once('.').ok_or(shape)?;
        let (header, claims) = signed.split_once('.').ok_or(shape)?;
        Ok(Self { header, claims, signature, signed })
    }
}

/// The part of a header that is looked at. `x5t` and the like are of no consequence.
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
    fn read(encoded: &str) -> Result<Self, Refusal> {
        let header: Self =
            object(&decoded(encoded)?).ok_or(Refusal::Invalid("the header is not one"))?;
        header.admit()?;
        Ok(header)
    }

    fn admit(&self) -> Result<(), Refusal> {
        // There is no extension we understand, so none may be critical.
        if self.crit {
            return Err(Refusal::Invalid("has critical extensions"));
        }
        // Keys come from the issuer. These would never be read anyway; a token that brings its own
        // key, or says where to find it, is an attempt at something.
        if self.own_key {
            return Err(Refusal::Invalid("brings its own key"));
        }
        // Other types are signed with the same keys: logout tokens, for one.
        let typ = self.typ.as_deref().unwrap_or("JWT");
        if !["JWT", "at+jwt", "application/at+jwt"]
            .iter()
            .any(|ours| typ.eq_ignore_ascii_case(ours))
        {
            return Err(Refusal::Invalid("is another type of token"));
        }
        Ok(())
    }

    fn algorithm(&self) -> Result<Algorithm, Refusal> {
        match self.alg.as_str() {
            "RS256" => Ok(Algorithm::RS256),
            "ES256" => Ok(Algorithm::ES256),
            "EdDSA" => Ok(Algorithm::EdDSA),
            "HS256" => Ok(Algorithm::HS256),
            _ => Err(Refusal::Invalid("its algorithm is not accepted")),
        }
    }
}

fn decoded(part: &str) -> Result<Vec<u8>, Refusal> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Invalid("not base64url"))
}

/// Reads a JSON object. (serde would also fill the fields of a struct from a list, in their order.)
fn object<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Option<T> {
    json.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(json).ok())?
}

/// True for whatever is there, even `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}
