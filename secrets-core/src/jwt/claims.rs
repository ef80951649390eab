//! Validation of the claims of a token with a valid signature.

use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::{Number, Value};

use super::{Expectations, JwtError, object};
use crate::model::{Identity, Time};

/// Allowed difference between the issuer's clock and the clock of this service, in seconds.
const LEEWAY: u64 = 60;

/// Last second of the year 9999, as Unix time.
const LAST_SECOND: u64 = 253_402_300_799;

/// Maximum length of the `sub` claim, in characters (OpenID Connect Core 1.0, section 2).
const MAX_SUBJECT_LENGTH: usize = 255;

/// Claims of a token whose signature was verified.
pub(super) struct TokenClaims {
    claims: Claims,
    profile: Profile,
}

impl TokenClaims {
    /// Parses the claims of a token whose signature was verified.
    pub(super) fn parse(json: &[u8]) -> Result<Self, JwtError> {
        let mistyped = JwtError::Invalid("a claim is missing or mistyped");
        let claims = object(json).ok_or(mistyped)?;
        let profile = object(json).ok_or(mistyped)?;
        Ok(Self { claims, profile })
    }

    /// Returns the memory that the claims use, in bytes.
    pub(super) fn size(&self) -> usize {
        let Claims { iss, sub, aud, .. } = &self.claims;
        let Profile { email, email_verified: _, name, given_name, family_name, picture } =
            &self.profile;
        let texts = [email, name, given_name, family_name, picture].into_iter().flatten();
        let texts: usize = texts.map(String::capacity).sum();
        size_of::<Self>() + iss.capacity() + sub.capacity() + aud.size() + texts
    }

    /// Validates the claims, and returns the identity that they contain.
    pub(super) fn identity(
        &self,
        expectations: &Expectations,
        now: Time,
    ) -> Result<Identity, JwtError> {
        self.claims.admit(expectations, u64::try_from(now.timestamp()).unwrap_or(0))?;
        Ok(self.profile.clone().complete(Identity {
            issuer: self.claims.iss.clone(),
            subject: self.claims.sub.clone(),
            email: None,
            email_verified: false,
            name: None,
            given_name: None,
            family_name: None,
            picture: None,
            token: None,
        }))
    }
}

/// Validates the claims of an ID token that [`TokenClaims::identity`] does not validate: the nonce,
/// and the authorized party, which is required if there are several audiences.
pub(super) fn admit_id_token(json: &[u8], client: &str, nonce: &str) -> Result<(), JwtError> {
    let mistyped = JwtError::Invalid("a claim of the ID token is missing or mistyped");
    let claims: IdTokenClaims = object(json).ok_or(mistyped)?;
    if claims.nonce != nonce {
        return Err(JwtError::Invalid("wrong nonce"));
    }
    match claims.azp {
        Some(party) if party != client => Err(JwtError::Invalid("wrong authorized party")),
        None if claims.aud.is_several() => {
            Err(JwtError::Invalid("several audiences without an authorized party"))
        }
        _ => Ok(()),
    }
}

/// Claims that are validated only in ID tokens.
#[derive(Deserialize)]
struct IdTokenClaims {
    aud: Audience,
    nonce: String,
    azp: Option<String>,
}

/// Claims that are validated in every token.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    #[serde(deserialize_with = "seconds")]
    exp: u64,
    #[serde(default, deserialize_with = "seconds")]
    nbf: u64,
    /// Issue time (`iat`). Not used, but must be a valid time if present.
    #[serde(default, deserialize_with = "seconds")]
    #[serde(rename = "iat")]
    _iat: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Claims {
    fn admit(&self, expectations: &Expectations, now: u64) -> Result<(), JwtError> {
        if self.iss != expectations.issuer {
            return Err(JwtError::Invalid("wrong issuer"));
        }
        if !self.aud.includes(&expectations.audience) {
            return Err(JwtError::Invalid("wrong audience"));
        }
        if now >= self.exp + LEEWAY {
            return Err(JwtError::Expired);
        }
        if self.nbf > now + LEEWAY {
            return Err(JwtError::Invalid("not valid yet"));
        }
        let length = self.sub.chars().count();
        if !(1..=MAX_SUBJECT_LENGTH).contains(&length) || self.sub.chars().any(char::is_control) {
            return Err(JwtError::Invalid("the subject is empty, too long or not text"));
        }
        Ok(())
    }
}

impl Audience {
    /// Returns the memory that the audiences use on the heap, in bytes.
    fn size(&self) -> usize {
        match self {
            Self::One(audience) => audience.capacity(),
            Self::Several(audiences) => {
                let texts: usize = audiences.iter().map(String::capacity).sum();
                audiences.capacity() * size_of::<String>() + texts
            }
        }
    }

    fn is_several(&self) -> bool {
        matches!(self, Self::Several(audiences) if audiences.len() > 1)
    }

    fn includes(&self, ours: &str) -> bool {
        match self {
            Self::One(audience) => audience == ours,
            Self::Several(audiences) => audiences.iter().any(|audience| audience == ours),
        }
    }
}

/// Profile of a user, from the claims of a token or from the issuer's userinfo endpoint. All fields
/// are optional; a field with a wrong type counts as missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Profile {
    #[serde(deserialize_with = "text")]
    email: Option<String>,
    #[serde(deserialize_with = "truth")]
    email_verified: bool,
    #[serde(deserialize_with = "text")]
    name: Option<String>,
    #[serde(deserialize_with = "text")]
    given_name: Option<String>,
    #[serde(deserialize_with = "text")]
    family_name: Option<String>,
    #[serde(deserialize_with = "text")]
    picture: Option<String>,
}

impl Profile {
    /// Fills in the missing fields of an identity from this profile. If the e-mail address is taken
    /// from the profile, so is `email_verified`.
    #[must_use]
    pub fn complete(self, identity: Identity) -> Identity {
        let (email, email_verified) = match identity.email {
            Some(email) => (Some(email), identity.email_verified),
            None => (self.email, self.email_verified),
        };
        Identity {
            email,
            email_verified,
            name: identity.name.or(self.name),
            given_name: identity.given_name.or(self.given_name),
            family_name: identity.family_name.or(self.family_name),
            picture: identity.picture.or(self.picture),
            ..identity
        }
    }
}

/// Reads a Unix time in seconds, whole or fractional, up to the year 9999.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = Number::deserialize(deserializer)?;
    let fraction = || Duration::try_from_secs_f64(number.as_f64()?).ok().map(|time| time.as_secs());
    number
        .as_u64()
        .or_else(fraction)
        .filter(|seconds| *seconds <= LAST_SECOND)
        .ok_or_else(|| D::Error::custom("not a time"))
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) if !text.is_empty() && !text.chars().any(char::is_control) => {
            Some(text)
        }
        _ => None,
    })
}

/// Reads a boolean, or a string that contains a boolean, as some issuers send.
fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(truth) => truth,
        Value::String(text) => text == "true",
        _ => false,
    })
}
