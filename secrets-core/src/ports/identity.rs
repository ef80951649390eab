//! Identity providers: verification of the tokens with which users sign in.

use std::time::Duration;

use async_trait::async_trait;

use crate::model::{Cause, Error, Identity};

/// Verifier of tokens from an identity provider.
#[async_trait]
pub trait IdentityVerifier: Send + Sync {
    /// Verifies a token's signature, issuer, audience and lifetime, and returns its claims.
    async fn verify(&self, token: &str) -> Result<Identity, Unverified>;

    /// Adds the claims that the issuer's userinfo endpoint returns, if the issuer has one. Called
    /// only when a user signs in with a token that contains no e-mail address.
    async fn enrich(&self, _token: &str, identity: Identity) -> Result<Identity, Unverified> {
        Ok(identity)
    }

    /// Returns the age of the provider's key set and the numbers of its fetches; `None` if the
    /// verifier fetches no keys.
    fn key_set(&self) -> Option<KeySetUsage> {
        None
    }
}

/// Age of the key set of an identity provider, and numbers of its fetches, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeySetUsage {
    /// Time since the last successful fetch; `None` before the first one.
    pub age: Option<Duration>,
    /// Number of fetches that succeeded.
    pub succeeded: u64,
    /// Number of fetches that failed.
    pub failed: u64,
}

/// Reason why a token was not accepted.
#[derive(Debug)]
pub enum Unverified {
    /// The token is malformed, wrongly signed, not valid yet, or from another issuer or
    /// for another audience.
    Invalid,
    /// The token's lifetime has ended; the token is otherwise valid.
    Expired,
    /// The issuer did not respond, so the token could not be checked.
    Unavailable(Cause),
}

impl From<Unverified> for Error {
    fn from(reason: Unverified) -> Self {
        match reason {
            Unverified::Invalid => INVALID_CREDENTIAL,
            Unverified::Expired => Self::Expired,
            Unverified::Unavailable(cause) => Self::Unavailable(cause),
        }
    }
}

/// Error for a credential that is invalid for any reason except expiry. The message is always the
/// same, so that it does not reveal the reason.
pub(crate) const INVALID_CREDENTIAL: Error = Error::Unauthenticated("invalid credential");
