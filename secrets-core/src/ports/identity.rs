//! Identity providers: the verifier of the tokens that people sign in with.

use async_trait::async_trait;

use crate::model::Identity;
use crate::model::error::Cause;

/// Says whose token this is.
#[async_trait]
pub trait IdentityVerifier: Send + Sync {
    /// Checks signature, issuer, audience and lifetime.
    async fn verify(&self, token: &str) -> std::result::Result<Identity, Unverified>;

    /// The claims and what the issuer's userinfo endpoint adds to them, where it has one.
    /// Asked only when a person signs in.
    async fn enrich(&self, _token: &str, identity: Identity) -> Identity {
        identity
    }
}

/// Why a token proves nothing.
#[derive(Debug)]
pub enum Unverified {
    /// It is not a valid token of this issuer for this audience, now.
    Invalid,
    /// The issuer's keys cannot be had, so nothing can be said.
    Unavailable(crate::model::Cause),
}
